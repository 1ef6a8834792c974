"""What only some systems have is hidden, and the same commands leave the same bytes."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

# Python runs a module of this name before anything else. Packages that are built for this system
# may go on with what it has, as far as they need it: ours may not.
HIDE = '''
import os, signal, sys

MODULES = {"fcntl", "grp", "pwd", "resource", "syslog", "termios", "tty", "pty"}
OF_OS = """
    preadv pwritev pread pwrite posix_fadvise posix_fallocate O_DIRECTORY O_CLOEXEC O_NOFOLLOW
    sched_getaffinity sched_setaffinity fork forkpty killpg setsid getpgid wait3 wait4 mkfifo
    getuid geteuid getgid getegid statvfs getloadavg chown lchown fchmod fchdir sync
"""
OF_SIGNAL = "SIGKILL SIGHUP SIGUSR1 SIGUSR2 SIGALRM SIGCHLD SIGPIPE pthread_sigmask alarm setitimer"
NEED = ("psutil",)


def importer():
    """Return the name of the module that imports."""
    frame = sys._getframe(2)
    while "importlib" in frame.f_code.co_filename:
        frame = frame.f_back
    return frame.f_globals.get("__name__", "")


class Hidden:
    def find_spec(self, name, path=None, target=None):
        if name in MODULES and importer().partition(".")[0] not in NEED:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


for name in MODULES:
    sys.modules.pop(name, None)
sys.meta_path.insert(0, Hidden())
for module, names in ((os, OF_OS), (signal, OF_SIGNAL)):
    for name in names.split():
        if hasattr(module, name):
            delattr(module, name)
'''
# `taamctl`, but with three columns of the features in memory at a time.
OUT_OF_CORE = """
import sys
from taamctl.cli.app import entry
from taamctl.features import memory_limit
memory_limit.columns_at_once = lambda *_: 3
sys.argv[0] = "taamctl"
entry()
"""
LOOK = "import os; assert not hasattr(os, 'preadv'); import fcntl"
FORBIDDEN = set('<>:"|?*\\')
DEVICES = {"con", "prn", "aux", "nul", *(f"{p}{n}" for p in ("com", "lpt") for n in range(10))}


def everything(folder: Path, support: ModuleType, **changes: str) -> dict[str, bytes]:
    """Run the main job, and propagation out of core, in a folder; return what they made."""
    folder.mkdir()
    environment = support.environment(**changes)
    run = support.call("run", methods=("taam", "linear_probe"))
    done = support.taamctl(folder, *run, env=environment)
    assert done.code == 0, done.err
    again = support.call("precompute", "--force", "--max-memory", "8G", "--outputs", "apart")
    split = support.taamctl(folder, *support.call("split", "--outputs", "apart"), env=environment)
    assert split.code == 0, split.err
    subprocess.run(
        [sys.executable, "-c", OUT_OF_CORE, *again], cwd=folder, env=environment, check=True
    )
    return {
        f"{tree}/{path}": data
        for tree in ("outputs", "apart")
        for path, data in support.artefacts(folder / tree).items()
    }


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> dict[str, bytes]:
    return everything(tmp_path_factory.mktemp("here") / "here", support)


def test_what_other_systems_lack_is_not_needed(
    tmp_path: Path, made: dict[str, bytes], support: ModuleType
) -> None:
    (tmp_path / "hide").mkdir()
    (tmp_path / "hide" / "sitecustomize.py").write_text(HIDE, encoding="utf-8")
    hidden = {"PYTHONPATH": str(tmp_path / "hide")}
    environment = support.environment(**hidden)
    look = subprocess.run(
        [sys.executable, "-c", LOOK], env=environment, capture_output=True, text=True, check=False
    )
    assert "No module named 'fcntl'" in look.stderr
    there = everything(tmp_path / "there", support, **hidden)
    assert list(there) == list(made)
    assert [path for path in made if there[path] != made[path]] == []


def test_out_of_core_gives_the_bytes_of_in_memory(made: dict[str, bytes]) -> None:
    features = "precompute/synthetic/features.h5"
    assert made[f"apart/{features}"] == made[f"outputs/{features}"]


def test_every_name_may_be_a_file_on_every_system(made: dict[str, bytes]) -> None:
    for path in made:
        for name in Path(path).parts:
            assert not FORBIDDEN & set(name)
            assert name == name.rstrip(". ")
            assert name.partition(".")[0].lower() not in DEVICES
    assert len({path.lower() for path in made}) == len(made)


def test_texts_end_their_lines_alike_on_every_system(made: dict[str, bytes]) -> None:
    texts = [path for path in made if not path.endswith((".h5", ".png", ".pdf", ".svg"))]
    assert len(texts) > 10
    assert [path for path in texts if b"\r" in made[path]] == []
