"""The artefact of a replay."""

from __future__ import annotations

from taamctl.store.schema_entries import Entry, Kind

STREAM = Kind(
    "stream",
    1,
    "a graph replayed in time with one method: what it said before labels were shown",
    {
        "nodes/snapshot": Entry(
            "int64", ("N",), "snapshot in which a node arrives; -1: it has no time"
        ),
        "nodes/y": Entry(
            "int64", ("N",), "class, numbered in the order in which classes arrive; -1: unlabelled"
        ),
        "nodes/shown": Entry("int8", ("N",), "1 where the label is shown after the prediction"),
        "classes/name": Entry("str", ("C",), "class names, in the order of arrival"),
        "classes/first": Entry("int64", ("C",), "snapshot in which a class is new"),
        "ahead/label": Entry(
            "int32", ("N",), "predicted class before the label was shown; -1: not asked"
        ),
        "ahead/sure": Entry("float32", ("N",), "how sure that was; NaN: not asked"),
        "ahead/unknown": Entry("int8", ("N",), "1 where no known class fitted"),
        "held/label": Entry(
            "int32",
            ("snapshot", "held"),
            "predicted class of every node whose label is never shown, after every snapshot; -1: "
            "not there yet",
        ),
    },
)
