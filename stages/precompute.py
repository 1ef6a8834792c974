"""precompute: propagated features, hop means and profiles of every (task, part) -> features.h5."""

from __future__ import annotations

from itertools import pairwise

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, PARTS
from taamctl.features import compute as features
from taamctl.features.params import PrecomputeParams
from taamctl.graph.canonical import content_hash
from taamctl.runtime import artefacts
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.layout import command
from taamctl.runtime.params import canonical
from taamctl.runtime.schema import group
from taamctl.stream.params import SplitParams
from taamctl.stream.plan import Facts, prepare

CODE = ("core", "runtime", "graph", "stream", "features", "datasets/_meta.py", "stages/precompute.py")


def run(context: Context, dataset: str) -> Outcome:
    """Propagate the features of one split data set."""
    meta, params = registry.load("taamctl.datasets", dataset).META, context.params.section("precompute")
    norm = meta.feature_norm if params.feature_norm == "as_released" else params.feature_norm
    source, output = context.layout.file("split", dataset), context.layout.file("precompute", dataset)
    recorded = {**canonical(params), "feature_norm": norm}

    def compute() -> None:
        with artefacts.Artefact(source, "split", command("split", dataset)) as split:
            made = _features(context, dataset, split, params, norm)
            passed = {path: split.read(path) for path in ("stream/bounds", "classes/name")}
            offset, orig_id, y = (split.read(path) for path in ("stream/offset", "nodes/orig_id", "nodes/y"))

        def fill(writer: artefacts.Writer) -> None:
            writer.attribute("dataset", dataset)
            for path, array in passed.items():
                writer.put(path, array)
            for g, (low, high) in enumerate(pairwise(offset.tolist())):
                for name, array in {"orig_id": orig_id[low:high], "y": y[low:high], **made.group(g, low, high, params)}.items():
                    writer.put(f"{group(g // 3, PARTS[g % 3])}/{name}", array)

        artefacts.create(output, "precompute", recorded, fill)

    job = Job("precompute", dataset, recorded, ((source, command("split", dataset)),), (output,), (*CODE, f"datasets/{dataset}.py"))
    return execute(context, job, compute)


def _features(context: Context, dataset: str, split: artefacts.Artefact, params: PrecomputeParams, norm: str) -> features.Features:
    """Read the raw graph again, make sure it is the one that was split, and propagate."""
    module = registry.load("taamctl.datasets", dataset)
    raw = module.load(context.data_root, context.params.plugin("datasets", dataset, module.META.params))
    if content_hash(raw) != split.attribute("graph_sha256"):
        raise TaamctlError(f"the raw data of {dataset} is not what {split.path} was made from", f"run {command('split', dataset)} again")
    graph = prepare(raw, Facts(module.META.directed, module.META.unlabelled_as), SplitParams(**split.params["split"]))
    orig_id, offset, indptr, indices = (split.read(p) for p in ("nodes/orig_id", "stream/offset", "edges/indptr", "edges/indices"))
    edges = CSR(indptr, indices, None, (len(orig_id), len(orig_id)))
    return features.compute(graph.features, orig_id, offset, edges, params, norm, context.progress)
