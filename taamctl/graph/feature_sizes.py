"""How large the values of features are, and which features outweigh the rest. Pure functions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taamctl.core.rows import of_whole
from taamctl.core.types import CSR, Array

HUNDREDFOLD = 100.0
SHOWN = 8  # features named in one sentence
MEND = "divide every feature by its own size: set precompute.feature_norm: column"


@dataclass(frozen=True)
class Outlying:
    """Features whose values differ a hundredfold in size from the rest.

    Attributes:
        columns: their numbers. low, high: the smallest and the largest of their sizes.
        usual: the median size of all features.
    """

    columns: tuple[int, ...]
    low: float
    high: float
    usual: float


def square_sums(block: Array | CSR, rows: Array) -> tuple[Array, Array]:
    """Return per feature the sum of squares [F] float64, and how many values are not 0 [F] int64.

    Args:
        block: [n, F] features. rows: [n] bool, which rows count.
    """
    if not isinstance(block, CSR):
        x = block[rows].astype(np.float64)
        return np.einsum("nf,nf->f", x, x), np.count_nonzero(x, axis=0)
    f = block.shape[1]
    inside = np.repeat(rows, np.diff(block.indptr))
    columns = block.indices[inside]
    values = np.ones(len(columns))
    if block.data is not None:
        values = block.data[inside].astype(np.float64)
    return np.bincount(columns, values**2, f), np.bincount(columns[values != 0], minlength=f)


def sizes(x: Array | CSR) -> Array:
    """Return the root mean square of the values other than 0 of every feature, [F] float64; 0 where
    there are none.
    """
    squares = np.zeros(x.shape[1])
    filled = np.zeros(x.shape[1], np.int64)
    for block in of_whole(x):
        more, count = square_sums(block, np.ones(block.shape[0], bool))
        squares += more
        filled += count
    return np.asarray(np.sqrt(squares / np.maximum(filled, 1)))


def outlying(x: Array | CSR) -> Outlying | None:
    """Return the features that are a hundred times as large as the median one, or a hundredth of
    it; None where there are none. Features without any value other than 0 do not count.
    """
    found = sizes(x)
    there = np.sort(found[found > 0])
    if len(there) < 2:
        return None
    usual = float(there[(len(there) - 1) // 2])
    apart = (found >= HUNDREDFOLD * usual) | ((found > 0) & (found <= usual / HUNDREDFOLD))
    columns = np.flatnonzero(apart)
    if not len(columns):
        return None
    own = found[columns]
    order = np.argsort(-np.abs(np.log(own / usual)), kind="stable")
    named = tuple(int(column) for column in columns[order])
    return Outlying(named, float(own.min()), float(own.max()), usual)


def sentence(found: Outlying, names: Sequence[str]) -> str:
    """Return what to say of such features, by their names where they have some."""
    called = [names[c] if names else f"column {c}" for c in found.columns]
    shown = ", ".join(repr(name[:60]) for name in called[:SHOWN])
    more = f" and {len(called) - SHOWN:,} more" * (len(called) > SHOWN)
    size = f"{found.low:.3g}"
    if found.high > 1.1 * found.low:
        size = f"{found.low:.3g} to {found.high:.3g}"
    what = f"the feature {shown} has" if len(called) == 1 else f"the features {shown}{more} have"
    return (
        f"{what} values of about {size}, the others of about {found.usual:.3g}: what is a "
        "hundredfold larger outweighs the rest, what is smaller is lost in it"
    )
