"""precompute: propagated features, hop means and profiles of every (task, part) -> features.h5."""

from __future__ import annotations

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
    meta = registry.load("taamctl.datasets", dataset).META
    params = context.params.section("precompute")
    norm = meta.feature_norm if params.feature_norm == "as_released" else params.feature_norm
    source, output = context.layout.file("split", dataset), context.layout.file("precompute", dataset)
    recorded = {**canonical(params), "feature_norm": norm}

    def compute() -> None:
        with artefacts.Artefact(source, "split", command("split", dataset)) as split:
            made = _features(context, dataset, split, params, norm)
            bounds, names, offset = (split.read(p) for p in ("stream/bounds", "classes/name", "stream/offset"))
            orig_id, y = split.read("nodes/orig_id"), split.read("nodes/y")

        def fill(writer: artefacts.Writer) -> None:
            writer.attribute("dataset", dataset)
            writer.put("stream/bounds", bounds)
            writer.put("classes/name", names)
            for g in range(len(offset) - 1):
                where, low, high = group(g // 3, PARTS[g % 3]), int(offset[g]), int(offset[g + 1])
                rows = {"orig_id": orig_id, "y": y, "deg": made.operator.degree, "H": made.h, "spread": made.spread}
                for name, array in rows.items():
                    writer.put(f"{where}/{name}", array[low:high])
                writer.put(f"{where}/hop_mean", made.hop_mean[g])
                writer.put(f"{where}/ls_mean", made.ls_mean[g])
                if params.store_x:
                    for name, array in features.group_features(made.x, low, high).items():
                        writer.put(f"{where}/{name}", array)
                if params.store_edges:
                    indptr, indices = features.group_edges(made.operator, low, high)
                    writer.put(f"{where}/indptr", indptr)
                    writer.put(f"{where}/indices", indices)

        artefacts.create(output, "precompute", recorded, fill)

    job = Job("precompute", dataset, recorded, ((source, command("split", dataset)),), (output,), (*CODE, f"datasets/{dataset}.py"))
    return execute(context, job, compute)


def _features(context: Context, dataset: str, split: artefacts.Artefact, params: PrecomputeParams,
              norm: str) -> features.Features:
    """Read the raw graph again, make sure it is the one that was split, and propagate."""
    module = registry.load("taamctl.datasets", dataset)
    raw = module.load(context.data_root, context.params.plugin("datasets", dataset, module.META.params))
    if content_hash(raw) != split.attribute("graph_sha256"):
        raise TaamctlError(f"the raw data of {dataset} is not what {split.path} was made from",
                           f"run {command('split', dataset)} again")
    graph = prepare(raw, Facts(module.META.directed, module.META.unlabelled_as), SplitParams(**split.params["split"]))
    indptr = split.read("edges/indptr")
    edges = CSR(indptr, split.read("edges/indices"), None, (len(indptr) - 1, len(indptr) - 1))
    return features.compute(graph.features, split.read("nodes/orig_id"), split.read("stream/offset"), edges, params, norm,
                            context.progress)
