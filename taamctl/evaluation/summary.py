"""Everything that is reported of one (data set, method, seed): matrices for all scopes, task-ID
accuracy, cost. Pure functions.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from taamctl.core.types import SCOPES, Array
from taamctl.evaluation import cost, matrix, routing

AVERAGINGS = ("balanced", "micro")


def scope_summary(y: Array, task: Array, predicted: Array, bounds: Array) -> dict[str, Any]:
    """Return, per averaging, the accuracy matrix, AA, AA after every stage, BWT and AF of one
    logit scope.
    """
    out: dict[str, Any] = {}
    for averaging in AVERAGINGS:
        m = matrix.accuracy_matrix(y, task, predicted, bounds, averaging)
        out[averaging] = {
            "matrix": m,
            "aa": matrix.average_accuracy(m),
            "aa_curve": matrix.accuracy_curve(m),
            "bwt": matrix.backward_transfer(m),
            "af": matrix.average_forgetting(m),
        }
    return out


def part_summary(
    arrays: Mapping[str, Array], bounds: Array, kind: str, metric: str
) -> dict[str, Any]:
    """Return one part's summary.

    Args:
        arrays: y, task, decision, similarity, margin, legacy, grid and one array per scope, as in
            the `infer` artefact. `legacy_af` explains printed values only: the final model stands
            in for every stage's model.
        kind: how the method gets its task IDs: `inferred`, `given` or `none`.
        metric: `cosine` or `euclid`, of the inference.
    """
    y, task, choice = arrays["y"], arrays["task"], arrays["decision"]
    accuracy = matrix.task_id_accuracy(choice)
    margins = arrays["margin"][-1]
    return {
        "nodes": len(y),
        "scopes": {scope: scope_summary(y, task, arrays[scope], bounds) for scope in SCOPES},
        "legacy_af": {
            averaging: matrix.average_forgetting(
                matrix.accuracy_matrix(y, task, arrays["legacy"], bounds, averaging)
            )
            for averaging in AVERAGINGS
        },
        "class_recall": {
            scope: matrix.class_recall(y, arrays[scope][-1], int(bounds[-1][1])) for scope in SCOPES
        },
        "task_id": {
            "kind": kind,
            "accuracy": accuracy[-1],
            "accuracy_by_stage": accuracy,
            "decisions": choice,
            "grid": dict(zip(routing.ROUTINGS, arrays["grid"], strict=True)),
            "nearness": routing.nearness(arrays["similarity"][-1], metric),
            "smallest_margin": np.nanmin(margins) if (~np.isnan(margins)).any() else np.nan,
        },
    }


def flags(
    y: Array, bounds: Array, class_names: list[str], dropped: Sequence[Mapping[str, Any]]
) -> list[str]:
    """Name the classes that are not in the stream, and those without a test node: they are left out
    of every mean.

    Args:
        y: [N] test labels.
        dropped: name, nodes and reason of every class that the split left out.
    """
    counts = np.bincount(y, minlength=int(bounds[-1][1]))
    out = [
        f"class {d['name']} ({d['nodes']:,} nodes) is not in the stream: {d['reason']}"
        for d in dropped
    ]
    return out + [
        f"class {class_names[c]} has no test node and is left out of the means"
        for c in np.flatnonzero(counts == 0)
    ]


def one_class_tasks(y: Array, bounds: Array) -> list[int]:
    """Return the tasks, counted from 0, whose test graph holds nodes of one class only: AA does not
    say how well classes are told apart.

    Within a task of one class every answer is right, so its accuracy is that of the task ID; over
    more classes it is that class's recall.

    Args:
        y: [N] test labels. bounds: [T, 2] class ids of the tasks.
    """
    counts = np.bincount(y, minlength=int(bounds[-1][1]))
    return [k for k, (low, high) in enumerate(bounds) if np.count_nonzero(counts[low:high]) == 1]


def costs(
    stored: Mapping[str, int], num_features: int, num_tasks: int, prototype_width: int, kind: str
) -> dict[str, int]:
    """Return the additional cost in float32 words, by the paper's rule and in full."""
    prototypes = num_tasks * prototype_width if kind == "inferred" else 0
    base = (stored["parameters"], stored["rows"], num_features)
    return {
        "extra_paper": cost.paper(*base),
        "extra_full": cost.full(*base, stored["uncounted"], prototypes),
    }


def split_policy(split: Mapping[str, Any], stated: Mapping[str, Any] = MappingProxyType({})) -> str:
    """Describe the split in a few words, for every row of every table.

    Args:
        split: the `split` parameters.
        stated: what the graph itself stated and the split follows: `tasks`, `parts`; from the
            split's account.
    """
    unit, units = ("task", "tasks") if stated.get("tasks") else ("class", "classes")
    orders = {
        "natural": "tasks as given" if unit == "task" else "natural class order",
        "time": f"{units} in order of their first node",
    }
    order = orders.get(split["class_order"], f"{unit} order seed {split['order_seed']}")
    node_order = "" if split["node_order"] == "file" else ", reader node order"
    shares = "/".join(f"{100 * split[p]:g}" for p in ("train", "val", "test"))
    drawn = f"{shares} per class, split seed {split['seed']} (same for all seeds)"
    parts = {
        "given": "parts as given",
        "time": f"{shares} per class, the oldest nodes for training",
    }.get(stated.get("parts", ""), drawn)
    return f"{parts}, {order}{node_order}"


def _headline(result: Mapping[str, Any]) -> Mapping[str, Any]:
    headline: Mapping[str, Any] = result["parts"]["test"]["scopes"][result["scope"]][
        result["averaging"]
    ]
    return headline


def flat(result: Mapping[str, Any]) -> dict[str, float | int | None]:
    """Return the numbers of a whole evaluation that `dvc metrics` shows and compares."""
    test, headline = result["parts"]["test"], _headline(result)
    inferred = result["task_id_kind"] == "inferred"
    return {
        "aa": headline["aa"],
        "af": headline["af"],
        "bwt": headline["bwt"],
        "task_id_accuracy": test["task_id"]["accuracy"] if inferred else None,
        **result["parameters"],
        **{f"aa_{scope}": test["scopes"][scope][result["averaging"]]["aa"] for scope in SCOPES},
    }


def curve_table(result: Mapping[str, Any]) -> str:
    """Return AA after every stage as CSV; empty where a stage has no model."""
    rows = (
        f"{t + 1},{'' if np.isnan(a) else repr(float(a))}"
        for t, a in enumerate(_headline(result)["aa_curve"])
    )
    return "\n".join(["stage,aa", *rows]) + "\n"


def decision_table(result: Mapping[str, Any]) -> str:
    """Return the last stage's task-ID decisions as CSV, one row per query graph."""
    decisions = result["parts"]["test"]["task_id"]["decisions"][-1]
    return (
        "\n".join(["task,decision", *(f"{j},{k}" for j, k in enumerate(decisions) if k >= 0)])
        + "\n"
    )
