"""Where a file system has no locks, a file stands for each: one writer, and none for ever."""

from __future__ import annotations

import errno
import json
import os
import random
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType

import pytest

from taamctl.core.errors import TaamctlError
from taamctl.store import lock, processes
from taamctl.store.lock_by_file import FileHeld

NO_FLOCK = """
import errno, fcntl, os
def flock(descriptor, operation):
    raise OSError(int(os.environ["NO_FLOCK"]), os.strerror(int(os.environ["NO_FLOCK"])))
fcntl.flock = flock
"""
WRITER = """
import sys, time
from pathlib import Path
from taamctl.store.lock import writing
path = Path(sys.argv[1])
for _ in range(int(sys.argv[2])):
    with writing(path, wait=True, tell=lambda line: None):
        count = int(path.read_text())
        time.sleep(0.001)
        path.write_text(str(count + 1))
"""


def without_locks(folder: Path, support: ModuleType, code: int = errno.ENOSYS) -> dict[str, str]:
    """Return an environment in which a file system answers every lock with an error."""
    hooks = folder / "hooks"
    hooks.mkdir(exist_ok=True)
    (hooks / "sitecustomize.py").write_text(NO_FLOCK)
    environment: dict[str, str] = support.environment(PYTHONPATH=str(hooks), NO_FLOCK=str(code))
    return environment


@pytest.mark.parametrize("code", [errno.ENOSYS, errno.EOPNOTSUPP, errno.ENOLCK])
def test_a_stage_runs_where_there_are_no_locks(
    code: int, tmp_path: Path, support: ModuleType
) -> None:
    environment = without_locks(tmp_path, support, code)
    for verb in ("wrote", "reused"):
        done = support.taamctl(tmp_path, *support.call("split"), env=environment)
        assert done.code == 0, done.err
        assert verb in done.err
    assert not list((tmp_path / "outputs").rglob("*.held*"))


def test_writers_come_one_after_the_other_without_locks(
    tmp_path: Path, support: ModuleType
) -> None:
    counter = tmp_path / "counter"
    counter.write_text("0")
    stale = FileHeld(lock_file(counter))
    stale.file.write_text(json.dumps({**processes.identity(), "pid": 2**22 - 1}))
    command = [sys.executable, "-c", WRITER, str(counter), "40"]
    environment = without_locks(tmp_path, support)
    writers = [subprocess.Popen(command, env=environment) for _ in range(4)]
    assert [writer.wait(timeout=support.LIMIT) for writer in writers] == [0] * 4
    assert counter.read_text() == "160"
    assert not list(tmp_path.glob(".counter*"))


def lock_file(path: Path) -> Path:
    return path.with_name(f".{path.name}.lock.held")


def test_a_killed_writers_lock_is_taken(
    tmp_path: Path, support: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.h5"
    code = (
        "import os, sys; from pathlib import Path; from taamctl.store.lock import lock_of; "
        "assert lock_of(Path(sys.argv[1])).take(); os.kill(os.getpid(), 9)"
    )
    environment = without_locks(tmp_path, support)
    subprocess.run([sys.executable, "-c", code, str(path)], env=environment, check=False)
    assert lock_file(path).is_file()
    monkeypatch.setattr(lock, "_has_locks", lambda folder: False)
    monkeypatch.setattr(lock, "_known", {})
    with lock.writing(path, wait=False, tell=lambda line: None):
        assert json.loads(lock_file(path).read_text())["pid"] == os.getpid()
    assert not lock_file(path).exists()


@pytest.mark.parametrize(
    ("change", "dead"),
    [
        ({}, False),
        ({"host": "elsewhere", "pid": 2**22 - 1}, False),
        ({"space": "pid:[1]", "pid": 2**22 - 1}, False),
        ({"machine": "another", "boot": "before"}, False),
        ({"pid": 2**22 - 1}, True),
        ({"started": 1}, True),
    ],
)
def test_a_holder_is_dead_only_where_that_is_sure(
    change: dict[str, object], dead: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lock, "_has_locks", lambda folder: False)
    monkeypatch.setattr(lock, "_known", {})
    path = tmp_path / "a.h5"
    who = {**processes.identity(), "since": 0.0, **change}
    lock_file(path).write_text(json.dumps(who))
    if dead:
        with lock.writing(path, wait=False, tell=lambda line: None):
            pass
        return
    with (
        pytest.raises(TaamctlError, match=f"is being written by process {who['pid']} on") as held,
        lock.writing(path, wait=False, tell=lambda line: None),
    ):
        pass
    assert f"remove {lock_file(path)}" in held.value.hint
    assert json.loads(lock_file(path).read_text()) == who


def test_a_machine_that_was_started_again_has_no_old_holders(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    held = FileHeld(tmp_path / "held")
    machine = tmp_path / "machine-id"
    monkeypatch.setattr(processes, "MACHINE", machine)
    held.file.write_text(json.dumps({**processes.identity(), "boot": "before"}))
    assert not held.take()  # nothing says that it is the same machine
    machine.write_text("7f3a")
    held.file.write_text(json.dumps({**processes.identity(), "boot": "before"}))
    assert held.take()


def test_a_lock_that_nobody_signed_is_left_after_a_minute(tmp_path: Path) -> None:
    held = FileHeld(tmp_path / "held")
    held.file.write_text("")
    assert not held.take()
    for moved in (-90, 9e6):  # an old one, and one from a clock that ran ahead
        at = held.file.stat().st_mtime + moved
        held.file.write_text("")
        os.utime(held.file, (at, at))
        assert held.take()


@pytest.mark.parametrize("seed", range(3))
def test_of_many_that_find_a_dead_holder_one_takes_its_place(seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    holders: list[FileHeld] = []
    inside: list[int] = []

    def work(pauses: list[float]) -> None:
        held = FileHeld(tmp_path / "held")
        for pause in pauses:
            if held.take():
                holders.append(held)
                inside.append(len(inside))
                assert len(holders) == 1
                threading.Event().wait(pause)
                holders.remove(held)
                if rng.random() < 0.5:
                    held.release()
                else:  # it dies
                    text = json.loads(held.file.read_text())
                    held.file.write_text(json.dumps({**text, "started": 1}))

    faults: list[BaseException] = []

    def safe(pauses: list[float]) -> None:
        try:
            work(pauses)
        except BaseException as error:
            faults.append(error)

    threads = [
        threading.Thread(target=safe, args=([rng.uniform(0, 0.002) for _ in range(60)],))
        for _ in range(6)
    ]
    each: Callable[[threading.Thread], None]
    for each in (threading.Thread.start, threading.Thread.join):
        for thread in threads:
            each(thread)
    assert not faults
    assert len(inside) > 20
