"""precompute: propagated features, hop means and profiles of every (task, part) -> features.h5."""

from __future__ import annotations

from collections.abc import Callable

from taamctl.core.data_set import DataSet, data_set
from taamctl.core.plain_values import Plain
from taamctl.features import all_groups
from taamctl.features.feature_source import rows_of
from taamctl.features.split_parts import Parts
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.propagation.backends import check_backend
from taamctl.runtime import stage_jobs
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Outcome
from taamctl.store.artefact_writer import Writer, create
from taamctl.store.artefacts import Artefact
from taamctl.store.precompute_kind import PRECOMPUTE
from taamctl.store.split_kind import SPLIT


def run(
    context: Context,
    dataset: str | DataSet,
    begun: all_groups.Begun = all_groups.begun,
    ready: Callable[[], dict[str, Plain]] = dict,
) -> Outcome:
    """Propagate the features of one split data set, named or given.

    Args:
        begun: begins the propagation and yields the groups, in the place of `all_groups.begun`.
        ready: called first where there is something to do; may refuse. What it returns goes into
            the sidecar, as it is in the end.
    """
    source = data_set(dataset) if isinstance(dataset, str) else dataset
    params = context.params.section(PrecomputeParams)
    check_backend(params.backend)
    norm = params.resolved_norm(source.meta.feature_norm)
    own = context.params.plugin("datasets", source.name, source.meta.params)
    job = stage_jobs.precompute(context, source)
    ((split_at, made_by),) = job.inputs
    output = job.outputs[0]

    def compute() -> dict[str, Plain]:
        facts = ready()
        raw = rows_of(source, context.data_root, own, context.max_memory)
        with Artefact(split_at, SPLIT, made_by) as split:
            parts = Parts.read(split, made_by)
            work = all_groups.Work(raw, parts, params, norm, context.max_memory)

            def fill(writer: Writer) -> None:
                writer.attribute("dataset", source.name)
                all_groups.write(writer, work, begun, output.parent, context.progress)

            create(output, PRECOMPUTE, job.params, fill)
        return facts

    return execute(context, job, compute)
