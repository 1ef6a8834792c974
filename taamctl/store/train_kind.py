"""The artefact of `train`, and that of a training that is not finished."""

from __future__ import annotations

from taamctl.store.schema_entries import Entry, Kind

TRAIN = Kind(
    "train",
    1,
    "what a method keeps of every task, and what the tasks share",
    {
        "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
        "loss": Entry("float32", ("T", "epoch"), "training loss; NaN where a stage is not trained"),
    },
    open_entries=True,
)

CHECKPOINT = Kind(
    "checkpoint",
    1,
    "an unfinished training run, one file per learned task",
    {
        "loss": Entry("float32", ("epoch",), "training loss of this task"),
    },
    open_entries=True,
)
