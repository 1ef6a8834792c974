"""Cells that hold a vector: `2.4,2.1`, `[2.4, 2.1]`, numpy's `[2.4 2.1]`, graph-tool's hexadecimal
floats. A column of vectors of one length is that many features.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.messages import quoted, shown

_BRACKETS = re.compile(r"\s*[\[(](.*)[\])]\s*", re.DOTALL)
_BETWEEN = re.compile(r"\s*[,;]\s*|\s+")
_NO_COMMA = re.compile(r"\s*;\s*|\s+")
_THOUSANDS = re.compile(r"[+-]?[0-9]{1,3}(,[0-9]{3})+")
_HALVES = re.compile(r"[+-]?[0-9]+,[0-9]+")  # one number with a decimal comma, or two numbers


def unfolded(
    columns: dict[str, Array], names: Sequence[str], where: str, decimal: str = ""
) -> dict[str, Array]:
    """Return the columns, those of `names` whose every cell is a vector as [rows, width].

    Raises:
        TaamctlError: vectors of different lengths, by name, row and lengths.
    """
    made = dict(columns)
    for name in names:
        column = columns[name]
        if column.ndim == 1 and column.dtype.kind == "O" and len(column):
            matrix = _matrix(column, where, name, decimal)
            if matrix is not None:
                made[name] = matrix
    return made


def _matrix(column: Array, where: str, name: str, decimal: str) -> Array | None:
    """Return a column of vectors as a matrix; None where it holds something else."""
    cells = list(map(_text, column.tolist()))
    if vector(cells[0], decimal) is None or all(map(_THOUSANDS.fullmatch, cells)):
        return None
    if decimal != "," and all(map(_HALVES.fullmatch, cells)):
        raise _halves(cells, where, name)
    rows = [vector(cell, decimal) for cell in cells]
    if rows.count(None) > cells.count(""):
        return None  # the reader of numbers names the cell
    lengths = [len(row or ()) for row in rows]
    if len(set(lengths)) > 1:
        raise _uneven(lengths, where, name)
    return np.array(rows, np.float64)


def _text(cell: object) -> str:
    """Return a cell as text, empty for None and NaN."""
    return "" if cell is None or cell != cell else str(cell).strip()


def _uneven(lengths: list[int], where: str, name: str) -> TaamctlError:
    wrong = next(i for i, length in enumerate(lengths) if length != lengths[0])
    return TaamctlError(
        f"{where}: column {name!r} holds {lengths[wrong] or 'no'} numbers at row {wrong}, and "
        f"{lengths[0]} at row 0",
        "a column of vectors holds equally many numbers in every row; mend that row, or leave "
        f"the column out: --ignore {quoted(name)}",
    )


def _halves(cells: Sequence[str], where: str, name: str) -> TaamctlError:
    """Return the refusal of cells such as `2,5`: one number with a decimal comma, or two."""
    return TaamctlError(
        f"{where}: column {name!r} holds {shown(cells[0])!r} at row 0, and its like in every "
        "row: one number with a decimal comma, or a vector of two",
        "--decimal , where it is one number; vectors of two stand in brackets, as in [2,5]",
    )


def vector(cell: str, decimal: str = "") -> list[float] | None:
    """Return the numbers in a cell that holds a vector, None for any other cell; one number alone
    is a vector where it stands in brackets.
    """
    inside = _BRACKETS.fullmatch(cell)
    text = (inside[1] if inside else cell).strip().strip(",;").strip()
    pieces = (_NO_COMMA if decimal == "," else _BETWEEN).split(text)
    if not inside and len(pieces) < 2:
        return None
    try:
        return [_number(piece, decimal) for piece in pieces]
    except ValueError:
        return None


def _number(text: str, decimal: str) -> float:
    if "_" in text:  # which Python would read as a number
        raise ValueError(text)
    if "0x" in text[:3].lower():
        return float.fromhex(text)
    return float(text.replace(",", ".") if decimal == "," else text)
