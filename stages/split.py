"""split: task stream, parts and induced edges of one data set -> split.h5."""

from __future__ import annotations

import json
from typing import Any

from taamctl.core import registry
from taamctl.core.canonical import canonical
from taamctl.graph.canonical import content_hash, feature_hash
from taamctl.params.split_params import SplitParams
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.raw_files import raw_files
from taamctl.store import artefact_writer
from taamctl.stream.task_split import Facts, Split, make_split

CODE = (
    "core",
    "params",
    "runtime",
    "store",
    "graph",
    "stream",
    "datasets/_meta.py",
    "stages/split.py",
)


def run(context: Context, dataset: str) -> Outcome:
    """Split one data set."""
    module = registry.load("taamctl.datasets", dataset)
    own = context.params.plugin("datasets", dataset, module.META.params)
    params = context.params.section(SplitParams)

    def compute() -> None:
        raw = module.load(context.data_root, own)
        for note in raw.notes:
            context.tell(f"split {dataset}: {note}")
        split = make_split(raw, Facts(module.META.directed, module.META.unlabelled_as), params)
        hashes = {"graph_sha256": content_hash(raw), "features_sha256": feature_hash(raw.features)}
        artefact_writer.create(
            output, "split", recorded, lambda writer: _fill(writer, split, dataset, hashes)
        )

    output = context.layout.file("split", dataset)
    recorded = {"dataset": canonical(own), "split": canonical(params)}
    job = Job(
        "split",
        dataset,
        recorded,
        (),
        (output,),
        (*CODE, f"datasets/{dataset}.py"),
        {"split": params, f"datasets.{dataset}": own},
        raw_files(context.data_root, module),
        flushes=True,
    )
    return execute(context, job, compute)


def _fill(
    writer: artefact_writer.Writer, split: Split, dataset: str, hashes: dict[str, str]
) -> None:
    writer.attribute("dataset", dataset)
    for name, value in hashes.items():
        writer.attribute(name, value)
    writer.attribute("label_sha256", split.label_sha256)
    dropped: list[dict[str, Any]] = [canonical(d) for d in split.dropped]
    writer.attribute(
        "account",
        json.dumps(
            {
                "edges_stored": split.edges_before[0],
                "edges_used": split.edges_before[1],
                "dropped": dropped,
                "unlabelled": split.unlabelled,
                **split.stated,
            }
        ),
    )
    writer.put("classes/label", split.stream.labels)
    writer.put("classes/name", split.stream.class_names)
    writer.put("classes/count", split.counts)
    writer.put("stream/bounds", [(t.low, t.high) for t in split.stream.tasks])
    writer.put("stream/offset", split.offset)
    writer.put("nodes/orig_id", split.orig_id)
    writer.put("nodes/y", split.y)
    writer.put("edges/indptr", split.edges.indptr)
    writer.put("edges/indices", split.edges.indices)
    writer.put("mixed/indptr", split.mixed.indptr)
    writer.put("mixed/indices", split.mixed.indices)
    writer.put("account/table", split.table)
