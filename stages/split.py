"""split: task stream, parts and induced edges of one data set -> split.h5."""

from __future__ import annotations

from taamctl.core.data_set import data_set
from taamctl.core.plain_values import canonical
from taamctl.graph.canonical import content_hash, feature_hash
from taamctl.params.split_params import SplitParams
from taamctl.runtime.job import BASE, Context, Job, Outcome, execute
from taamctl.runtime.raw_files import raw_files
from taamctl.store.artefact_writer import Writer, create
from taamctl.stream.task_split import Facts, make_split

CODE = (*BASE, "graph", "stream", "datasets/_meta.py", "stages/split.py")


def run(context: Context, dataset: str) -> Outcome:
    """Split one data set."""
    source = data_set(dataset)
    own = context.params.plugin("datasets", dataset, source.meta.params)
    params = context.params.section(SplitParams)
    output = context.layout.file("split", dataset)
    job = Job(
        "split",
        dataset,
        params={"dataset": canonical(own), "split": canonical(params)},
        inputs=(),
        outputs=(output,),
        code=(*CODE, f"datasets/{dataset}.py"),
        asked={"split": params, f"datasets.{dataset}": own},
        raw=raw_files(context.data_root, source),
        flushes=True,
    )

    def compute() -> None:
        raw = source.load(context.data_root, own)
        for note in raw.notes:
            context.tell(f"split {dataset}: {note}")
        split = make_split(raw, Facts(source.meta.directed, source.meta.unlabelled_as), params)
        hashes = {"graph_sha256": content_hash(raw), "features_sha256": feature_hash(raw.features)}

        def fill(writer: Writer) -> None:
            writer.attribute("dataset", dataset)
            for name, value in (hashes | split.attributes()).items():
                writer.attribute(name, value)
            for path, array in split.arrays().items():
                writer.put(path, array)

        create(output, "split", job.params, fill)

    return execute(context, job, compute)
