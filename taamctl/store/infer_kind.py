"""The artefact of `infer`."""

from __future__ import annotations

from taamctl.core.versions import unchanged
from taamctl.store.schema_entries import Entry, Kind

INFER = Kind(
    "infer",
    4,
    "task-ID decisions and the predictions that follow from them",
    {
        "stream/bounds": Entry("int64", ("T", "2"), "class ids [low, high) of every task"),
        "classes/name": Entry("str", ("C",), "class names, in stream order"),
        "routing/used": Entry(
            "str", ("stage",), "profile and metric, or router, that decided at a stage", since=3
        ),
        "routing/name": Entry("str", ("routing",), "the routings that were looked at", since=3),
        "routing/halves": Entry(
            "float64",
            ("routing", "stage", "T"),
            "share of 100 halves of a task's validation nodes whose task was inferred right; "
            "NaN where the task was not seen or has none, or the routing was not looked at",
            since=3,
        ),
        "{part}/y": Entry("int64", ("N",), "true stream class ids, rows grouped by task"),
        "{part}/task": Entry("int64", ("N",), "true task of every row (used by eval only)"),
        "{part}/decision": Entry(
            "int64",
            ("stage", "T"),
            "task chosen at a stage for the query graph of a task; -1: not seen yet",
        ),
        "{part}/similarity": Entry(
            "float32",
            ("stage", "T", "T"),
            "similarity to every prototype; NaN where not compared",
        ),
        "{part}/margin": Entry(
            "float32",
            ("stage", "T"),
            "best minus second-best similarity; NaN with fewer than two candidates",
        ),
        "{part}/all_seen": Entry(
            "int16 or int32",
            ("stage", "N"),
            "predicted class over all classes seen; -1: no prediction",
        ),
        "{part}/up_to_task": Entry(
            "int16 or int32", ("stage", "N"), "predicted class up to the chosen task's last class"
        ),
        "{part}/task_only": Entry(
            "int16 or int32", ("stage", "N"), "predicted class among the chosen task's classes"
        ),
        "{part}/grid": Entry(
            "float64",
            ("routing",),
            "share of right task IDs after the last task by AMP and cosine, AMP and Euclid, "
            "LS and cosine, LS and Euclid: from the profiles alone",
            since=2,
        ),
        "{part}/legacy": Entry(
            "int16 or int32",
            ("stage", "N"),
            "the final model's predicted class in the method's own scope, all_seen cut to "
            "the classes of a stage: what the released test pass evaluates; only to explain "
            "printed AF values",
            since=2,
        ),
    },
    steps={
        1: unchanged,  # 2 added what explains printed AF values
        2: unchanged,  # 3 added how sure the decisions are
        3: unchanged,  # 4 may hold predictions as int16
    },
)
