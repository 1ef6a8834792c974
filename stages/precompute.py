"""precompute: propagated features, hop means and profiles of every (task, part) -> features.h5."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, PARTS
from taamctl.features import compute as features
from taamctl.features.backends import check_backend
from taamctl.graph.canonical import content_hash
from taamctl.runtime import artefacts
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.params import canonical
from taamctl.runtime.schema import group

CODE = ("core", "runtime", "graph", "features", "datasets/_meta.py", "stages/precompute.py")


def run(context: Context, dataset: str, source_of: Any = None) -> Outcome:
    """Propagate the features of one split data set; its META and `load` come from `source_of`, else from the data set's module."""
    module, params = source_of or registry.load("taamctl.datasets", dataset), context.params.section("precompute")
    check_backend(params.backend)
    norm = module.META.feature_norm if params.feature_norm == "as_released" else params.feature_norm
    source, output = context.layout.file("split", dataset), context.layout.file("precompute", dataset)
    made_by = context.layout.command("split", dataset)
    recorded = {**canonical(params), "feature_norm": norm}

    def compute() -> None:
        with artefacts.Artefact(source, "split", made_by) as split:
            passed = {path: split.read(path) for path in ("stream/bounds", "classes/name")}
            offset, orig_id, y = (split.read(path) for path in ("stream/offset", "nodes/orig_id", "nodes/y"))
            indptr, indices, graph_sha256 = split.read("edges/indptr"), split.read("edges/indices"), split.attribute("graph_sha256")
        raw = module.load(context.data_root, context.params.plugin("datasets", dataset, module.META.params))
        if content_hash(raw) != graph_sha256:
            raise TaamctlError(f"the raw data of {dataset} is not what {source} was made from", f"run {made_by} again")
        edges = CSR(indptr, indices, None, (len(orig_id), len(orig_id)))
        made = features.compute(raw.features, orig_id, offset, edges, params, norm, context.progress)

        def fill(writer: artefacts.Writer) -> None:
            writer.attribute("dataset", dataset)
            for path, array in passed.items():
                writer.put(path, array)
            for g, (low, high) in enumerate(pairwise(offset.tolist())):
                for name, array in {"orig_id": orig_id[low:high], "y": y[low:high], **made.group(g, low, high, params)}.items():
                    writer.put(f"{group(g // 3, PARTS[g % 3])}/{name}", array)

        artefacts.create(output, "precompute", recorded, fill)

    job = Job("precompute", dataset, recorded, ((source, made_by),), (output,), (*CODE, f"datasets/{dataset}.py"), {"precompute": params})
    return execute(context, job, compute)

