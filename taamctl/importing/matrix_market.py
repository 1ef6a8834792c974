"""The text format of Matrix Market: every line is looked at here before the parser, written in
C++, sees the file. What that one cannot take may end the whole process, and it passes over what
stands behind a number, so that `4,5` would be 4.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import require_memory
from taamctl.importing.messages import shown
from taamctl.importing.tables import opened

if TYPE_CHECKING:
    import scipy.sparse as sp

_BANNER = re.compile(rb"\s*%{1,2}matrixmarket\b", re.IGNORECASE)
_RIGHT = "%%MatrixMarket matrix coordinate pattern general"
_WORDS = (  # the words behind the banner, in their order
    ("object", ("matrix",)),
    ("format", ("coordinate", "array")),
    ("field", ("real", "double", "integer", "unsigned-integer", "pattern", "complex")),
    ("symmetry", ("general", "symmetric", "skew-symmetric", "hermitian")),
)
_SIZES = {"coordinate": "rows, columns and entries", "array": "rows and columns"}
_LONGEST = 1 << 16  # bytes of a line before the entries; what is longer is no such file
_CHUNK = 1 << 20  # bytes that are looked at at once
_REAL = rb"[+-]?(?:\d++(?:\.\d*+)?+|\.\d++)(?:[eE][+-]?\d++)?+|[+-]?(?i:nan|inf(?:inity)?)"
_VALUE = {"real": _REAL, "double": _REAL, "integer": rb"[+-]?\d++", "unsigned-integer": rb"\d++"}
MOST = 1 << 40  # rows or columns: more have no room in any memory
_FAULTS = (ValueError, OverflowError, OSError, EOFError, MemoryError, RuntimeError, TypeError)


@dataclass(frozen=True)
class Header:
    """What stands before the entries.

    Attributes:
        words: object, format, field and symmetry, in lower case.
        banner: the first line's first word.
        sizes: rows and columns, and of the coordinate format the number of entries.
        line: the number of the line of sizes, from 1.
        end: the byte behind it.
    """

    words: tuple[str, ...]
    banner: str
    sizes: tuple[int, ...]
    line: int
    end: int

    @property
    def first_line(self) -> bytes:
        """Return the first line as the parser takes it."""
        return " ".join(("%%MatrixMarket", *self.words)).encode() + b"\n"


def is_matrix(path: Path) -> bool:
    """Tell whether a file starts as Matrix Market does, with one % or two."""
    with opened(path) as stream:
        return bool(_BANNER.match(stream.read(64)))


def read_matrix(path: Path) -> tuple[sp.coo_matrix, tuple[str, ...]]:
    """Return a file as a sparse matrix, entries that stand twice as two; and what was unusual.

    Raises:
        TaamctlError: a damaged file, or complex numbers; the message names the line.
    """
    with opened(path) as stream:
        header = read_header(stream, path)
        if header.words[2] == "complex":
            raise TaamctlError(f"{path} holds complex numbers", "features and edges are real")
        size = header.end + _check_entries(stream, header, path)
        _require_room(header, size, path)
        require_memory(8 * max(header.sizes[:2]), str(path), "a number for each row or column")
        stream.seek(0)
        content = _copy(stream, path, header, size)
    notes: tuple[str, ...] = ()
    if not header.banner.startswith("%%"):
        notes = (f"{path}: its first line starts with one %, read as %%MatrixMarket",)
    return _parsed(content or path, header, path), notes


def _check_entries(stream: IO[bytes], header: Header, path: Path) -> int:
    """Return how many bytes the entries take, after a look at every line.

    Raises:
        TaamctlError: a line that is neither blank nor an entry.
    """
    value = _VALUE.get(header.words[2], b"")
    entry = value
    if header.words[1] == "coordinate":
        entry = rb"\d++[ \t]++\d++" + (rb"[ \t]++(?:" + value + rb")" if value else b"")
    lines = re.compile(rb"(?:[ \t]*+(?:" + entry + rb")?+[ \t]*+(?:\r?\n|\Z))*+")
    number, size, rest = header.line, 0, b""
    while chunk := stream.read(_CHUNK):
        size += len(chunk)
        whole, newline, rest = (rest + chunk).rpartition(b"\n")
        if len(rest) > _LONGEST:
            newline, rest = newline + rest, b""
        number = _check_lines(lines, whole + newline, number, header, path)
    _check_lines(lines, rest, number, header, path)
    return size


def _check_lines(
    lines: re.Pattern[bytes], text: bytes, number: int, header: Header, path: Path
) -> int:
    """Return the number of the last line of a text, of which all are entries or blank."""
    match = lines.match(text)
    end = match.end() if match else 0
    if end < len(text):
        begin = text.rfind(b"\n", 0, end + 1) + 1
        number += text.count(b"\n", 0, begin) + 1
        line = text[begin : begin + _LONGEST].split(b"\n")[0].decode("utf-8", "replace")
        raise TaamctlError(
            f"{path} cannot be read: line {number} is {shown(line)!r}, which is no entry",
            f"mend that line: an entry is {_form(header)}",
        )
    return number + text.count(b"\n")


def _form(header: Header) -> str:
    """Return what an entry is."""
    kind = {"integer": "whole number", "pattern": ""}.get(header.words[2], "number such as 4.5")
    if header.words[1] == "array":
        return f"one {kind} a line, column by column"
    rows, columns, _ = header.sizes
    third = f" and a {kind}" if kind else ""
    return f"row (1 to {rows:,}), column (1 to {columns:,}){third}, between blanks"


def _copy(stream: IO[bytes], path: Path, header: Header, size: int) -> IO[bytes] | None:
    """Return the file as the parser takes it; None where it can read the file itself.

    It never gets a Python stream on a file, since one that fails would end the process; nor a file
    without a line end at its end, behind which it would read on.
    """
    first = stream.readline()
    stream.seek(size - 1)
    ended = stream.read(1) == b"\n"
    packed = not isinstance(stream, io.BufferedReader) or path.suffix.lower() in (".gz", ".bz2")
    if first == header.first_line and ended and not packed:
        return None
    stream.seek(len(first))
    return io.BytesIO(header.first_line + stream.read() + b"\n")


def _parsed(content: IO[bytes] | Path, header: Header, path: Path) -> sp.coo_matrix:
    from scipy.io import mmread
    from scipy.sparse import coo_matrix

    try:
        made = mmread(content)
    except _FAULTS as error:
        raise _fault(error, header, path) from error
    return coo_matrix(made)


def _fault(error: Exception, header: Header, path: Path) -> TaamctlError:
    """Return what the parser says of the entries, with the line as an editor counts it."""
    reason = " ".join(str(error).split()) or type(error).__name__
    reason = re.sub(r"^Line (\d+): ", r"line \1: ", reason)
    rows, columns, *entries = header.sizes
    count = entries[0] if entries else rows * columns
    return TaamctlError(
        f"{path} cannot be read: {shown(reason, 200)}",
        f"line {header.line} promises {count:,} entries, each {_form(header)}; mend the file, or "
        "write it again",
    )


def read_header(stream: IO[bytes], path: Path) -> Header:
    """Return what stands before the entries.

    Raises:
        TaamctlError: it is not what Matrix Market writes; the message names line, words and what
            is right.
    """
    first = _line(stream, path, 1)
    banner, *words = first.split()
    _require_words(tuple(word.lower() for word in words), path, first)
    kept = tuple(word.lower() for word in words)
    number, text = 1, "%"
    while not text or text.startswith("%"):
        number += 1
        text = _line(stream, path, number)
    return Header(kept, banner, _sizes(text, kept[1], path, number), number, stream.tell())


def _line(stream: IO[bytes], path: Path, number: int) -> str:
    raw = stream.readline(_LONGEST)
    if not raw and number > 1:
        raise TaamctlError(
            f"{path} ends at line {number - 1}, before the line of its sizes",
            "the file is truncated; write it again",
        )
    if b"\0" in raw or len(raw) == _LONGEST:
        raise TaamctlError(
            f"{path}: line {number} is no text", "the file is damaged; write it again"
        )
    return raw.decode("utf-8", "replace").strip()


def _require_words(words: tuple[str, ...], path: Path, line: str) -> None:
    where = f"{path}: line 1 is {shown(line)!r}"
    for (what, known), word in zip(_WORDS, words, strict=False):
        if word not in known:
            raise TaamctlError(
                f"{where}: the {what} {shown(word)!r} is none of {', '.join(known)}",
                f"mend line 1; usual for edges is: {_RIGHT}",
            )
    if len(words) != len(_WORDS):
        raise TaamctlError(
            f"{where}: {len(words)} words behind the first, expected {len(_WORDS)}: object, "
            "format, field and symmetry",
            f"mend line 1; usual for edges is: {_RIGHT}",
        )
    if words[1] == "array" and words[2] == "pattern":
        raise TaamctlError(
            f"{where}: an array has values, so its field cannot be pattern",
            "mend line 1; usual for features is: %%MatrixMarket matrix array real general",
        )


def _sizes(text: str, kind: str, path: Path, number: int) -> tuple[int, ...]:
    cells, expected = text.split(), _SIZES[kind]
    where = f"{path}: line {number} is {shown(text)!r}, expected {expected}"
    count = 3 if kind == "coordinate" else 2
    hint = f"mend line {number}, such as: {' '.join(('48', '48', '232')[:count])}"
    if not all(re.fullmatch(r"[0-9]+", cell) for cell in cells):
        raise TaamctlError(f"{where} as whole numbers from 0, between blanks", hint)
    if len(cells) != count:
        raise TaamctlError(f"{where}: {count} whole numbers", hint)
    sizes = tuple(int(cell[:40]) for cell in cells)
    if max(sizes) >= MOST:
        raise TaamctlError(f"{where}; no memory holds {shown(max(cells, key=len))}", hint)
    return sizes


def _require_room(header: Header, size: int, path: Path) -> None:
    """Refuse more entries than the file's bytes can spell."""
    rows, columns, *entries = header.sizes
    least = 4  # bytes of an entry: 1 1\n
    if not entries:
        least, entries = 2, [rows * columns]
        if header.words[3] != "general":
            entries = [rows * (rows - 1) // 2]
    elif header.words[2] != "pattern":
        least = 6
    if entries[0] * least > size - header.end + 1:
        raise TaamctlError(
            f"{path} cannot be read: line {header.line} promises {entries[0]:,} entries, but the "
            f"file has {size:,} bytes",
            "the file is truncated, or that line is wrong; write it again",
        )


def refuse_nan(matrix: sp.coo_matrix, path: Path) -> None:
    """Refuse edges whose weight is no number: nothing tells whether they are there.

    Raises:
        TaamctlError: there is one; the message names the entry as the file spells it.
    """
    wrong = np.flatnonzero(~np.isfinite(matrix.data))
    if len(wrong):
        at = int(wrong[0])
        raise TaamctlError(
            f"{path}: the entry at row {matrix.row[at] + 1}, column {matrix.col[at] + 1} is "
            f"{matrix.data[at]}, so nothing tells whether there is an edge",
            "an edge has a number, 1 for instance; leave out the lines of those that are none",
        )
