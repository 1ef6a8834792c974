"""DataFrames of pandas as tables."""

from __future__ import annotations

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.importing.held_table import HeldTable
from taamctl.importing.messages import shown

NODES, EDGES = "nodes", "edges"


def is_frame(data: object) -> bool:
    """Tell whether an object is a DataFrame."""
    return all(hasattr(data, name) for name in ("columns", "iloc", "reset_index"))


def held(frame: Plain, name: str) -> HeldTable:
    """Return a DataFrame as a table. Of nodes, an index that does not count the rows is the first
    column, called as in a CSV file that pandas writes.

    Raises:
        TaamctlError: no row, or two columns of one name.
    """
    where = f"the table of {name}"
    columns = columns_of(frame)
    if len(columns) < len(frame.columns) or not len(frame):
        raise TaamctlError(
            f"{where} has {len(frame):,} rows and the columns {shown(', '.join(columns))}",
            "it has a row, and no two columns of one name",
        )
    index = frame.index
    called = str(index.name or "Unnamed: 0")
    counts = np.array_equal(np.asarray(index), np.arange(len(index)))
    if name == NODES and index.nlevels == 1 and not counts and called not in columns:
        columns = {called: column(index.to_series()), **columns}
    return HeldTable(where, name, columns)


def columns_of(frame: Plain) -> dict[str, Array]:
    """Return the columns by name, without the index."""
    return {str(key): column(frame.iloc[:, at]) for at, key in enumerate(frame.columns)}


def column(series: Plain) -> Array:
    """Return a column as NumPy keeps it; as objects, a cell without a value is None."""
    if isinstance(series.dtype, np.dtype) and series.dtype.kind in "iufbM":
        return np.asarray(series.to_numpy())
    values = series.astype(object)
    return np.asarray(values.where(series.notna(), None).to_numpy(), object)
