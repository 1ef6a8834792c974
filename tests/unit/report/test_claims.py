"""A sentence stands below a table only where it holds for its rows."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from taamctl.report import claims


def row(**changes: Any) -> Any:
    made = {
        "dataset": "d",
        "name": "m",
        "task_id_kind": "inferred",
        "task_id_accuracy": 1.0,
        "doubts": [],
        "matrix": [[1.0, None], [1.0, 1.0]],
        "af": 0.0,
    }
    return SimpleNamespace(**{**made, **changes})


def test_a_task_id_is_called_easy_only_where_all_are_right_and_safe() -> None:
    given = row(task_id_kind="given", task_id_accuracy=None)
    assert claims.of_task_ids([given]) == []
    (easy,) = claims.of_task_ids([row(), given])
    assert easy.endswith("which is what makes a graph-level task ID easy.")
    (unsafe,) = claims.of_task_ids([row(), row(doubts=["task IDs are right, but not safely"])])
    assert "easy" not in unsafe
    assert "though not safely" in unsafe
    (wrong,) = claims.of_task_ids([row(), row(name="n", task_id_accuracy=0.5)])
    assert "not every task ID is right (d n 50 %)" in wrong
    many = [row(name=f"n{i}", task_id_accuracy=0.5) for i in range(9)]
    (cut,) = claims.of_task_ids(many)
    assert "and 5 more" in cut


def test_a_missing_forgetting_is_explained_by_what_is_so() -> None:
    one_task = row(matrix=[[1.0]], af=None)
    last_only = row(af=None)
    assert claims.of_missing_forgetting([row()]) == []
    assert claims.of_missing_forgetting([one_task]) == [
        "where there is one task, nothing can be forgotten"
    ]
    assert claims.of_missing_forgetting([last_only, row()]) == [
        "a method trained only at the last stage has no forgetting"
    ]
    assert len(claims.of_missing_forgetting([one_task, last_only])) == 2
