"""The ends of edges as row numbers: they are such numbers already, or names that the nodes have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array

Hint = Callable[[Any, Any], str]  # sources and targets -> what to do where some of them are no node's name; may be empty


@dataclass(frozen=True)
class Names:
    """The nodes' names, each once.

    Attributes:
        text: [N] text, in the order of the rows. order: [N] rows in the order of their names.
    """

    text: Array
    order: Array

    def are_rows(self) -> bool:
        """Tell whether every node is called by its row number."""
        return bool((self.text == np.arange(len(self.text)).astype(str)).all())


def checked(node_id: Any, n: int, where: str) -> Names:
    """Return the nodes' names.

    Raises:
        TaamctlError: a node without a name, a name that stands twice, not as many names as nodes.
    """
    ids = _text(node_id)
    nameless = next((row for row, v in enumerate(np.asarray(node_id).tolist()) if v is None or v != v or not str(v).strip()), None)
    if nameless is not None:
        raise TaamctlError(f"{where}: the node at row {nameless} has no id", "every node has one; name it, or drop the row")
    if len(ids) != n:
        raise TaamctlError(f"{where}: {len(ids):,} node ids but {n:,} rows of features", "every node needs one id and one feature row")
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    twice = np.flatnonzero(ranked[1:] == ranked[:-1])
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise TaamctlError(f"{where}: the node id {str(ranked[twice[0]])!r} stands twice, at rows {first} and {second}",
                           "a node has one row; join or drop the second")
    return Names(ids, order)


def by_name(source: Array, target: Array, names: Names, where: str, hint: Hint | None) -> tuple[Array, Array]:
    """Return ends that are names as rows, int64.

    Raises:
        TaamctlError: an end that is no node's name.
    """
    ranked = names.text[names.order]
    found, unknown, edges = [], set[str](), np.zeros(len(source), bool)
    for ends in (_text(source), _text(target)):
        at = np.searchsorted(ranked, ends).clip(max=len(ranked) - 1)
        missing = ranked[at] != ends
        unknown |= set(ends[missing].tolist())
        edges |= missing
        found.append(names.order[at])
    if unknown:
        some = ", ".join(repr(u) for u in sorted(unknown)[:3]) + (", ..." if len(unknown) > 3 else "")
        better = hint(source, target) if hint is not None else ""
        raise TaamctlError(f"{where}: {len(unknown):,} nodes stand in the edges only ({some}; first at edge {int(edges.argmax())}); "
                           f"the node table has {len(ranked):,}", better or "add their rows to the node table, or leave their edges out; "
                           "spell ids alike (--id names their column)")
    return found[0], found[1]


def by_row(source: Array, target: Array, n: int, where: str) -> tuple[Array, Array]:
    """Return ends that are row numbers as int64, after a look at every one of them.

    Raises:
        TaamctlError: an end that is no whole number from 0 to n - 1.
    """
    for ends in (source, target):
        if ends.dtype.kind not in "iu" and (ends.dtype.kind != "f" or (np.isfinite(ends) & (ends != np.floor(ends))).any()):
            raise TaamctlError(f"{where}: edge ids are {ends.dtype}, expected whole numbers",
                               "without node ids edges name rows: 0, 1, ...; --id says which column holds the ids")
    wrong = ~((source >= 0) & (source < n) & (target >= 0) & (target < n))  # NaN too
    if wrong.any():
        at, count = int(wrong.argmax()), int(wrong.sum())
        raise TaamctlError(f"{where}: edge {at} is ({source[at]}, {target[at]}), but {n:,} nodes have features, numbered 0 to {n - 1}; "
                           f"{count:,} edges name others", "check that edges and features come from the same graph; numbers count from 0")
    return source.astype(np.int64), target.astype(np.int64)


def _text(values: Any) -> Array:
    """Return ids as text; whole numbers that were read as floats lose their `.0`."""
    raw = np.asarray(values)
    if raw.dtype.kind == "f" and np.isfinite(raw).all() and (raw == np.floor(raw)).all():
        raw = raw.astype(np.int64)
    return np.array([str(v).strip() for v in raw.tolist()], dtype=np.str_) if len(raw) else np.zeros(0, np.str_)
