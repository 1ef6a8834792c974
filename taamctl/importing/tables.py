"""Tables as users keep them: CSV, TSV, Parquet and Arrow, or held in memory, read into named
columns; what the columns mean is decided elsewhere.
"""

from __future__ import annotations

import csv
import gzip
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import IO, Any, cast

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import MOST_COLUMNS
from taamctl.core.types import Array
from taamctl.graph import gzip_check
from taamctl.graph.raw_values import reading
from taamctl.importing import arrow_tables, guarded
from taamctl.importing.held_table import HeldTable, TableSource
from taamctl.importing.messages import shown
from taamctl.importing.table_head import delimiter_of, header, names_and_skip, read_head

_EMPTY = (
    "",
    "nan",
    "NaN",
    "NAN",
    "NA",
    "N/A",
    "n/a",
    "na",
    "null",
    "NULL",
    "None",
    "none",
    "<NA>",
    "?",
)


@dataclass(frozen=True)
class Table:
    """Columns of equal length, by name: numbers, or objects (text).

    Attributes:
        where: the file, for messages.
        columns: name -> [rows] or, for a column of lists, [rows, width].
        headed: whether the names stand in the file; else they are `column 0`, `column 1`, ...
        dropped: how many rows were left out.
    """

    where: str
    columns: dict[str, Array]
    headed: bool = True
    dropped: int = 0

    @property
    def rows(self) -> int:
        """Return the number of rows."""
        return len(next(iter(self.columns.values()))) if self.columns else 0


@contextmanager
def opened(path: Path) -> Iterator[IO[bytes]]:
    """Open a file for reading, decompressed where it is gzipped, whatever it is called.

    Raises:
        TaamctlError: missing, a folder, not readable, empty, or damaged.
    """
    require_file(path)
    with reading(str(path)):
        with path.open("rb") as plain:
            magic = plain.read(2)
        zipped = magic == b"\x1f\x8b"
        if zipped:
            gzip_check.require_room_unpacked(path)
        with cast("IO[bytes]", gzip.open(path, "rb")) if zipped else path.open("rb") as stream:
            if zipped and not stream.read(1):
                raise TaamctlError(f"{path} is empty", "check how it was written")
            stream.seek(0)
            yield stream


def require_file(path: Path) -> None:
    """Make sure that there is a file, with something in it.

    Raises:
        TaamctlError: there is none.
    """
    if path.is_dir():
        raise TaamctlError(
            f"{path} is a folder",
            "name the files in it; of folders, those are read that the page `Your own graph` lists",
        )
    if not path.exists():
        raise TaamctlError(
            f"{path} is not there", "check the spelling, and the folder that the command runs in"
        )
    with reading(str(path)):
        if not path.stat().st_size:
            raise TaamctlError(f"{path} is empty", "check how it was written")


def _refuse_twice(names: Sequence[str], path: Path) -> None:
    twice = [name for name, count in Counter(names).items() if count > 1]
    if twice:
        raise TaamctlError(
            f"{path}: two columns are called {shown(twice[0])!r}", "rename one of them"
        )


def read_table(
    path: TableSource,
    delimiter: str = "",
    has_header: Callable[[list[str]], bool] = lambda cells: True,
    numeric: Callable[[Sequence[str]], Sequence[str]] = lambda names: (),
    decimal: str = "",
) -> Table:
    """Return the columns of a table, of whatever kind.

    Args:
        delimiter: what stands between cells, or its name (tab, space, ...); empty: guessed from the
            first line.
        has_header: tells from the first line's cells whether they are names; not asked where they
            stand in a comment before it.
        numeric: chooses, among the names, the columns that are read as numbers where they hold
            nothing else.
        decimal: a comma, where decimals follow one.

    Raises:
        TaamctlError: a broken file, rows longer than the header, a name that stands twice, no row.
    """
    typed = _typed(path)
    if typed is not None:
        return typed
    path = Path(str(path))
    with opened(path) as stream:
        first = stream.read(4096)
        _refuse_binary(first, path)
        delimiter = delimiter_of(first, delimiter, decimal)
        stream.seek(0)
        head = read_head(stream, delimiter)
        if not head.cells:
            raise TaamctlError(f"{path} is empty: it has no row", "check how it was written")
        headed = bool(head.names) or has_header(head.cells)
        names, skip = names_and_skip(head, headed)
        _refuse_wide(len(names), path)
        _refuse_twice(names, path)
        stream.seek(0)
        rows = min(skip, head.lines - head.inside)  # line ends inside cells end no row
        frame = _parse(stream, delimiter, names, rows, set(numeric(names)), path, decimal)
        _refuse_short(frame[names[-1]], stream, delimiter, len(names), skip, path)
    if not len(frame):
        raise TaamctlError(f"{path} has no row below its header", "check how it was written")
    return Table(str(path), {name: frame[name].to_numpy() for name in names}, headed)


def _typed(source: TableSource, rows: bool = True) -> Table | None:
    """Return a table whose columns have names and types of their own; None for text."""
    if isinstance(source, HeldTable):
        return Table(source.where, dict(source.columns))
    if not arrow_tables.is_typed(source):
        return None
    if not source.is_dir():
        require_file(source)
    arrow_tables.require_pyarrow(source)
    about = [file.stat() for file in arrow_tables.files_of_table(source)]
    columns = _columns_of(source, tuple((each.st_size, each.st_mtime_ns) for each in about))
    table = Table(str(source), dict(columns))
    if rows and not table.rows:
        raise TaamctlError(f"{source} has no row", "check how it was written")
    return table


def peek(path: TableSource, delimiter: str = "", decimal: str = "") -> list[str]:
    """Return the cells of a table's first row: its column names, where it has them."""
    typed = _typed(path, rows=False)
    if typed is not None:
        return list(typed.columns)
    path = Path(str(path))
    with opened(path) as stream:
        first = stream.read(4096)
        _refuse_binary(first, path)
        stream.seek(0)
        delimiter = delimiter_of(first, delimiter, decimal)
        head = read_head(stream, delimiter)
        return header(head.names or head.cells)


def delimiter_in(source: TableSource, delimiter: str = "", decimal: str = "") -> str:
    """Return what stands between a text table's cells; empty for a table with types."""
    if isinstance(source, HeldTable) or arrow_tables.is_typed(source):
        return ""
    with opened(source) as stream:
        return delimiter_of(stream.read(4096), delimiter, decimal)


def first_rows(
    path: TableSource, delimiter: str = "", decimal: str = "", most: int = 100
) -> list[list[str]]:
    """Return the cells of the first rows of a text table, without comments and blank lines."""
    with opened(Path(str(path))) as stream:
        first = stream.read(1 << 16)
    kept = first.decode("utf-8-sig", "replace").splitlines()
    kept = kept[len(kept) > 0 and kept[0].lower().startswith("sep=") :]  # for spreadsheets
    lines = [line for line in kept if line.strip() and not line.startswith(("#", "%"))]
    delimiter = delimiter_of(first, delimiter, decimal)
    rows = csv.reader(lines[:most], delimiter=delimiter, skipinitialspace=delimiter == " ")
    return list(rows)


def _refuse_short(
    last: Any, stream: IO[bytes], delimiter: str, width: int, skip: int, path: Path
) -> None:
    """Refuse a row with fewer cells than the header, which the parser takes for one whose last
    cells are empty.

    Only where the last column has empty cells is the file gone through once more; between blanks
    nothing tells the two apart.
    """
    if delimiter == " " or width == 1 or not (last.isna() | (last == "")).any():
        return
    stream.seek(0)
    text = io.TextIOWrapper(stream, "utf-8-sig", newline="")
    try:
        rows = (
            cells
            for cells in csv.reader(islice(text, skip, None), delimiter=delimiter)
            if len(cells) > 1 or "".join(cells).strip()
        )
        short = next(
            ((row, len(cells)) for row, cells in enumerate(rows) if len(cells) < width), None
        )
    except csv.Error as error:
        raise ValueError(str(error)) from error
    finally:
        text.detach()
    if short is not None:
        raise TaamctlError(
            f"{path}: row {short[0]} has {short[1]} cells, but the header has {width}",
            "the file is cut off, or that row is; complete it",
        )


def _parse(
    stream: IO[bytes],
    delimiter: str,
    names: list[str],
    skip: int,
    numeric: set[str],
    path: Path,
    decimal: str,
) -> Any:
    import pandas as pd

    options: dict[str, Any] = {"sep": r"\s+"} if delimiter == " " else {"sep": delimiter}
    with warnings.catch_warnings():
        warnings.simplefilter(
            "error", pd.errors.ParserWarning
        )  # rows longer than the header would lose their ends
        warnings.simplefilter("ignore", pd.errors.DtypeWarning)
        try:
            return pd.read_csv(
                stream,
                names=names,
                header=None,
                skiprows=skip,
                index_col=False,
                encoding="utf-8-sig",
                decimal=decimal or ".",
                comment=None,
                dtype={n: object for n in names if n not in numeric},
                keep_default_na=False,
                na_values={n: list(_EMPTY) for n in numeric},
                low_memory=False,
                skip_blank_lines=len(names) > 1,
                **options,
            )
        except pd.errors.EmptyDataError:
            return pd.DataFrame({n: [] for n in names})
        except (pd.errors.ParserError, pd.errors.ParserWarning) as error:
            longer = isinstance(error, pd.errors.ParserWarning)
            reason = (
                "rows are longer"
                if longer
                else " ".join(str(error).replace("Error tokenizing data. C error:", "").split())
            )
            raise TaamctlError(
                f"{path} cannot be read: {reason}; its first row has {len(names)} cells",
                "every row has as many cells as the header; quote cells that hold the delimiter, "
                "or name it: --delimiter ';'",
            ) from error
        except UnicodeDecodeError as error:
            raise TaamctlError(
                f"{path} is no UTF-8 text: {error.reason} at byte {error.start}", "save it as UTF-8"
            ) from error


def _refuse_wide(columns: int, path: Path) -> None:
    if columns > MOST_COLUMNS:
        raise TaamctlError(
            f"{path} has {columns:,} columns; a text table may have {MOST_COLUMNS:,}",
            "save so many features as .npz or as Matrix Market, or name what stands between the "
            "cells with --delimiter",
        )


def _refuse_binary(first: bytes, path: Path) -> None:
    """Refuse what is no text: spreadsheets, archives, UTF-16."""
    if first.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise TaamctlError(
            f"{path} is UTF-16 text, expected UTF-8",
            "save it as UTF-8, in spreadsheets `CSV UTF-8`",
        )
    if first.startswith(b"PK") or b"\0" in first:
        raise TaamctlError(
            f"{path} is no text table",
            "save spreadsheets as CSV; unpack archives; --format names another format",
        )


@lru_cache(maxsize=4)  # the names of the columns are asked for before the columns
def _columns_of(path: Path, stamps: tuple[tuple[int, int], ...]) -> dict[str, Array]:
    return guarded.call("arrow_tables:columns_of", path, libraries=arrow_tables.LIBRARIES)


def forget() -> None:
    """Give up the Parquet and Arrow tables that were kept for who asks again."""
    _columns_of.cache_clear()
