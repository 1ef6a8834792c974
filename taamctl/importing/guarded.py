"""Run a parser that is written in C or C++ where it can harm nothing: in a process of its own, with
limits of memory and time that grow with the file.

What it finds comes back as files of plain arrays, never as a pickle.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import child_memory, child_seconds
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.graph.raw_values import reading, require_text
from taamctl.importing.guarded_child import ANSWER, SPARSE
from taamctl.importing.messages import shown

_CALL = (
    "import sys; from taamctl.importing.guarded_child import main; "
    "main(*sys.argv[1:5], *map(int, sys.argv[5:]))"
)
_ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MALLOC_ARENA_MAX": "2"}
HINT = "the file is truncated or not what its name says; write it again"


def call(function: str, path: Path, hint: str = HINT, libraries: str = "") -> dict[str, Plain]:
    """Return what a function of this package returns for a file.

    Args:
        function: `module:name`; takes the path, and returns a mapping of arrays, sparse matrices
            and plain values.
        hint: what to do where the file is damaged.
        libraries: what the function imports, between commas: it counts as no memory of the file.

    Raises:
        TaamctlError: what the function raises, or that its process ended, took too long, or needed
            more memory than a file of this size may.
    """
    with tempfile.TemporaryDirectory(prefix="taamctl-") as folder:
        with reading(str(path)):
            size = _size(path)
            limits = (child_memory(size), child_seconds(size))
            ended = _launch([folder, function, str(path), libraries, *map(str, limits)], limits[1])
            answer = _answer(Path(folder))
        if answer is None:
            answer = {"fault": ended}
        if "fault" in answer:
            raise TaamctlError(f"{path} cannot be read: {shown(answer['fault'], 200)}", hint)
        if "message" in answer:
            raise TaamctlError(answer["message"], answer["hint"])
        with reading(str(path)):
            return {name: _part(Path(folder), part) for name, part in answer["parts"].items()}


def _size(path: Path) -> int:
    """Return the bytes of a file, or of all files in a folder."""
    if not path.is_dir():
        return path.stat().st_size
    return sum(file.stat().st_size for file in path.iterdir() if file.is_file())


def _launch(arguments: list[str], seconds: int) -> str:
    """Run the child to its end; return how it ended, in words."""
    command = [sys.executable, "-P", "-c", _CALL, *arguments]
    try:
        done = subprocess.run(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, **_ONE_THREAD},
            timeout=seconds,
            check=False,
        )
    except subprocess.TimeoutExpired:
        return f"its parser has not come to an end in {seconds:,} s"
    return how_it_ended(done.returncode)


def how_it_ended(code: int) -> str:
    """Return in words what an exit code of the child means."""
    if code < 0:
        return f"its parser stopped (signal {-code})"
    return f"its parser stopped (exit code {code})"


def _answer(folder: Path) -> dict[str, Plain] | None:
    """Return what the child said; None where it ended before."""
    if not (folder / ANSWER).is_file():
        return None
    made: dict[str, Plain] = json.loads((folder / ANSWER).read_text(encoding="utf-8"))
    return made


def _part(folder: Path, part: Plain) -> Plain:
    """Return a value that the child wrote."""
    if "dense" in part:
        return require_text(_array(folder, str(part["dense"])))
    if "text" in part:
        return _text(folder, part["text"])
    if "sparse" in part:
        import scipy.sparse as sp

        arrays = tuple(_array(folder, f"{part['sparse']}-{name}") for name in SPARSE)
        return sp.csc_matrix(arrays, shape=tuple(part["shape"]))
    if "column" in part:
        return np.array([*part["plain"], None], object)[:-1]
    return part["plain"]


def _array(folder: Path, name: str) -> Array:
    made: Array = np.load(folder / f"{name}.npy", allow_pickle=False)
    return made


def _text(folder: Path, at: int) -> Array:
    """Return a column of text, None where nothing stands."""
    joined, ends = _array(folder, f"{at}-text").tobytes(), _array(folder, f"{at}-ends").tolist()
    column = np.empty(len(ends), object)
    begin = 0
    for row, end in enumerate(ends):
        column[row] = joined[begin:end].decode("utf-8")
        begin = end
    column[_array(folder, f"{at}-none")] = None
    return column
