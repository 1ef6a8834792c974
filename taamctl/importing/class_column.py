"""Which column holds the classes, after a look at what it holds and at what stands beside it: a
name such as `y` or `label` says too little.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

import numpy as np

from taamctl.core.types import Array
from taamctl.importing.column_names import LABEL, plain
from taamctl.importing.messages import quoted
from taamctl.importing.node_ids import FEW
from taamctl.importing.options import one_listed
from taamctl.importing.ways import Unclear
from taamctl.importing.words import NO_LABEL, spelled

NAMES = 0.8  # share of nodes with a value of their own, from which on it is a name and no class
SHOWN = 6  # columns that a question offers
MOST_CLASSES = 0.25  # of the nodes, in a column that is offered as the class
# what programmes that draw graphs add to every node
COLOURS = ("r", "g", "b")
COMMUNITY = "modularityclass"
DRAWN = frozenset({*COLOURS, COMMUNITY, *("x", "y", "z", "size", "color", "colour", "alpha")})


def doubt(cell: Mapping[str, Array], name: str) -> str:
    """Return why a column that is called like a class holds none; empty where it may hold one."""
    if plain(name) == "y" and _is_place(cell, name):
        return "it lies beside 'x', and both hold numbers: a place, such as a drawing gives"
    if names_nodes(cell[name]):
        values = len(_different(cell[name]))
        return f"it has {values:,} values for {len(cell[name]):,} nodes: a name, or a quantity"
    return ""


def _is_place(cell: Mapping[str, Array], name: str) -> bool:
    beside = next((other for other in cell if plain(other) == "x"), None)
    if beside is None:
        return False
    return all(_as_numbers(cell[column]) is not None for column in (name, beside))


def names_nodes(column: Array) -> bool:
    """Tell whether (nearly) every node has a value of its own."""
    if column.ndim != 1 or len(column) < FEW:
        return False
    return len(_different(column)) >= max(FEW, NAMES * len(column))


def _different(column: Array) -> set[str]:
    """Return the values of a column, but those that mean none."""
    import pandas as pd

    found = {spelled(value) for value in pd.unique(column).tolist()}
    return {word for word in found if word.lower() not in NO_LABEL}


def _as_numbers(column: Array) -> Array | None:
    """Return cells as numbers, NaN for empty ones; None where one is no number."""
    import pandas as pd

    if column.ndim != 1 or column.dtype.kind in "iufb":
        return column if column.ndim == 1 else None
    cells = pd.Series(column, dtype=object)
    given = cells.map(lambda value: spelled(value) != "")
    numbers = pd.to_numeric(cells[given], errors="coerce")
    if numbers.isna().any() or not len(numbers):
        return None
    return np.asarray(numbers.reindex(cells.index), np.float64)


def drawn(cell: Mapping[str, Array], names: Sequence[str]) -> tuple[str, ...]:
    """Return those of `names` that say how a node is drawn: its colour, and its place and size
    where there is a colour in three numbers or a `modularity_class`.

    A community that a programme found in the edges (`modularity_class`) goes with them.
    """
    of = {plain(name): name for name in reversed(list(cell))}
    found = {COMMUNITY}
    if COMMUNITY in of or all(c in of and _are_bytes(cell[of[c]]) for c in COLOURS):
        found = {*DRAWN}
    found |= {c for c in ("color", "colour") if c in of and _as_numbers(cell[of[c]]) is None}
    return tuple(name for name in names if plain(name) in found)


def _are_bytes(column: Array) -> bool:
    """Tell whether a column holds whole numbers from 0 to 255."""
    numbers = _as_numbers(column)
    if numbers is None:
        return False
    numbers = numbers[np.isfinite(numbers)]
    return bool(len(numbers) and ((numbers >= 0) & (numbers <= 255)).all()) and bool(
        (numbers == np.floor(numbers)).all()
    )


def require_one(
    cell: Mapping[str, Array], declined: Mapping[str, str], taken: Collection[str], where: str
) -> None:
    """Ask which column is the class, where one was called so and holds none.

    Args:
        declined: such columns -> why not. taken: columns that mean something else.

    Raises:
        TaamctlError: always where a column was declined.
    """
    if not declined:
        return
    free = [name for name in cell if name not in taken and name not in declined]
    offered = list(_like_classes(cell, free))
    told = [f"--label {quoted(name)} ({values} values)" for name, values in offered[:SHOWN]]
    told += [f"--label {quoted(name)}, to take it all the same" for name in declined]
    without = " ".join(f"--ignore {quoted(one_listed(name))}" for name in declined)
    names = [*(name for name, _ in offered[:SHOWN]), *declined]
    why = "; ".join(
        f"{name!r} is called like a class, but {text}" for name, text in declined.items()
    )
    raise Unclear(
        f"{where}: no telling which column is the class: {why}",
        f"say which: {', or '.join(told)}; or {without}, for a graph without classes",
        [*(f"--label {quoted(name)}" for name in names), without],
    )


def _like_classes(cell: Mapping[str, Array], names: Sequence[str]) -> Iterator[tuple[str, int]]:
    """Yield the columns that may hold classes and how many, the likeliest first: those with a usual
    name, then text, then whole numbers, at last a community that a programme found.
    """
    hidden = {*drawn(cell, names), *(name for name in names if plain(name) in ("x", "z"))}
    found = []
    for name in names:
        column = cell[name]
        if column.ndim != 1 or (name in hidden and plain(name) != COMMUNITY):
            continue
        values, numbers = len(_different(column)), _as_numbers(column)
        if not 2 <= values <= max(2, MOST_CLASSES * len(column)) or not _whole(numbers):
            continue
        rank = (plain(name) == COMMUNITY, plain(name) not in LABEL, numbers is not None)
        found.append((rank, name, values))
    yield from ((name, values) for _, name, values in sorted(found, key=lambda one: one[0]))


def _whole(numbers: Array | None) -> bool:
    """Tell whether numbers are whole; text may be anything."""
    if numbers is None:
        return True
    known = numbers[~np.isnan(numbers.astype(np.float64))]
    return bool((known == np.floor(known)).all())
