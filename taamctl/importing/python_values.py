"""Columns of Python values as arrays, such as the rows of a data base give."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from taamctl.core.types import Array

EXACT = 1 << 53  # whole numbers up to here are exact as floats


def column_of(values: Sequence[object]) -> Array:
    """Return values as [n] int64 or float64 where all are numbers; else as objects, where None
    among numbers is NaN.
    """
    kinds = {type(value) for value in values}
    whole = [value for value in values if isinstance(value, int)]
    if len(whole) == len(values) and all(-EXACT <= value <= EXACT for value in whole):
        return np.array(whole, np.int64)
    if kinds - {int, bool, float, type(None)}:
        return _objects(values)
    if kinds & {int, bool}:  # as floats, large ids would collide
        return _objects([float("nan") if value is None else value for value in values])
    return np.array(values, np.float64)  # which takes None for NaN


def joined(chunks: Sequence[Array]) -> Array:
    """Return the pieces of a column as one."""
    kinds = {chunk.dtype.kind for chunk in chunks}
    if len(kinds) == 1:
        return np.concatenate(chunks)
    return np.concatenate([chunk.astype(object) for chunk in chunks])


def _objects(values: Sequence[object]) -> Array:
    found = np.empty(len(values), object)  # filled, as np.array would look into lists
    found[:] = values
    return found
