"""What became of a graph on its way into tasks and parts. Pure functions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import msgspec
import numpy as np

from taamctl.core.types import PARTS, Array
from taamctl.evaluation.record import DataAccount, PartAccount

# Of a split: nodes, edges, self-loops and isolated nodes per (task, part) [T*3, 4], tasks first;
# the row pointer [N+1] of the edges inside all tasks' val nodes, and test nodes; the row range of
# every (task, part) [T*3+1].
ORDER = tuple(enumerate(PARTS))
TABLE, MIXED, OFFSET = ARRAYS = ("account/table", "mixed/indptr", "stream/offset")


@dataclass(frozen=True)
class _Dropped:
    name: str
    nodes: int
    reason: str


@dataclass(frozen=True)
class _Stated:
    """What is read of a split's account."""

    edges_stored: int | None = None
    edges_used: int | None = None
    dropped: list[_Dropped] = field(default_factory=list)


def account(stated: str, counts: Mapping[str, Array]) -> DataAccount | None:
    """Return the account of a data set; None where a split does not have it.

    Args:
        stated: JSON of the split's attribute `account`.
        counts: the arrays named in `ARRAYS`, those that are there.
    """
    said = msgspec.json.decode(stated, type=_Stated)
    if TABLE not in counts or said.edges_used is None or said.edges_stored is None:
        return None
    table = counts[TABLE]
    between = _between_tasks(counts)
    return DataAccount(
        edges_stored=said.edges_stored,
        edges_used=said.edges_used,
        edges_kept=int(table[:, 1].sum()),
        dropped=[[d.name, str(d.nodes), d.reason] for d in said.dropped],
        parts={part: _part(table[p :: len(PARTS)], between.get(part)) for p, part in ORDER},
    )


def _part(rows: Array, between_tasks: int | None) -> PartAccount:
    nodes, edges, _, isolated = rows.sum(axis=0).tolist()
    return PartAccount(nodes=nodes, edges=edges, isolated=isolated, between_tasks=between_tasks)


def _between_tasks(counts: Mapping[str, Array]) -> dict[str, int]:
    """Return, for val and test, the edges that join two tasks; empty where they were not kept."""
    if MIXED not in counts or OFFSET not in counts:
        return {}
    entries = np.diff(counts[MIXED][counts[OFFSET]])  # of every (task, part)
    lost = entries - counts[TABLE][:, 1]
    return {part: int(lost[p :: len(PARTS)].sum()) for p, part in ORDER if part != "train"}
