"""The ends of edges as row numbers: they are such numbers already, or names that the nodes have."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.node_ids import WHOLE

DIGITS = 18  # that every int64 has room for
Hint = Callable[
    [Any, Any], str
]  # sources and targets -> what to do where some of them are no node's name; may be empty


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
    nameless = next(
        (
            row
            for row, v in enumerate(np.asarray(node_id).tolist())
            if v is None or v != v or not str(v).strip()
        ),
        None,
    )
    if nameless is not None:
        raise TaamctlError(
            f"{where}: the node at row {nameless} has no id",
            "every node has one; name it, or drop the row",
        )
    if len(ids) != n:
        raise TaamctlError(
            f"{where}: {len(ids):,} node ids but {n:,} rows of features",
            "every node needs one id and one feature row",
        )
    order = np.argsort(ids, kind="stable")
    ranked = ids[order]
    twice = np.flatnonzero(ranked[1:] == ranked[:-1])
    if len(twice):
        first, second = order[twice[0]], order[twice[0] + 1]
        raise TaamctlError(
            f"{where}: the node id {str(ranked[twice[0]])!r} stands twice, at rows {first} and "
            f"{second}",
            "a node has one row; join or drop the second",
        )
    return Names(ids, order)


def by_name(
    source: Array, target: Array, names: Names, where: str, hint: Hint | None
) -> tuple[Array, Array]:
    """Return ends that are names as rows, int64.

    Raises:
        TaamctlError: an end that is no node's name.
    """
    texts = (_text(source), _text(target))
    found, missing = _places(names, texts)
    if missing[0].any() or missing[1].any():
        alike = _as_numbers(
            names.text, *texts
        )  # 007, 7.0 and 7 are one id where all ids are numbers
        if alike is not None:
            found, missing = _places(
                Names(alike[0], np.argsort(alike[0], kind="stable")), alike[1:]
            )
    unknown = sorted(
        {str(v) for ends, lost in zip(texts, missing, strict=True) for v in ends[lost].tolist()}
    )
    if unknown:
        some = ", ".join(repr(u) for u in unknown[:3]) + (", ..." if len(unknown) > 3 else "")
        first = int((missing[0] | missing[1]).argmax())
        better = hint(source, target) if hint is not None else ""
        raise TaamctlError(
            f"{where}: {len(unknown):,} nodes stand in the edges only ({some}; first at edge "
            f"{first}); the node table has {len(names.text):,}",
            better
            or "add their rows to the node table, or leave their edges "
            "out; spell ids alike (--id names their column)",
        )
    return found[0], found[1]


def _places(names: Names, texts: Sequence[Array]) -> tuple[list[Array], list[Array]]:
    """Return the row of every name in some arrays of names, and where there is none."""
    ranked = names.text[names.order]
    found, missing = [], []
    for ends in texts:
        at = np.searchsorted(ranked, ends).clip(max=len(ranked) - 1)
        missing.append(ranked[at] != ends)
        found.append(names.order[at])
    return found, missing


def by_row(source: Array, target: Array, n: int, where: str) -> tuple[Array, Array]:
    """Return ends that are row numbers as int64, after a look at every one of them.

    Raises:
        TaamctlError: an end that is no whole number from 0 to n - 1.
    """
    if all(ends.dtype.kind in "US" for ends in (source, target)):
        source, target = _whole_numbers(source, target)
    for ends in (source, target):
        if ends.dtype.kind not in "iu" and (
            ends.dtype.kind != "f" or (np.isfinite(ends) & (ends != np.floor(ends))).any()
        ):
            raise TaamctlError(
                f"{where}: edge ids are {ends.dtype}, expected whole numbers",
                "without node ids edges name rows: 0, 1, ...; --id says which column holds the ids",
            )
    wrong = ~((source >= 0) & (source < n) & (target >= 0) & (target < n))  # NaN too
    if wrong.any():
        at, count = int(wrong.argmax()), int(wrong.sum())
        raise TaamctlError(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but {n:,} nodes have features, "
            f"numbered 0 to {n - 1}; {count:,} edges name others",
            "check that edges and features come from the same graph; numbers count from 0",
        )
    return source.astype(np.int64), target.astype(np.int64)


def _text(values: Any) -> Array:
    """Return ids as text; whole numbers that were read as floats lose their `.0`."""
    raw = np.asarray(values)
    if raw.dtype.kind == "S":
        raw = np.char.decode(raw, "utf-8", "replace")
    if raw.dtype.kind == "f" and np.isfinite(raw).all() and (raw == np.floor(raw)).all():
        raw = raw.astype(np.int64)
    return (
        np.array([str(v).strip() for v in raw.tolist()], dtype=np.str_)
        if len(raw)
        else np.zeros(0, np.str_)
    )


def _as_numbers(*texts: Array) -> list[Array] | None:
    """Return ids in the one spelling that whole numbers have; None where one of them is no whole
    number, or two different ones of the first array become one.
    """
    import pandas as pd

    made: list[Array] = []
    for text in texts:
        codes, different = pd.factorize(text)
        found = [WHOLE.fullmatch(str(t).strip()) for t in different.tolist()]
        if not all(found):
            return None
        spelled = np.array([str(int(m[1])) for m in found if m], np.str_)
        if not made and len(set(spelled.tolist())) < len(spelled):
            return None
        made.append(spelled[codes] if len(spelled) else np.zeros(0, np.str_))
    return made


def _whole_numbers(source: Array, target: Array) -> tuple[Array, Array]:
    """Return ends that are spelled whole numbers as int64; others as they are."""
    alike = _as_numbers(_text(source), _text(target))
    if alike is None or max(len(end) for ends in alike for end in ends.tolist()) > DIGITS:
        return source, target
    return alike[0].astype(np.int64), alike[1].astype(np.int64)
