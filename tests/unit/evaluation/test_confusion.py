"""What is confused, and what became of the data, against counts made the plain way."""

from __future__ import annotations

import json
from collections import Counter

import numpy as np

from taamctl.evaluation import confusion, data_account
from taamctl.report import over_runs

BOUNDS = np.array([[0, 2], [2, 5], [5, 6]])
TASK_OF = [0, 0, 1, 1, 1, 2]


def test_pairs_are_counted_as_by_hand_and_the_most_frequent_come_first() -> None:
    rng = np.random.default_rng(3)
    for _ in range(20):
        y, predicted = rng.integers(0, 6, 60), rng.integers(-1, 6, 60)
        pairs = list(zip(y.tolist(), predicted.tolist(), strict=True))
        wrong = Counter(p for p in pairs if p[1] >= 0 and p[0] != p[1])
        found = confusion.confused(y, predicted)
        assert {(a, b): n for a, b, n in found} == wrong
        assert [n for *_, n in found] == sorted((n for *_, n in found), reverse=True)
        tasks = Counter((TASK_OF[a], TASK_OF[b]) for a, b in pairs if b >= 0)
        answered = confusion.tasks_answered(np.array(TASK_OF)[y], predicted, BOUNDS)
        assert {(a, b): n for a, b, n in answered} == tasks


def test_every_pair_is_kept_and_none_may_be() -> None:
    y = np.repeat(np.arange(30), 29)
    predicted = np.concatenate([np.delete(np.arange(30), c) for c in range(30)])
    assert len(confusion.confused(y, predicted)) == 30 * 29
    assert confusion.confused(y, y) == []
    assert confusion.confused(y[:0], y[:0]) == []


def test_what_is_confused_rarely_under_every_seed_is_found_over_all() -> None:
    """Each seed confuses 150 pairs of its own more often than the one pair that all share."""
    seeds = []
    for seed in range(3):
        true = np.concatenate([np.repeat(np.arange(150), 4), [500, 500, 500]])
        answered = np.concatenate([np.repeat(1000 * (seed + 1) + np.arange(150), 4), [501] * 3])
        seeds.append(confusion.confused(true, answered))
    assert all([500, 501, 3] not in pairs[:100] for pairs in seeds)
    assert over_runs.added(seeds)[0] == [500, 501, 9]


def test_the_account_counts_parts_and_the_edges_between_tasks() -> None:
    # Two tasks; rows are (task, part): nodes, edges, loops, isolated.
    table = np.array(
        [[5, 8, 0, 1], [2, 2, 0, 0], [2, 0, 0, 2], [3, 4, 0, 0], [1, 0, 0, 1], [1] * 4]
    )
    offset = np.concatenate([[0], np.cumsum(table[:, 0])])
    per_row = [0] * 5 + [2, 1] + [0, 1] + [0] * 3 + [2] + [1]  # entries of the mixed graphs
    counts = {
        "account/table": table,
        "mixed/indptr": np.concatenate([[0], np.cumsum(per_row)]),
        "stream/offset": offset,
    }
    dropped = [{"name": "odd", "nodes": 3, "reason": "too small"}]
    stated = json.dumps({"edges_stored": 20, "edges_used": 40, "dropped": dropped})
    found = data_account.account(stated, counts)
    assert found is not None
    assert (found.edges_used, found.edges_kept) == (40, 15)
    assert found.dropped == [["odd", "3", "too small"]]
    nodes = {part: each.nodes for part, each in found.parts.items()}
    assert nodes == {"train": 8, "val": 3, "test": 3}
    between = {part: each.between_tasks for part, each in found.parts.items()}
    assert between == {"train": None, "val": 3 - 2 + 2, "test": 1 + 1 - 1}
    older = data_account.account(stated, {"account/table": table})
    assert older is not None and older.parts["val"].between_tasks is None
    assert data_account.account("{}", counts) is None
