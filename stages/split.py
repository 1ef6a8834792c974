"""split: task stream, parts and induced edges of one data set -> split.h5."""

from __future__ import annotations

from taamctl.core.data_set import data_set
from taamctl.graph.rows_hash import content_hash, feature_hash
from taamctl.params.split_params import SplitParams
from taamctl.runtime import stage_jobs
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Outcome
from taamctl.store.artefact_writer import Writer, create
from taamctl.store.split_kind import SPLIT
from taamctl.stream.task_split import facts_of, split_rows


def run(context: Context, dataset: str) -> Outcome:
    """Split one data set."""
    source = data_set(dataset)
    own = context.params.plugin("datasets", dataset, source.meta.params)
    params = context.params.section(SplitParams)
    job = stage_jobs.split(context, source)

    def compute() -> None:
        raw = source.graph_rows(context.data_root, own)
        if source.imported is None:  # the import of one's own graph has said its notes
            for note in raw.notes:
                context.tell(f"split {dataset}: {note}")
        split = split_rows(raw, facts_of(source.meta), params)
        hashes = {"graph_sha256": content_hash(raw), "features_sha256": feature_hash(raw.features)}

        def fill(writer: Writer) -> None:
            writer.attribute("dataset", dataset)
            for name, value in (hashes | split.attributes()).items():
                writer.attribute(name, value)
            for path, array in split.arrays().items():
                writer.put(path, array)

        create(job.outputs[0], SPLIT, job.params, fill)

    return execute(context, job, compute)
