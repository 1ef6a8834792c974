"""Rows of a node table all of whose cells are empty, as spreadsheets leave them where a row was
deleted: asked about, for where edges count rows, leaving one out moves all below it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from taamctl.core.types import Array
from taamctl.importing.bad_rows import bad_rows, lines_in
from taamctl.importing.options import ImportOptions
from taamctl.importing.tables import Table


def without_blank_rows(table: Table, options: ImportOptions) -> Table:
    """Return the table without such rows, where the user drops them.

    Raises:
        TaamctlError: there are some; the message names their lines.
    """
    blank = np.ones(table.rows, bool)
    for column in table.columns.values():
        blank &= empty_cells(column)
        if not blank.any():
            return table
    count = int(blank.sum())
    if options.bad_rows == "drop" and count < table.rows:
        kept = {name: column[~blank] for name, column in table.columns.items()}
        return replace(table, columns=kept, dropped=count)
    error = bad_rows(
        f"{table.where}: {count:,} rows have empty cells only, the first is row "
        f"{int(blank.argmax())}",
        "delete them, or leave them out with --bad-rows drop; rows are counted from 0 without them "
        "then",
        blank,
    )
    raise lines_in(table, options.delimiter)(error)


def empty_cells(column: Array) -> Array:
    """Return which cells of a column are empty, [rows] bool."""
    if column.ndim > 1:
        return np.zeros(len(column), bool)
    if column.dtype.kind == "f":
        return np.isnan(column)
    if column.dtype.kind != "O":
        return np.zeros(len(column), bool)
    return np.array([v is None or v != v or not str(v).strip() for v in column.tolist()], bool)
