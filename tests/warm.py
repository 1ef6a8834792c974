"""Processes that become a command without importing its libraries anew.

Most of a command's time in these tests is the import of torch, pandas and matplotlib: three seconds
for half a second of work. A nursery is a process that has imported them and computed nothing. For
every command it forks a child, which takes the command's folder, environment, streams and words
and runs its module, as `python -m` would. The child imports `taamctl` itself, so that it runs the
code that lies there.

TAAMCTL_TESTS_COLD=1 starts every command as a new Python. So does what a fork could not do: another
number of threads, a sitecustomize, other settings that Python reads as it starts.
"""

from __future__ import annotations

import atexit
import functools
import json
import os
import select
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

LIBRARIES = (
    *(
        "torch",
        "numpy",
        "scipy.sparse",
        "h5py",
        "pandas",
        "pyarrow.parquet",
        "sklearn.linear_model",
    ),
    *("matplotlib.figure", "matplotlib.backends.backend_agg", "matplotlib.backends.backend_svg"),
    *("typer", "click", "rich.table", "rich.progress", "yaml", "asyncio", "threadpoolctl"),
)
AT_START = (
    *("OMP_", "MKL_", "OPENBLAS_", "MALLOC_", "PYTHON", "LD_", "DGL", "MPL"),
    *("HOME", "XDG_", "TMPDIR", "LC_", "LANG", "TZ"),
)


def can_become(environment: Mapping[str, str]) -> bool:
    """Tell whether a forked child can be what a new Python in this environment would be."""
    if not hasattr(os, "fork") or os.environ.get("TAAMCTL_TESTS_COLD"):
        return False
    return settings(environment) == settings(nursery_environment()) and not _steered(environment)


def _steered(environment: Mapping[str, str]) -> bool:
    """Tell whether a folder of PYTHONPATH steers Python's start or takes a library's place."""
    names = ("sitecustomize.py", *(name.partition(".")[0] for name in LIBRARIES))
    names += tuple(f"{name}.py" for name in names)
    return any((folder / name).exists() for folder in _added(environment) for name in names)


def _added(environment: Mapping[str, str]) -> list[Path]:
    return [Path(p) for p in environment.get("PYTHONPATH", "").split(os.pathsep) if p]


def nursery_environment() -> dict[str, str]:
    """Return the environment of a nursery: one thread for numbers."""
    return {**os.environ, "OMP_NUM_THREADS": "1"}


def settings(environment: Mapping[str, str]) -> dict[str, str]:
    """Return what Python and the libraries read once, as they start."""
    return {
        name: told
        for name, told in environment.items()
        if name.startswith(AT_START) and name != "PYTHONPATH"
    }


@functools.cache
def address(*more: str) -> str:
    """Start a nursery, with more libraries than a command needs, and return its socket's path."""
    folder = tempfile.mkdtemp(prefix="warm-")
    path = str(Path(folder) / "socket")
    nursery = subprocess.Popen(
        [sys.executable, __file__, path, *more],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        env=nursery_environment(),
        start_new_session=True,
    )
    atexit.register(_end, nursery, path)
    assert nursery.stdout is not None and nursery.stdout.read(1), "the nursery did not start"
    return path


def _end(nursery: subprocess.Popen[bytes], path: str) -> None:
    """End a nursery: it ends with its stdin."""
    assert nursery.stdin is not None
    nursery.stdin.close()
    try:
        nursery.wait(timeout=5)
    except subprocess.TimeoutExpired:  # a command that hangs
        os.killpg(nursery.pid, signal.SIGKILL)
    shutil.rmtree(Path(path).parent)


def run(
    module: tuple[str, ...],
    folder: Path,
    environment: Mapping[str, str],
    limit: float | None,
) -> tuple[int, str, str]:
    """Run `python -m MODULE ARGUMENTS` in a folder, and return exit code, stdout and stderr.

    Raises:
        subprocess.TimeoutExpired: after `limit` seconds; the command is killed.
    """
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        with open(os.devnull, "rb") as nothing:
            streams = [nothing.fileno(), out.fileno(), err.fileno()]
            code = ask(address(), module, str(folder), environment, streams, limit)
        texts = []
        for stream in (out, err):
            stream.seek(0)
            texts.append(stream.read().decode().replace("\r\n", "\n"))
    return code, texts[0], texts[1]


def ask(
    path: str,
    module: tuple[str, ...],
    folder: str,
    environment: Mapping[str, str],
    streams: list[int],
    limit: float | None = None,
) -> int:
    """Have a nursery run a module, and return the exit code as `subprocess` gives it."""
    with socket.socket(socket.AF_UNIX) as nursery:
        nursery.connect(path)
        socket.send_fds(nursery, [b"x"], streams)
        nursery.sendall(json.dumps([module, folder, dict(environment)]).encode())
        nursery.shutdown(socket.SHUT_WR)
        nursery.settimeout(limit)
        answer = nursery.makefile()
        child = int(answer.readline())
        try:
            return int(answer.readline())
        except TimeoutError:
            os.kill(child, signal.SIGKILL)
            raise subprocess.TimeoutExpired(module, limit or 0) from None


def read_guarded(arguments: list[str], seconds: int) -> str:
    """Run the child of `taamctl.importing.guarded` as its `_launch` does, with DGL at hand."""
    from taamctl.importing import guarded

    environment = {**os.environ, **guarded._ONE_THREAD}
    with open(os.devnull, "r+b") as nothing:
        words = ("-c", guarded._CALL, *arguments)
        streams = [nothing.fileno()] * 3
        code = ask(address("dgl"), words, os.getcwd(), environment, streams, seconds)
    return guarded.how_it_ended(code)


def commands(folder: Path) -> Path:
    """Write a `taamctl` into a new folder that asks a nursery, and return that folder, for PATH."""
    folder.mkdir()
    script = folder / "taamctl"
    script.write_text(
        f"#!{sys.executable} -IS\n"
        "import os, sys\n"
        f"sys.path.insert(0, {str(Path(__file__).parent)!r})\n"
        "import warm\n"
        f"code = warm.ask({address()!r}, ('taamctl', *sys.argv[1:]), os.getcwd(), "
        "os.environ, [0, 1, 2])\n"
        "sys.exit(code if code >= 0 else 128 - code)\n"
    )
    script.chmod(0o755)
    return folder


def serve(path: str, *more: str) -> list[str]:
    """Import the libraries and fork a child for every order; return, in a child only, the module
    and its arguments.
    """
    import gc
    import importlib

    for name in (*LIBRARIES, *more):
        with suppress(ImportError):
            importlib.import_module(name)
    gc.freeze()
    sys.pycache_prefix = str(Path(path).with_name("bytecode"))  # one command compiles for the next
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind(path)
        listening.listen()
        os.write(1, b"x")
        while 0 not in select.select([listening, 0], [], [])[0]:
            asked, _ = listening.accept()
            if os.fork() == 0:
                listening.close()
                return _attend(asked)
            asked.close()
            _reap(os.WNOHANG)
    _reap(0)
    os._exit(0)


def _reap(options: int) -> None:
    """Take note of the children that have ended, so that they do not pile up."""
    with suppress(ChildProcessError):
        while os.waitpid(-1, options)[0]:
            pass


def _attend(asked: socket.socket) -> list[str]:
    """Fork a command and tell its number and its exit code; return in the command only."""
    _, streams, _, _ = socket.recv_fds(asked, 1, 3)
    module, folder, environment = json.loads(asked.makefile().read())
    child = os.fork()
    if child:
        asked.sendall(f"{child}\n".encode())
        for stream in streams:
            os.close(stream)
        _, status = os.waitpid(child, 0)
        with suppress(BrokenPipeError):
            asked.sendall(f"{os.waitstatus_to_exitcode(status)}\n".encode())
        os._exit(0)
    asked.close()
    _become(folder, environment, streams)
    return [str(word) for word in module]


def _become(folder: str, environment: dict[str, str], streams: list[int]) -> None:
    """Take on a folder, an environment and the three streams."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    for number, stream in enumerate(streams):
        os.dup2(stream, number)
        os.close(stream)
    sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", errors="backslashreplace", buffering=1, closefd=False)  # noqa: SIM115
    if "numpy" in sys.modules:  # a fork of it draws what the last one drew
        sys.modules["numpy"].random.seed()
    os.environ.clear()
    os.environ.update(environment)
    os.chdir(folder)
    sys.dont_write_bytecode = bool(_added(environment))  # what is there may be edited in a second
    sys.path[:1] = [os.getcwd(), *map(str, _added(environment))]  # as `python -m` has it


def _leave(code: int) -> None:
    """End as Python does, but do not take apart what a fork has in common with its nursery: that
    alone takes 0.2 seconds.
    """
    import threading

    threading._shutdown()  # type: ignore[attr-defined]
    atexit._run_exitfuncs()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)


def _run(words: list[str]) -> None:
    """Run what `python -m` or `python -c` would run with these words."""
    import runpy

    sys.argv = words
    if words[0] != "-c":
        runpy.run_module(words[0], run_name="__main__", alter_sys=True)
    else:
        exec(words.pop(1), {"__name__": "__main__"})


if __name__ == "__main__":
    try:
        _run(serve(*sys.argv[1:]))
    except SystemExit as stop:
        if not isinstance(stop.code, int):
            raise
        _leave(stop.code)
    _leave(0)
