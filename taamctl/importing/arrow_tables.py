"""Parquet and Arrow tables, each one file or a folder of parts, read by pyarrow."""

from __future__ import annotations

import importlib
import importlib.util
import re
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.graph.raw_values import reading
from taamctl.importing.python_values import column_of
from taamctl.importing.table_room import require_room

PARQUET = (".parquet", ".pq")
ARROW = (".arrow", ".feather", ".ipc")
TYPED = (*PARQUET, *ARROW)
LIBRARIES = "pyarrow.parquet,pyarrow.ipc,pyarrow.feather"
_FILE_FORMAT = (b"ARROW1", b"FEA1")  # first bytes; the stream format has none


def is_typed(path: Path) -> bool:
    """Tell whether a path is such a table, or a folder that holds parts of one and no folder."""
    if path.is_dir():
        return bool(parts_of(path))
    return path.suffix.lower() in TYPED


def parts_of(folder: Path) -> list[Path]:
    """Return the parts of a table in a folder, part 2 before part 10; what begins with a dot or an
    underscore is none.
    """
    found = [
        path
        for path in folder.iterdir()
        if path.suffix.lower() in TYPED and path.name[0] not in "._" and path.is_file()
    ]
    return sorted(found, key=lambda path: _natural(path.name))


def files_of_table(path: Path) -> list[Path]:
    """Return the files of a table: itself, or its parts."""
    return parts_of(path) if path.is_dir() else [path]


def _natural(name: str) -> list[tuple[int, str]]:
    return [(int(m or -1), text) for m, text in re.findall(r"(\d+)|(\D+)", name)]


def columns_of(path: Path) -> dict[str, Array]:
    """Return the columns by name: numbers, objects, or for lists of equal length [rows, width].

    The guarded process calls it: pyarrow goes by whatever stands in a file.

    Args:
        path: a file, or a folder of parts.

    Raises:
        TaamctlError: pyarrow is missing; a damaged file, parts of different columns, a name that
            stands twice.
    """
    pyarrow = _pyarrow(path)
    files = files_of_table(path)
    parts = [_table(file, pyarrow) for file in files]
    with reading(str(path)):
        _require_same_columns(files, [part.column_names for part in parts])
        table = pyarrow.concat_tables(parts, promote_options="permissive")
        table.validate(full=True)  # else offsets of a damaged file lead out of memory
        twice = [name for name in table.column_names if table.column_names.count(name) > 1]
        if twice:
            raise TaamctlError(f"{path}: two columns are called {twice[0]!r}", "rename one of them")
        return {name: _column(path, name, table.column(name)) for name in table.column_names}


def require_pyarrow(path: Path) -> None:
    """Make sure that pyarrow is there, before a process is started that imports it.

    Raises:
        TaamctlError: it is not.
    """
    if importlib.util.find_spec("pyarrow") is None:
        raise TaamctlError(
            f"reading {path} needs the package pyarrow, which is missing",
            "pip install 'taamctl[parquet]', or save the table as CSV",
        )


def _pyarrow(path: Path) -> Plain:
    require_pyarrow(path)
    for module in ("parquet", "ipc", "feather"):
        importlib.import_module(f"pyarrow.{module}")
    return importlib.import_module("pyarrow")


def _table(path: Path, pyarrow: Plain) -> Plain:
    """Return what one file holds."""
    with reading(str(path)):
        if path.suffix.lower() in PARQUET:
            return _of_parquet(path, pyarrow)
        with path.open("rb") as stream:
            in_file_format = stream.read(6).startswith(_FILE_FORMAT)
        if in_file_format:
            return pyarrow.feather.read_table(path, memory_map=False)
        with pyarrow.ipc.open_stream(path) as stream:
            return stream.read_all()


def _of_parquet(path: Path, pyarrow: Plain) -> Plain:
    with pyarrow.parquet.ParquetFile(path) as file:  # no folder of partitions, whatever it is in
        require_room(file.metadata.num_rows, file.metadata.num_columns, str(path))
        return file.read()


def _require_same_columns(files: Sequence[Path], names: Sequence[Sequence[str]]) -> None:
    """Refuse parts that do not have the same columns."""
    for file, own in zip(files, names, strict=True):
        if set(own) != set(names[0]):
            different = sorted(set(own) ^ set(names[0]))
            raise TaamctlError(
                f"{file} has not the columns of {files[0].name}: {', '.join(different[:3])}",
                "parts of one table have the same columns; name the files of nodes and of edges "
                "apart",
            )


def _column(path: Path, name: str, column: Plain) -> Array:
    """Return a column of an Arrow table; lists of equal length become rows of a matrix."""
    import pyarrow as pa

    kind, of = column.type, pa.types
    if any(test(kind) for test in (of.is_list, of.is_large_list, of.is_fixed_size_list)):
        return _matrix_of_lists(path, name, column.to_pylist())
    if pa.types.is_decimal(kind):
        column = column.cast(pa.float64())
    elif pa.types.is_dictionary(kind):
        column = column.cast(kind.value_type)
    elif pa.types.is_integer(kind) and column.null_count:
        return column_of(column.to_pylist())  # as floats, large ids would collide
    return _flat(column)


def _flat(column: Plain) -> Array:
    """Return a column of numbers or text. Arrow's own way to NumPy imports pandas, which takes
    longer than a small table: it is the last one.
    """
    import pyarrow as pa

    kind, of = column.type, pa.types
    number = of.is_integer(kind) or of.is_floating(kind)
    if number and not column.null_count and len(column):
        return np.concatenate([np.from_dlpack(chunk) for chunk in column.chunks if len(chunk)])
    if of.is_string(kind) or of.is_large_string(kind):
        return np.array([*column.to_pylist(), None], object)[:-1]
    return np.array(column.to_numpy())


def _matrix_of_lists(path: Path, name: str, rows: list[list[float] | None]) -> Array:
    widths = {len(row) for row in rows if row is not None}
    if rows and (len(widths) != 1 or None in rows):
        raise TaamctlError(
            f"{path}: the lists in column {name!r} have different lengths",
            "a column of lists holds equally many numbers in every row",
        )
    return np.array(rows)
