"""The other side of `guarded`: call one function on one file, and write what it returns.

A process of its own runs this. What it may take of memory and time is limited before the file is
opened, but after the libraries are there that the function needs.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array

if TYPE_CHECKING:
    import scipy.sparse as sp

ANSWER = "answer.json"
SPARSE = ("data", "indices", "indptr")


def main(folder: str, function: str, path: str, libraries: str, memory: int, seconds: int) -> None:
    """Call a function and write what it returns, or why it failed.

    Args:
        folder: where to.
        function: such as `module:name` of this package; it takes the path of the file, and returns
            a mapping of arrays, sparse matrices and plain values.
        path: the file. libraries: what is imported first, between commas.
        memory: bytes beyond what is mapped then. seconds: of the processor.
    """
    into = Path(folder)
    try:
        for library in filter(None, libraries.split(",")):
            _import(library)
        module, name = function.split(":")
        call = getattr(importlib.import_module(f"taamctl.importing.{module}"), name)
        limit(memory, seconds)
        answer = written(into, call(Path(path)))
    except TaamctlError as error:
        answer = {"message": error.message, "hint": error.hint}
    except MemoryError:
        answer = {"fault": "there is no memory for what it says it holds"}
    except Exception as error:
        answer = {"fault": " ".join(str(error).split()) or type(error).__name__}
    (into / ANSWER).write_text(json.dumps(answer, default=str), encoding="utf-8", newline="\n")


def _import(library: str) -> None:
    """Import a library; where it is missing, the function itself says so."""
    try:
        importlib.import_module(library)
    except ImportError:
        return


def limit(memory: int, seconds: int) -> None:
    """Limit this process, on a system that can."""
    try:
        import resource
    except ImportError:  # Windows
        return
    import psutil

    wanted = {
        resource.RLIMIT_AS: int(psutil.Process().memory_info().vms) + memory,
        resource.RLIMIT_CPU: seconds + int(sum(resource.getrusage(resource.RUSAGE_SELF)[:2])),
        resource.RLIMIT_CORE: 0,
    }
    for which, most in wanted.items():
        _, hard = resource.getrlimit(which)
        if hard != resource.RLIM_INFINITY:
            most = min(most, hard)
        resource.setrlimit(which, (most, hard))


def written(into: Path, found: Mapping[str, Plain]) -> dict[str, Plain]:
    """Write arrays as files of their own; return what stands for every value."""
    parts: dict[str, Plain] = {}
    for at, (name, value) in enumerate(found.items()):
        if hasattr(value, "tocsc"):
            parts[name] = _sparse(into, at, value.tocsc())
        elif isinstance(value, np.ndarray) and value.dtype.kind == "O":
            parts[name] = _objects(into, at, value)
        elif isinstance(value, np.ndarray):
            np.save(into / f"{at}.npy", value, allow_pickle=False)
            parts[name] = {"dense": at}
        else:
            parts[name] = {"plain": value}
    return {"parts": parts}


def _sparse(into: Path, at: int, matrix: sp.csc_matrix) -> dict[str, Plain]:
    matrix.check_format(full_check=True)
    for part in SPARSE:
        np.save(into / f"{at}-{part}.npy", getattr(matrix, part), allow_pickle=False)
    return {"sparse": at, "shape": [int(size) for size in matrix.shape]}


def _objects(into: Path, at: int, column: Array) -> dict[str, Plain]:
    """Write a column of text, or of anything else as JSON has it."""
    values = [
        value.decode("utf-8", "replace") if isinstance(value, bytes) else value
        for value in column.tolist()
    ]
    if not all(value is None or isinstance(value, str) for value in values):
        return {"plain": values, "column": True}
    spelled = [b"" if value is None else value.encode("utf-8", "replace") for value in values]
    ends = np.cumsum(np.fromiter(map(len, spelled), np.int64, len(spelled)))
    np.save(into / f"{at}-text.npy", np.frombuffer(b"".join(spelled), np.uint8))
    np.save(into / f"{at}-ends.npy", ends)
    np.save(into / f"{at}-none.npy", np.array([value is None for value in values], bool))
    return {"text": at}
