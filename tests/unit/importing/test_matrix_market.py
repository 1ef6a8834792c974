"""Matrix Market files that are damaged or unusual: read, or refused with the line; never the end
of the process.
"""

from __future__ import annotations

import gzip
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing import importers
from taamctl.importing.matrix_market import read_matrix

FIRST = b"%%MatrixMarket matrix coordinate pattern general\n"
GOOD = FIRST + b"% made by hand\n3 3 4\n1 2\n2 3\n3 1\n1 1\n"
ARRAY = b"%%MatrixMarket matrix array real general\n3 2\n1\n2\n3\n4.5\n5\n6e1\n"
PIECES = (b"-", b"1 ", b",", b"nan", b"inf", b"99999999999999999999", b"\n", b"%", b"\0", b"x.5")


def written(folder: Path, content: bytes, name: str = "a.mtx") -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def mutated(rng: np.random.Generator, content: bytes) -> bytes:
    """Return a file with one to three random changes: bytes, pieces, lines, its length."""
    out = bytearray(content)
    for _ in range(rng.integers(1, 4)):
        at = int(rng.integers(0, len(out) + 1))
        kind = int(rng.integers(0, 5))
        if kind == 0 and at < len(out):
            out[at] = int(rng.integers(0, 256))
        elif kind == 1:
            out[at:at] = PIECES[int(rng.integers(len(PIECES)))]
        elif kind == 2:
            del out[at : at + int(rng.integers(1, 12))]
        elif kind == 3:
            lines = bytes(out).split(b"\n")
            lines.pop(int(rng.integers(len(lines))))
            out = bytearray(b"\n".join(lines))
        else:
            out = out[:at] if rng.integers(4) == 0 else bytearray(bytes(out).swapcase())
    return bytes(out)


@pytest.mark.parametrize("seed", range(4))
def test_whatever_is_changed_it_is_read_or_refused(tmp_path: Path, seed: int) -> None:
    rng = np.random.default_rng(seed)
    outcomes = set()
    for i in range(250):
        content = mutated(rng, (GOOD, ARRAY)[i % 2])
        packed = rng.integers(5) == 0
        path = written(tmp_path, gzip.compress(content, mtime=0) if packed else content)
        try:
            read_matrix(path)
            outcomes.add("read")
        except TaamctlError:
            outcomes.add("refused")
    assert outcomes == {"read", "refused"}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (GOOD.replace(b"coordinate", b"coord"), "line 1 is .*: the format 'coord' is none of"),
        (GOOD.replace(b" general", b" generall"), "the symmetry 'generall' is none of general"),
        (GOOD.replace(b" pattern general", b""), "2 words behind the first, expected 4"),
        (GOOD.replace(b"matrix c", b"vector c"), "the object 'vector' is none of matrix"),
        (ARRAY.replace(b"real", b"pattern"), "an array has values"),
        (GOOD.replace(b"3 3 4", b"3 3"), "line 3 is '3 3', expected rows, columns and entries: 3"),
        (GOOD.replace(b"3 3 4", b"3,3,4"), "line 3 is '3,3,4', expected .* between blanks"),
        (GOOD.replace(b"3 3 4", b"3.0 3 4"), "as whole numbers from 0"),
        (GOOD.replace(b"3 3 4", b"-3 3 4"), "as whole numbers from 0"),
        (GOOD.replace(b"3 3 4", b"3 3 " + b"9" * 30), "no memory holds 9999"),
        (GOOD.replace(b"3 3 4", b"3 3 4000"), "promises 4,000 entries, but the file has"),
        (FIRST, "ends at line 1, before the line of its sizes"),
        (FIRST + b"\0\0\1", "line 2 is no text"),
        (GOOD[:-4], "cannot be read"),
        (GOOD + b"2 2\n", "cannot be read"),
        (GOOD.replace(b"3 1\n", b"3 9\n"), "cannot be read: line 6: "),
        (GOOD.replace(b"3 1\n", b"3 x\n"), "cannot be read: line 6 is '3 x', which"),
        (ARRAY.replace(b"4.5", b"4,5"), "cannot be read: line 6 is '4,5', which"),
        (ARRAY.replace(b"real", b"complex"), "holds complex numbers"),
    ],
)
def test_faults_are_named_with_their_line(tmp_path: Path, content: bytes, message: str) -> None:
    with pytest.raises(TaamctlError, match=rf"a\.mtx.*{message}") as error:
        read_matrix(written(tmp_path, content))
    assert error.value.hint
    with pytest.raises(TaamctlError, match=message):
        read_matrix(written(tmp_path, gzip.compress(content, mtime=0)))


@pytest.mark.parametrize(
    "content",
    [
        GOOD,
        gzip.compress(GOOD, mtime=0),
        GOOD.replace(b"\n", b"\r\n"),
        GOOD.replace(FIRST, FIRST.upper()),
        GOOD.replace(b"3 3 4", b"\n  3\t3  4 "),
    ],
)
def test_ways_to_write_one_matrix(tmp_path: Path, content: bytes) -> None:
    matrix, notes = read_matrix(written(tmp_path, content))
    assert sorted(zip(matrix.row.tolist(), matrix.col.tolist(), strict=True)) == [
        (0, 0),
        (0, 1),
        (1, 2),
        (2, 0),
    ]
    assert notes == ()


def test_one_percent_is_read_and_said(tmp_path: Path) -> None:
    edges = written(tmp_path, GOOD[1:], "edges.dat")
    nodes = written(tmp_path, b"id,label,a\nx,1,2\ny,2,1\nz,1,1\n", "nodes.csv")
    graph = importers.read("g", [edges, nodes], kind="mtx")
    assert graph.adjacency.nnz == 4
    assert "edges.dat: its first line starts with one %, read as %%MatrixMarket" in graph.notes


def test_an_edge_with_nan_is_refused(tmp_path: Path) -> None:
    content = FIRST.replace(b"pattern", b"real") + b"3 3 2\n2 1 1\n1 2 nan\n"
    edges = written(tmp_path, content)
    nodes = written(tmp_path, b"id,label,a\nx,1,2\ny,2,1\nz,1,1\n", "nodes.csv")
    with pytest.raises(TaamctlError, match=r"a\.mtx: the entry at row 1, column 2 is nan"):
        importers.read("g", [edges, nodes])


def test_a_bad_header_ends_in_one_line_not_in_an_abort(tmp_path: Path, support: Any) -> None:
    written(tmp_path, GOOD.replace(b"3 3 4", b"3 3"))
    written(tmp_path, b"id,label,a\nx,1,2\ny,2,1\nz,1,1\n", "nodes.csv")
    done = support.taamctl(tmp_path, "data", "import", "a.mtx", "nodes.csv", "--name", "g")
    assert done.code == 2
    assert done.err.startswith("error: a.mtx: line 3 is '3 3', expected rows, columns and entries")
