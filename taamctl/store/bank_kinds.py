"""The artefacts of a bank."""

from __future__ import annotations

from taamctl.core.versions import unchanged
from taamctl.store.schema_entries import Entry, Kind


def _exact(dtype: str, dims: tuple[str, ...], doc: str) -> Entry:
    return Entry(dtype, dims, f"{doc}; with bank.sums: class", optional=True, since=2)


EXACT: dict[str, Entry] = {
    "exact/gram": _exact(
        "int64",
        ("C", "P*(P+1)/2"),
        "upper half of every class's Gram matrix of profiles rounded to 2^-20, times 2^40, over "
        "nodes and views",
    ),
    "exact/cross": _exact(
        "int64", ("C", "P"), "sum of the same profiles, times 2^20, over nodes and views"
    ),
    "exact/nodes": _exact("int64", ("C",), "training nodes of every class"),
    "exact/hop_sum": _exact("float64", ("J", "F"), "sum of S^j X, of which hop_mean is the mean"),
    "exact/hop_nodes": _exact("int64", ("1",), "how many nodes that sum is of"),
    "known/key": _exact("uint8", ("V", "16"), "keyed hash of the name of every node, ascending"),
    "known/class": _exact("int64", ("V",), "class of every node, from 0"),
    "known/part": _exact("int64", ("V",), "0 = train, 1 = val"),
    "known/check": _exact(
        "float64",
        ("V", "5"),
        "four random projections of a training node's hop features, and their lengths: tells "
        "whether a row that is given again is the one that was learned",
    ),
    "known/links": _exact("int64", ("V",), "edges at a training node among those of the task"),
}


def _kept(dtype: str, dims: tuple[str, ...], doc: str, since: int) -> Entry:
    return Entry(dtype, dims, f"{doc}; with bank.val_rows", optional=True, since=since)


KEPT_VAL: dict[str, Entry] = {
    "val/x": _kept("float32", ("V", "F"), "features of some validation nodes, normalised", 3),
    "val/class": _kept("int64", ("V",), "their classes, from 0", 3),
    "val/edges": _kept("int64", ("end", "E"), "receiver and sender of every edge among them", 3),
}
HONEST: dict[str, Entry] = {
    "honest/fitted": _kept(
        "float64", ("number",), "temperature, how many validation nodes it is from, penalty", 2
    ),
    "honest/missing": _kept(
        "float64", ("quantile",), "1 - p(right class) of validation nodes: quantiles 0 to 1", 2
    ),
    "honest/pull": _kept(
        "float64", ("C", "C"), "(I - B)^-1, B the regression's outputs of the class means", 2
    ),
    "honest/rarity": _kept(
        "float64", ("P",), "one over the mean square of every number of a profile", 2
    ),
    "honest/signs": _kept(
        "float64",
        ("number", "sign"),
        "centre, scale and weight of the signs of the unknown; with honest/means a fifth one, the "
        "surplus",
        2,
    ),
    "honest/means": _kept("float32", ("P", "C"), "mean profile of every class", 3),
    "honest/usual": _kept(
        "float64", ("quantile",), "how unlike known ones validation nodes look: quantiles", 2
    ),
    "honest/stand_ins": _kept(
        "float64", ("quantile",), "the same, each exchanged for another of its class", 2
    ),
}
BANK_SHARED = Kind(
    "bank_shared",
    3,
    "what all tasks of a bank share, `shared-<generation>.h5`",
    {
        "lift": Entry("float32", ("F", "random"), "random matrix of the router's node profiles"),
        "probe": Entry(
            "float32", ("probe", "F"), "random rows that every task's reference outputs are for"
        ),
        "features/name": Entry(
            "str",
            ("F",),
            "names of the features, in the order in which all tasks have them",
            optional=True,
        ),
        "features/size": Entry(
            "float32",
            ("F",),
            "what every feature is divided by, where each is by its own size",
            optional=True,
            since=2,
        ),
        "known/salt": Entry(
            "uint8",
            ("16",),
            "key of the hashes of node names, drawn by chance; of banks with bank.sums: class",
            optional=True,
            since=3,
        ),
    },
    open_entries=True,
    steps={
        1: unchanged,  # 2 may hold the sizes of the features
        2: unchanged,  # 3 may hold the key of the hashes of node names
    },
)
BANK_ROUTER = Kind(
    "bank_router",
    3,
    "the router of all tasks of a bank, solved from their sums, `router-<generation>.h5`",
    {
        "weight": Entry(
            "float32",
            ("P", "C"),
            "regression of node profiles on classes, in the order of the tasks",
        ),
        "mean": Entry("float64", ("C",), "mean of a class's own output over its training nodes"),
        "deviation": Entry("float64", ("C",), "standard deviation of the same"),
        **HONEST,
    },
    steps={
        1: unchanged,  # 2 may hold what the bank knows of its answers
        2: unchanged,  # 3 may hold the mean profile of every class, and with it a fifth sign
    },
)
BANK_TASK = Kind(
    "bank_task",
    3,
    "one task of a bank, `tasks/<number>-<digest>.h5`",
    {
        "classes/name": Entry("str", ("C",), "class names, in the order of the task's outputs"),
        "bounds": Entry("int64", ("2",), "class ids [low, high) when it was learned"),
        "nodes": Entry(
            "int64",
            ("2",),
            "nodes it was learned on, and validation nodes it was calibrated on",
        ),
        "loss": Entry("float32", ("epoch",), "training loss"),
        "hop_mean": Entry(
            "float32",
            ("J", "F"),
            "mean over the training nodes of S^j X: every AMP prototype follows",
        ),
        "router/gram": Entry(
            "float32",
            ("P*(P+1)/2",),
            "upper half of the weighted Gram matrix of the node profiles, with bank.sums: task",
            optional=True,
        ),
        "router/factors": Entry(
            "float32",
            ("P", "K"),
            "the same matrix as B B^T, of a task of so few nodes that this is smaller",
            optional=True,
        ),
        "router/cross": Entry(
            "float32", ("P", "C"), "mean profile per class, with bank.sums: task", optional=True
        ),
        **EXACT,
        **KEPT_VAL,
        "unknown/quantiles": Entry(
            "float64",
            ("quantile",),
            "how far validation nodes lie below the training mean of their class, in "
            "standard deviations: the quantiles 0, 0.01, ..., 1; NaN without such nodes",
        ),
        "routing/halves": Entry(
            "float32",
            ("half", "D"),
            "mean AMP profile of 100 random halves of the validation nodes: how sure a graph "
            "is routed",
            optional=True,
        ),
        "routing/rows": Entry(
            "float32",
            ("row", "P"),
            "the router's profile of at most 64 validation nodes: how sure a node is routed",
            optional=True,
        ),
        "reference/logits": Entry(
            "float32", ("probe", "C"), "the task's outputs for the shared random rows"
        ),
    },
    open_entries=True,
    steps={
        1: unchanged,  # 2 may hold exact sums and the record of the nodes
        2: unchanged,  # 3 may hold validation nodes
    },
)
