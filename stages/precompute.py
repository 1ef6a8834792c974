"""precompute: propagated features, hop means and profiles of every (task, part) -> features.h5."""

from __future__ import annotations

from typing import Any

from taamctl.core import registry
from taamctl.core.canonical import canonical
from taamctl.core.errors import TaamctlError
from taamctl.core.types import PARTS
from taamctl.features import groups
from taamctl.features.raw_features import rows_of
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import check_backend
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.store import artefact_writer, artefacts
from taamctl.store.schema import group

CODE = (
    "core",
    "params",
    "runtime",
    "store",
    "graph",
    "propagation",
    "features",
    "datasets/_meta.py",
    "stages/precompute.py",
)


def run(
    context: Context,
    dataset: str,
    source_of: Any = None,
    begun: Any = groups.begun,
    ready: Any = dict,
) -> Outcome:
    """Propagate the features of one split data set; META, `load` and `features` come from
    `source_of`, else from its module.

    Args:
        begun: what begins the propagation and yields the groups, in the place of `groups.begun`.
        ready: called first where there is something to do; may refuse. What it returns goes into
            the sidecar, as it is in the end.
    """
    module, params = (
        source_of or registry.load("taamctl.datasets", dataset),
        context.params.section(PrecomputeParams),
    )
    check_backend(params.backend)
    norm = module.META.feature_norm if params.feature_norm == "as_released" else params.feature_norm
    source, output = (
        context.layout.file("split", dataset),
        context.layout.file("precompute", dataset),
    )
    made_by = context.layout.command("split", dataset)
    recorded = {**canonical(params), "feature_norm": norm}

    def compute() -> dict[str, Any]:
        facts: dict[str, Any] = ready()
        raw = rows_of(
            module,
            context.data_root,
            context.params.plugin("datasets", dataset, module.META.params),
            context.max_memory,
        )
        with artefacts.Artefact(source, "split", made_by) as split:
            split.verify("edges/indices")  # read group by group below, and not as a whole
            parts = groups.Parts(
                split.read("nodes/orig_id"),
                split.read("stream/offset"),
                split.read("edges/indptr"),
                lambda low, high: split.rows("edges/indices", low, high),
            )
            passed, y = (
                {path: split.read(path) for path in ("stream/bounds", "classes/name")},
                split.read("nodes/y"),
            )
            work, features_sha256 = (
                groups.Work(raw, parts, params, norm, context.max_memory),
                split.attribute("features_sha256"),
            )

            def fill(writer: artefact_writer.Writer) -> None:
                writer.attribute("dataset", dataset)
                for path, array in passed.items():
                    writer.put(path, array)
                with begun(work, output.parent, context.progress, writer.tick) as (sha256, made):
                    if sha256 != features_sha256:
                        raise TaamctlError(
                            f"the raw data of {dataset} is not what {source} was made from",
                            f"run {made_by} again",
                        )
                    for g, low, high, entries in made:
                        for name, values in {
                            "orig_id": parts.orig_id[low:high],
                            "y": y[low:high],
                            **entries,
                        }.items():
                            writer.put(f"{group(g // 3, PARTS[g % 3])}/{name}", values)

            artefact_writer.create(output, "precompute", recorded, fill)
        return facts

    code, inputs = (*CODE, f"datasets/{dataset}.py"), ((source, made_by),)
    return execute(
        context,
        Job(
            "precompute",
            dataset,
            recorded,
            inputs,
            (output,),
            code,
            {"precompute": params},
            flushes=True,
        ),
        compute,
    )
