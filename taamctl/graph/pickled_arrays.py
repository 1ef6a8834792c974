"""NumPy's arrays and SciPy's matrices in a pickle, made without the pickle setting their insides.

NumPy restores types and arrays from whatever state a pickle holds, and some states end the process.
Here each state is looked at, and the array is made from its bytes.
"""

from __future__ import annotations

import re
from math import prod

import numpy as np

from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.graph.raw_values import require_text

_KIND = re.compile(r"[|<>=]?(?:[biufSU]\d{1,9}|[?bhilqBHILQefd])")
_PARTS = ("data", "indices", "indptr")


class StandIn:
    """An object of a class that is not there: it keeps its state and does nothing."""

    def __new__(cls, *_: object, **__: object) -> StandIn:
        """Take any arguments."""
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        self.state: Plain = None

    def __setstate__(self, state: Plain) -> None:
        """Keep what the file says."""
        self.state = state


class PickledKind:
    """The type of an array: numbers, text or bytes; None in `kind` for anything else.

    Args:
        code: as NumPy spells it, such as `f8`.
    """

    def __init__(self, code: str, *_: object) -> None:
        self.kind: np.dtype[Plain] | None = None
        if isinstance(code, str) and _KIND.fullmatch(code):
            self.kind = np.dtype(code)

    def __setstate__(self, state: Plain) -> None:
        """Take the order of the bytes; one with fields or of another shape is no plain type."""
        _, order, *inside = state
        if order not in ("<", ">", "|", "=") or any(part is not None for part in inside[:3]):
            self.kind = None
        elif self.kind is not None:
            self.kind = self.kind.newbyteorder(order)


class PickledArray:
    """An array; None in `array` where it holds Python objects."""

    def __init__(self, *_: object) -> None:
        self.array: Array | None = None

    def __setstate__(self, state: Plain) -> None:
        """Make the array of its shape, type, order and bytes.

        Raises:
            ValueError: they contradict each other.
        """
        _, shape, kind, fortran, content = state
        self.array = _array(content, kind, shape, "F" if fortran else "C")


class PickledMatrix(StandIn):
    """A sparse matrix of SciPy."""

    def made(self) -> Plain:
        """Return it as a csr_matrix.

        Raises:
            ValueError: its parts contradict each other.
        """
        import scipy.sparse as sp

        said = self.state if isinstance(self.state, dict) else {}
        parts = tuple(plain(said.get(name)) for name in _PARTS)
        shape = said.get("_shape", said.get("shape"))
        if not all(isinstance(part, np.ndarray) for part in parts) or not _is_shape(shape):
            raise ValueError("a sparse matrix that lacks a part")
        matrix = sp.csr_matrix(parts, shape=shape)
        matrix.check_format(full_check=True)
        return matrix


def from_buffer(content: Plain, kind: Plain, shape: Plain, order: Plain = "C") -> PickledArray:
    """Return an array as protocol 5 spells it."""
    made = PickledArray()
    made.array = _array(content, kind, shape, order)
    return made


def plain(value: Plain) -> Plain:
    """Return the array or the matrix that stands for itself in a pickle; anything else as it is."""
    if isinstance(value, PickledArray):
        return value.array
    if isinstance(value, PickledMatrix):
        return value.made()
    return value


def _array(content: Plain, kind: Plain, shape: Plain, order: Plain) -> Array | None:
    if not isinstance(kind, PickledKind) or kind.kind is None:
        return None
    if isinstance(content, str):  # how Python 2 spells bytes
        content = content.encode("latin1")
    if not isinstance(content, (bytes, bytearray)) or not _is_shape(shape) or order not in "CF":
        raise ValueError("an array without bytes or shape")
    if prod(shape) * kind.kind.itemsize != len(content):
        raise ValueError(f"an array of {kind.kind} {shape} has {len(content):,} bytes")
    made = np.frombuffer(bytearray(content), kind.kind) if content else np.empty(0, kind.kind)
    return require_text(made.reshape(shape, order=order))


def _is_shape(shape: Plain) -> bool:
    whole = isinstance(shape, tuple) and len(shape) <= 8
    return whole and all(type(size) is int and 0 <= size < 1 << 48 for size in shape)


def stand_in_for(module: str, name: str) -> Plain:
    """Return what makes the array, type or matrix that `module.name` stands for; None for anything
    else.
    """
    return _MADE_BY.get((module.replace("numpy._core", "numpy.core"), name))


def _reconstruct(*_: object) -> PickledArray:
    """Stand for the function that makes an empty array, whose state comes later."""
    return PickledArray()


_MADE_BY = {
    ("numpy", "ndarray"): PickledArray,
    ("numpy", "dtype"): PickledKind,
    ("numpy.core.multiarray", "_reconstruct"): _reconstruct,
    ("numpy.core.numeric", "_frombuffer"): from_buffer,
    ("scipy.sparse.csr", "csr_matrix"): PickledMatrix,
    ("scipy.sparse._csr", "csr_matrix"): PickledMatrix,
}


def _latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise ValueError(f"bytes are spelled in {encoding}, expected latin1")
    return text.encode("latin1")


def _no_bytes() -> bytes:
    """Return what old protocols spell as a call of `bytes`; with a number it would take memory."""
    return b""


BYTES = {  # how old protocols spell the bytes of an array
    ("_codecs", "encode"): _latin1,
    ("__builtin__", "bytes"): _no_bytes,
    ("builtins", "bytes"): _no_bytes,
}
