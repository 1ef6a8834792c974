"""What the sources and pyproject.toml say of systems, Pythons and versions, read from both."""

from __future__ import annotations

import ast
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
SOURCES = sorted([*(ROOT / "taamctl").rglob("*.py"), *(ROOT / "stages").glob("*.py")])
MODULES = "fcntl grp pwd resource syslog termios tty pty posix msvcrt winreg _winapi"
# what Python for Windows has not, or only Python for Windows has
CALLS = {
    "os": """
        preadv pwritev pread pwrite posix_fadvise posix_fallocate posix_spawn O_DIRECTORY O_CLOEXEC
        O_NOFOLLOW O_DIRECT O_NONBLOCK O_SYNC O_BINARY sched_getaffinity sched_setaffinity fork
        forkpty killpg setsid setpgid getpgid wait3 wait4 WNOHANG mkfifo mknod getuid geteuid getgid
        getegid getgroups statvfs fstatvfs getloadavg sysconf pathconf uname chown lchown fchown
        fchmod fchdir sync fdatasync nice getpriority sendfile ctermid openpty register_at_fork
        confstr startfile eventfd memfd_create pipe2 copy_file_range setxattr getxattr chroot
    """,
    "signal": """
        SIGKILL SIGHUP SIGQUIT SIGUSR1 SIGUSR2 SIGALRM SIGCHLD SIGPIPE SIGSTOP SIGCONT SIG_BLOCK
        SIG_UNBLOCK SIG_SETMASK pthread_sigmask pthread_kill sigwait alarm setitimer siginterrupt
    """,
}
# `write_text` into what `atomic_files.atomic` yields, without saying how lines end
OPEN_LINES = {"taamctl/audit/isolated.py"}


def nodes(path: Path) -> list[ast.AST]:
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def imported(node: ast.AST) -> set[str]:
    if isinstance(node, ast.Import):
        return {alias.name for alias in node.names}
    return {node.module or ""} if isinstance(node, ast.ImportFrom) else set()


def asks(function: ast.AST) -> bool:
    """Tell whether a function asks `hasattr` of os or signal."""
    return any(
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "hasattr"
        and isinstance(node.args[0], ast.Name)
        and node.args[0].id in CALLS
        for node in ast.walk(function)
    )


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_what_only_some_systems_have_has_another_way(path: Path) -> None:
    every = nodes(path)
    guarded = [
        node
        for attempt in every
        if isinstance(attempt, ast.Try)
        and any(getattr(h.type, "id", "") == "ImportError" for h in attempt.handlers)
        for statement in attempt.body
        for node in ast.walk(statement)
    ]
    loose = [
        node for node in every if imported(node) & set(MODULES.split()) and node not in guarded
    ]
    assert not loose, f"line {loose[0].lineno}: a module that one system lacks"  # type: ignore[attr-defined]
    fine = {
        node
        for function in every
        if isinstance(function, ast.FunctionDef) and asks(function)
        for node in ast.walk(function)
    }
    for node in every:
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            lacking = node.attr in CALLS.get(node.value.id, "").split()
            assert not lacking or node in fine, f"line {node.lineno}: Windows has no {node.attr}"


@pytest.mark.parametrize("path", SOURCES, ids=lambda p: str(p.relative_to(ROOT)))
def test_a_text_is_written_with_its_encoding_and_the_ends_of_its_lines(path: Path) -> None:
    if path.relative_to(ROOT).as_posix() in OPEN_LINES:
        return
    for node in nodes(path):
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
            continue
        said = {keyword.arg for keyword in node.keywords}
        first = node.args[0].value if node.args and isinstance(node.args[0], ast.Constant) else ""
        writes = node.func.attr == "open" and first in ("w", "x", "a", "wt", "xt", "at")
        if writes or (node.func.attr == "write_text" and len(node.args) == 1):
            assert {"encoding", "newline"} <= said, f"line {node.lineno}"
        if node.func.attr == "read_text":
            assert "encoding" in said, f"line {node.lineno}"


def bounds() -> dict[str, str]:
    """Return the lowest version of every dependency that pyproject.toml names, extras too."""
    lists = [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]
    found: dict[str, str] = {}
    for need in (need for needs in lists for need in needs):
        match = re.match(r"([\w.-]+)\s*>=\s*([\w.]+)", need)
        if match is None:
            assert need == "types-PyYAML", f"{need} has no lowest version"
            continue
        name, lowest = match.groups()
        assert found.setdefault(name, lowest) == lowest, f"{name} has two lowest versions"
    return found


def test_the_lowest_versions_are_those_that_were_tried() -> None:
    text = (ROOT / ".ci" / "lowest.txt").read_text(encoding="utf-8")
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    assert dict(line.split("==") for line in lines) == bounds()
    assert len(lines) == len(bounds())


def test_no_dependency_is_named_twice() -> None:
    for needs in [PROJECT["dependencies"], *PROJECT["optional-dependencies"].values()]:
        names = [re.split(r"[^\w.-]", need)[0] for need in needs]
        assert len(names) == len(set(names))


def test_the_pythons_that_are_named_are_those_that_are_allowed() -> None:
    head = "Programming Language :: Python :: 3."
    named = [c.removeprefix(head) for c in PROJECT["classifiers"] if c.startswith(head)]
    assert named == [str(minor) for minor in range(int(named[0]), int(named[-1]) + 1)]
    assert PROJECT["requires-python"] == f">=3.{named[0]}"
    assert f"Python 3.{named[0]} to 3.{named[-1]}" in (ROOT / "README.md").read_text("utf-8")
