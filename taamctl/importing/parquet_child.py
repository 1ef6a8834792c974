"""The columns of a Parquet table, as the guarded process reads them."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array


def columns_of(path: Path) -> dict[str, Array]:
    """Return the columns of a table by name.

    Raises:
        TaamctlError: a name stands twice, or lists differ in length.
    """
    import pyarrow.parquet

    with pyarrow.parquet.ParquetFile(path) as file:  # read_table would import pandas first
        table = file.read()
    twice = next((n for i, n in enumerate(table.column_names) if n in table.column_names[:i]), None)
    if twice is not None:
        raise TaamctlError(f"{path}: two columns are called {twice!r}", "rename one of them")
    return {name: _column(path, name, table.column(name)) for name in table.column_names}


def _matrix_of_lists(path: Path, name: str, rows: list[list[float] | None]) -> Array:
    widths = {len(row) for row in rows if row is not None}
    if rows and (len(widths) != 1 or None in rows):
        raise TaamctlError(
            f"{path}: the lists in column {name!r} have different lengths",
            "a column of lists holds equally many numbers in every row",
        )
    return np.array(rows)


def _column(path: Path, name: str, column: Any) -> Array:
    """Return a column of an Arrow table; lists of equal length become rows of a matrix."""
    import pyarrow as pa

    kind = column.type
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return _matrix_of_lists(path, name, column.to_pylist())
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_integer(kind) and column.null_count:
        return np.array(
            [float("nan") if v is None else v for v in column.to_pylist()], object
        )  # as floats, large ids would collide
    return _plain(column)


def _plain(column: Any) -> Array:
    """Return numbers and text, without Arrow's own way to NumPy where that can be: it imports
    pandas, which takes longer than a small table.
    """
    import pyarrow as pa

    kind = column.type
    number = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if number and not column.null_count and len(column):
        return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)])
    if pa.types.is_string(kind) or pa.types.is_large_string(kind):
        return np.array([*column.to_pylist(), None], object)[:-1]
    return np.array(column.to_numpy())
