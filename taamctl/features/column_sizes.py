"""How large the values of every feature are, so that each can be divided by its own size."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from taamctl.core.rows import FeatureRows
from taamctl.core.types import Array
from taamctl.features.raw_features import Norm
from taamctl.graph.feature_sizes import square_sums

COLUMN = "column"  # the name of this normalisation


def resolved(
    norm: Norm, raw: FeatureRows, first: Array, tick: Callable[[], None] = lambda: None
) -> Norm:
    """Return a normalisation with the sizes of the features, where each is divided by its own.

    Args:
        raw: the features of all nodes. first: the training nodes of the first task, which is all
            that is known when the stream begins.
    """
    if isinstance(norm, str) and norm == COLUMN:
        return of_nodes(raw, first, tick)
    return norm


def of_nodes(raw: FeatureRows, nodes: Array, tick: Callable[[], None] = lambda: None) -> Array:
    """Return the size of every feature, [F] float32: the root mean square of its values other than
    0 on the given nodes, rounded to a power of two.

    Values that are 0 do not count, so that a rare word is no larger than a frequent one. A power of
    two makes the division exact: no value loses a digit, and the sizes do not depend on how the
    rows come. A feature that is 0 on all these nodes is given the median of the others' sizes.

    Args:
        raw: the features of all nodes; one pass is made over them. nodes: [n] node ids.
        tick: called again and again; may raise to stop.
    """
    wanted = np.zeros(raw.shape[0], bool)
    wanted[nodes] = True
    squares = np.zeros(raw.shape[1])
    filled = np.zeros(raw.shape[1], np.int64)
    seen = 0
    for block in raw:
        tick()
        more, count = square_sums(block, wanted[seen : seen + block.shape[0]])
        seen += block.shape[0]
        squares += more
        filled += count
    return _rounded(squares, filled)


def _rounded(squares: Array, filled: Array) -> Array:
    """Return sizes as powers of two; 1 where no feature has any."""
    there = (filled > 0) & (squares > 0)
    exponent = np.zeros(len(squares))
    exponent[there] = np.round(np.log2(squares[there] / filled[there]) / 2)
    if there.any():
        exponent[~there] = np.round(np.median(exponent[there]))
    # beyond these a float32 would overflow, or lose digits
    found: Array = np.exp2(np.clip(exponent, -60, 60)).astype(np.float32)
    return found
