"""Features as text that reads back as the same float32, and the names that columns of features
need so that an import takes them for features.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import chain

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.exporting.whole import Whole
from taamctl.graph.canonical import to_scipy
from taamctl.importing import class_column, column_names, counting_columns, node_ids

# a reader that is off by as much of a float64 still finds the same float32
_SLACK = 1e-12
_EXACT = 1 << 24  # whole numbers below have their digits
_MEANT = {
    *chain(column_names.ID, column_names.LABEL, column_names.TIME),
    *chain(column_names.PART, column_names.TASK, column_names.MASKS, class_column.DRAWN),
}


def texts(values: Array) -> Array:
    """Return numbers as text, objects of the shape of `values`.

    Args:
        values: float32 of any shape.
    """
    bits = np.ascontiguousarray(values).view(np.uint32)
    found, position = np.unique(bits, return_inverse=True)
    spelt = np.array([_text(value) for value in found.view(np.float32)] + [None], object)[:-1]
    return np.asarray(spelt[position.reshape(values.shape)])


def _text(value: np.float32) -> str:
    number = float(value)
    if number.is_integer() and abs(number) < _EXACT and not (number == 0 and np.signbit(value)):
        return str(int(number))
    shortest = str(value)
    near = float(shortest) * np.array([1 - _SLACK, 1 + _SLACK])
    with np.errstate(over="ignore"):
        unmistakable = bool((near.astype(np.float32) == value).all())
    return shortest if unmistakable else repr(number)


def names_of(whole: Whole) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return a name for every feature, and what to say where it had none."""
    if whole.feature_names:
        return whole.feature_names, ()
    made = tuple(f"x{i}" for i in range(whole.features.shape[1]))
    return made, (f"the features have no names; they are called {made[0]} to {made[-1]}",)


def to_be_named(names: Sequence[str], features: Array | CSR) -> tuple[str, ...]:
    """Return the features that an import would take for something else, unless it is told.

    Args:
        features: [N, F] float32.
    """
    likely = _may_count(features)
    cells = zip((names[j] for j in likely), columns(features, likely), strict=True)
    counting = {
        name for name, cell in cells if counting_columns.numbers_of_rows({name: cell}, [name])
    }
    return tuple(
        name
        for name in names
        if name in counting
        or column_names.plain(name) in (*_MEANT, class_column.COMMUNITY, "color", "colour")
        or node_ids.UNNAMED.fullmatch(name)
    )


def _may_count(features: Array | CSR) -> list[int]:
    """Return the columns that may hold every row number once."""
    n, width = features.shape
    if isinstance(features, CSR):
        stored = np.bincount(features.indices, minlength=width)
        return [int(j) for j in np.flatnonzero(stored >= n - 1)]
    low, high = features.min(0), features.max(0)
    likely = ((low == 0) & (high == n - 1)) | ((low == 1) & (high == n))
    return [int(j) for j in np.flatnonzero(likely)]


def columns(features: Array | CSR, numbers: Iterable[int]) -> Iterator[Array]:
    """Yield some columns of features, [N] float32 each."""
    if not isinstance(features, CSR):
        yield from (features[:, number] for number in numbers)
        return
    stored = to_scipy(features).tocsc()
    for number in numbers:
        made = np.zeros(features.shape[0], np.float32)
        own = slice(stored.indptr[number], stored.indptr[number + 1])
        made[stored.indices[own]] = stored.data[own]
        yield made
