"""The ends of edges as row numbers: they are such numbers already, or names that the nodes have."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.bad_rows import bad_rows
from taamctl.importing.messages import shown, some
from taamctl.importing.node_ids import id_text, whole_numbers

LARGEST = 10**18  # an int64 has room for all whole numbers below
SHOWN = 10  # unknown nodes in a message
# sources and targets -> what to do where some of them are no node's name; may be empty
Hint = Callable[[Array, Array], str]


@dataclass(frozen=True)
class Names:
    """The nodes' names, each once: [N] text, in the order of the rows."""

    text: Array

    def are_rows(self) -> bool:
        """Tell whether every node is called by its row number."""
        return list(self.text) == [str(row) for row in range(len(self.text))]


def checked(node_id: object, n: int, where: str) -> Names:
    """Return the nodes' names.

    Raises:
        TaamctlError: a node without a name, a name that stands twice, not as many names as nodes.
    """
    import pandas as pd

    values = np.asarray(node_id)
    ids = pd.Series([id_text(v) for v in values.tolist()], dtype=object)
    nameless = pd.isna(values) | (ids == "").to_numpy()
    if nameless.any():
        more = f", nor have {int(nameless.sum()) - 1:,} more" * (int(nameless.sum()) > 1)
        raise bad_rows(
            f"{where}: the node at row {nameless.argmax()} has no id{more}",
            "every node has one; name it, or drop the row",
            nameless,
        )
    if len(ids) != n:
        raise TaamctlError(
            f"{where}: {len(ids):,} node ids but {n:,} rows of features",
            "every node needs one id and one feature row",
        )
    twice = ids[ids.duplicated()]
    if len(twice):
        name = min(twice)
        first, second = np.flatnonzero(ids == name)[:2]
        more = f"; {twice.nunique() - 1:,} more ids stand twice too" * (twice.nunique() > 1)
        raise bad_rows(
            f"{where}: the node id {shown(name)!r} stands twice, at rows {first} and "
            f"{second}{more}",
            "a node has one row; join or drop the second",
            ids.duplicated(keep=False).to_numpy(),
        )
    return Names(ids.to_numpy())


def by_name(
    source: Array,
    target: Array,
    names: Names,
    where: str,
    hint: Hint | None,
    drop: bool = False,
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return ends that are names as rows, int64, and what was left out.

    Args:
        drop: leave out edges to what is no node's name, instead of refusing them.

    Raises:
        TaamctlError: an end that is no node's name, or no edge without one.
    """
    coded = [different(ends) for ends in (source, target)]
    ends = {text for _, texts in coded for text in texts}
    row_of = rows_of(names.text.tolist(), ends)
    rows = [np.array([row_of.get(t, -1) for t in texts], np.int64)[codes] for codes, texts in coded]
    unknown = sorted(text for text in ends if text not in row_of)
    if not unknown:
        return rows[0], rows[1], ()
    wrong = (rows[0] < 0) | (rows[1] < 0)
    named = some(unknown)
    if drop and not wrong.all():
        note = _left_out(wrong, where, f"{len(unknown):,} nodes that are not in the file ({named})")
        return rows[0][~wrong], rows[1][~wrong], (note,)
    better = hint(source, target) if hint is not None else ""
    raise _unknown_nodes(len(unknown), named, wrong, len(names.text), where, better)


def _unknown_nodes(
    count: int, named: str, wrong: Array, nodes: int, where: str, better: str
) -> TaamctlError:
    return bad_rows(
        f"{where}: {count:,} nodes stand in the edges only ({named}; first at edge "
        f"{int(wrong.argmax())}); the node table has {nodes:,}",
        better
        or "add their rows to the node table; or leave their edges "
        f"out{_how_to_drop(wrong)}; or name the graph that has them with --context; spell ids "
        "alike (--id names their column)",
        wrong,
    )


def _how_to_drop(wrong: Array) -> str:
    return "" if wrong.all() else f" with --bad-edges drop ({int(wrong.sum()):,} of {len(wrong):,})"


def _left_out(wrong: Array, where: str, which: str) -> str:
    return f"{where}: {int(wrong.sum()):,} of {len(wrong):,} edges left out, to {which}"


def different(values: Array) -> tuple[Array, list[str]]:
    """Return every value as a position among the different ones, [E], and those as text."""
    import pandas as pd

    codes, different = pd.factorize(values, use_na_sentinel=False)
    return codes, [id_text(v) for v in different.tolist()]


def rows_of(names: list[str], ends: set[str]) -> dict[str, int]:
    """Return end -> row for ends that are names; 007, 7.0 and 7 are one id where all ids are
    numbers, and still differ as such.
    """
    row_of = {name: row for row, name in enumerate(names)}
    if ends <= row_of.keys():
        return row_of
    numbers, wanted = whole_numbers(names), whole_numbers(ends)
    if numbers is None or wanted is None or len(set(numbers)) < len(numbers):
        return row_of
    row_of_number = {number: row for row, number in enumerate(numbers)}
    found = zip(ends, wanted, strict=True)
    return {end: row_of_number[number] for end, number in found if number in row_of_number}


def by_row(
    source: Array, target: Array, n: int, where: str, drop: bool = False
) -> tuple[Array, Array, tuple[str, ...]]:
    """Return ends that are row numbers as int64, after a look at every one of them, and what was
    left out.

    Args:
        drop: leave out edges to other whole numbers, instead of refusing them.

    Raises:
        TaamctlError: an end that is no whole number from 0 to n - 1, or no edge without one.
    """
    if all(ends.dtype.kind in "US" for ends in (source, target)):
        source, target = _from_text(source), _from_text(target)
    for ends in (source, target):
        whole = ends.dtype.kind in "iu" or (
            ends.dtype.kind == "f" and not (np.isfinite(ends) & (ends != np.floor(ends))).any()
        )
        if not whole:
            raise TaamctlError(
                f"{where}: edge ids are {ends.dtype}, expected whole numbers",
                "without node ids edges name rows: 0, 1, ...; --id says which column holds the ids",
            )
    wrong = ~((source >= 0) & (source < n) & (target >= 0) & (target < n))  # NaN too
    if drop and wrong.any() and not wrong.all():
        note = _left_out(wrong, where, _no_rows(np.concatenate([source[wrong], target[wrong]]), n))
        return source[~wrong].astype(np.int64), target[~wrong].astype(np.int64), (note,)
    if wrong.any():
        at, count = int(wrong.argmax()), int(wrong.sum())
        raise bad_rows(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but {n:,} nodes have features, "
            f"numbered 0 to {n - 1}; {count:,} edges name others",
            "check that edges and features come from the same graph; numbers count from 0"
            + ("" if wrong.all() else "; --bad-edges drop leaves such edges out"),
            wrong,
        )
    return source.astype(np.int64), target.astype(np.int64), ()


def _no_rows(ends: Array, n: int) -> str:
    """Name the ends that are no row numbers."""
    others = [id_text(end) for end in np.unique(ends[~((ends >= 0) & (ends < n))]).tolist()]
    named = ", ".join(others[:SHOWN]) + ", ..." * (len(others) > SHOWN)
    return f"{len(others):,} numbers that are no rows ({named})"


def _from_text(ends: Array) -> Array:
    """Return ends that are spelled whole numbers as int64; others as they are."""
    codes, texts = different(ends)
    numbers = whole_numbers(texts)
    if numbers is None or max(map(abs, numbers), default=0) >= LARGEST:
        return ends
    return np.array(numbers, np.int64)[codes]
