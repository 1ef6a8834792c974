"""Every error that the sources can raise says what is wrong, where, and what to do about it."""

from __future__ import annotations

import ast
import builtins
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from taamctl.cli import exit_codes
from taamctl.core.errors import TaamctlError

ROOT = Path(__file__).resolve().parents[2]
SOURCES = sorted([*(ROOT / "taamctl").rglob("*.py"), *(ROOT / "stages").glob("*.py")])
# A place without a value: an option, a parameter, a verb.
PLACE = re.compile(r"--[a-z]|\b[a-z_]+\.[a-z_]{2,}|\btaamctl [a-z]")
# Messages whose place is the call, the machine or the whole of what was given: no value tells more.
WHOLE = {
    "Parquet needs pyarrow, which is not installed",
    "a Data of PyG needs torch_geometric, which is not installed",
    "prototypes choose a task, not a class",
    "name one graph",
    "no outputs and no data in this folder",
    "this machine is big-endian; taamctl and its artefacts are little-endian only",
    "this Python is a 32-bit one, whose arrays end at 2 GiB",
    "the features have fewer values than they had a moment ago",
    "the features have more values than they had a moment ago",
    "no file to import is named",
    "a scratch file ended early",
    "no node of any class is given to test, so nothing would be measured",
}
# Python's own exceptions that are raised on purpose, and who meets them.
OWN = {
    "taamctl/__init__.py": {"AttributeError"},  # what a module without such a name has to raise
    "taamctl/audit/isolated.py": {"KeyboardInterrupt"},  # Ctrl-C, handed on by a child
    "taamctl/core/blas_buffers.py": {"MemoryError"},  # told as "out of memory", as NumPy's is
    "taamctl/graph/dgl_adapter.py": {"ValueError"},  # caught by its reader: bytes are no graph
    "taamctl/graph/ogb_adapter.py": {"ValueError"},  # the same
    "taamctl/graph/npz_check.py": {"ValueError"},  # the same
    "taamctl/graph/pickle_check.py": {"ValueError"},  # the same
    "taamctl/graph/pickled_arrays.py": {"ValueError"},  # the same
    "taamctl/graph/planetoid.py": {"ValueError"},  # the same
    "taamctl/graph/raw_values.py": {"ValueError"},  # the same
    "taamctl/importing/h5ad_elements.py": {"ValueError"},  # the same
    "taamctl/importing/torch_file.py": {"ValueError"},  # the same
    "taamctl/store/artefacts.py": {"OSError", "TypeError", "ValueError"},  # caught beside it
    "taamctl/importing/cells.py": {"ValueError"},  # caught beside it: a cell is no number
    "taamctl/importing/table_head.py": {"ValueError"},  # caught by who reads tables
    "taamctl/importing/tables.py": {"ValueError"},  # the same
    "taamctl/importing/vectors.py": {"ValueError"},  # caught beside it: a cell is no vector
    "taamctl/params/binding.py": {"ValueError"},  # caught beside it: a value of another type
    "taamctl/pipeline/project.py": {"RuntimeError"},  # a fault of ours
    "taamctl/runtime/reached_code.py": {"RuntimeError"},  # a broken installation
    "taamctl/cli/app.py": {"AttributeError"},  # as Python asks of a module's __getattr__
    "taamctl/core/late_torch.py": {"AttributeError"},  # the same of an object's
    "taamctl/store/atomic_files.py": {
        "ValueError"
    },  # caught beside it: a number that is not finite
    "taamctl/store/artefact_writer.py": {"ValueError"},  # a fault of who writes an artefact
    "taamctl/store/sink.py": {"KeyboardInterrupt"},  # Ctrl-C, held back while HDF5 writes
    "taamctl/testing/edge_checks.py": {"AssertionError"},  # a check of a plug-in's own tests
    "taamctl/testing/toy_stream.py": {"AssertionError"},  # a check of a plug-in's own tests
}


def trees() -> dict[str, ast.Module]:
    return {
        path.relative_to(ROOT).as_posix(): ast.parse(path.read_text(encoding="utf-8"))
        for path in SOURCES
    }


TREES = trees()


def kinds() -> set[str]:
    """Return the names of TaamctlError and of what derives from it."""
    found, before = {TaamctlError.__name__}, set[str]()
    while found != before:
        before = set(found)
        for tree in TREES.values():
            for node in ast.walk(tree):
                if isinstance(node, ast.ClassDef):
                    bases = {getattr(base, "id", "") for base in node.bases}
                    found |= {node.name} if bases & found else set()
    return found


KINDS = kinds()


def calls(tree: ast.AST) -> Iterator[ast.Call]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in KINDS:
            yield node


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    if len(call.args) > position:
        return call.args[position]
    return next((word.value for word in call.keywords if word.arg == name), None)


def may_be_empty(node: ast.expr | None, tree: ast.AST) -> bool:
    """Tell whether an expression can be an empty text, as far as the source shows."""
    if isinstance(node, ast.Constant):
        return not node.value
    if isinstance(node, ast.IfExp):
        return may_be_empty(node.body, tree) or may_be_empty(node.orelse, tree)
    if isinstance(node, ast.Name):
        given = [
            other.value
            for other in ast.walk(tree)
            if isinstance(other, ast.Assign)
            and any(getattr(target, "id", "") == node.id for target in other.targets)
        ]
        return any(may_be_empty(value, tree) for value in given if not isinstance(value, ast.Name))
    return node is None


def has_place(message: ast.expr | None) -> bool:
    if isinstance(message, ast.Constant):
        text = str(message.value)
        return text in WHOLE or PLACE.search(text) is not None
    if isinstance(message, ast.JoinedStr):
        return any(isinstance(part, ast.FormattedValue) for part in message.values)
    return message is not None  # made elsewhere, of values


@pytest.mark.parametrize("file", TREES)
def test_every_error_says_where_and_what_to_do(file: str) -> None:
    tree = TREES[file]
    for call in calls(tree):
        where = f"{file}:{call.lineno}"
        assert has_place(argument(call, 0, "message")), f"{where}: the message names no place"
        assert not may_be_empty(argument(call, 1, "hint"), tree), f"{where}: there is no hint"


def test_all_raise_sites_are_seen() -> None:
    """A guard on the walk itself: it finds errors and their kinds, and what is missing in them."""
    assert {"TaamctlError", "Unclear", "OverBudget", "BadRows"} <= KINDS
    assert sum(len(list(calls(tree))) for tree in TREES.values()) > 400
    bad = ast.parse('hint = "x" if near else ""\nTaamctlError("it is wrong", hint)')
    (call,) = calls(bad)
    assert not has_place(argument(call, 0, "message"))
    assert may_be_empty(argument(call, 1, "hint"), bad)
    assert may_be_empty(None, bad)
    used = {
        str(message.value)
        for tree in TREES.values()
        for call in calls(tree)
        if isinstance(message := argument(call, 0, "message"), ast.Constant)
    }
    assert used >= WHOLE, "what is not said any more leaves the list"


def raised(tree: ast.AST) -> Iterator[str]:
    """Yield the names of Python's own exceptions that are raised here."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Raise) and node.exc is not None:
            made = node.exc.func if isinstance(node.exc, ast.Call) else node.exc
            name = getattr(made, "id", "")
            known = getattr(builtins, name, None)
            if isinstance(known, type) and issubclass(known, BaseException):
                yield name


@pytest.mark.parametrize("file", TREES)
def test_no_exception_of_pythons_own_reaches_a_user(file: str) -> None:
    assert set(raised(TREES[file])) == OWN.get(file, set()), f"{file}: raise a TaamctlError"


def test_a_library_that_finds_no_memory_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    full = ImportError("core.so: failed to map segment from shared object")
    assert exit_codes.code_of(full) == exit_codes.BROKEN
    said = capsys.readouterr().err
    assert said.startswith("error: out of memory\nhint: ")
    with pytest.raises(ImportError, match="no module"):
        exit_codes.code_of(ImportError("no module called x"))


@pytest.mark.skipif(os.name == "nt", reason="limits of handles")
@pytest.mark.parametrize("number", [1, 2])
def test_output_is_dropped_where_no_handle_is_left(number: int) -> None:
    code = (
        "import resource, sys; from taamctl.cli import exit_codes\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (3, 3))\n"
        f"exit_codes._send_nowhere({number}); print('out'); print('err', file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = {1: ("", "err\n"), 2: ("out\n", "")}[number]
    assert (done.returncode, done.stdout, done.stderr) == (0, *said)
