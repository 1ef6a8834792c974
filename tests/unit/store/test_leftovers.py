"""What a killed writer left goes with the next writer of the same thing; what a living one has in
work stays.
"""

from __future__ import annotations

import random
import subprocess
import sys
import threading
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.bank import store as banks
from taamctl.bank import transfer
from taamctl.core.errors import TaamctlError
from taamctl.store import atomic_files, leftovers, processes
from taamctl.store.checkpoints import FileCheckpoints

KILLED = """
import os, sys
from pathlib import Path
from taamctl.store import atomic_files, leftovers
where, how = Path(sys.argv[1]), sys.argv[2]
if how == "file":
    with atomic_files.atomic(where) as temporary:
        temporary.write_bytes(b"half")
        os.kill(os.getpid(), 9)
with leftovers.scratch(where.parent, f".{where.name}-") as folder:
    (folder / "inside").write_bytes(b"half")
    os.kill(os.getpid(), 9)
"""


def killed(path: Path, how: str = "file") -> None:
    """Leave what a writer of `path` leaves that is killed in the middle."""
    before = set(path.parent.iterdir())
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), how], check=False)
    assert done.returncode == -9
    assert len(set(path.parent.iterdir()) - before) == 1


def hidden(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir() if path.name.startswith(".")}


@pytest.mark.parametrize("name", ["a.h5", "b [1]*.json", ".keys.json", "ünï.csv"])
def test_the_next_writer_of_the_same_thing_sweeps(name: str, tmp_path: Path) -> None:
    path = tmp_path / name
    killed(path)
    other = tmp_path / f"{name}.more"
    other.write_text("x")
    atomic_files.write_text(path, "whole")
    assert {p.name for p in tmp_path.iterdir()} == {path.name, other.name}
    killed(path, "folder")
    with leftovers.scratch(tmp_path, f".{name}-") as folder:
        assert hidden(tmp_path) - {path.name, other.name} == {folder.name}
    assert {p.name for p in tmp_path.iterdir()} == {path.name, other.name}


def test_a_living_writers_file_stays_and_one_of_another_machine_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.json"
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(processes, "place", lambda: "0" * 8)
        far = tmp_path / f".a.json.{leftovers.mark()}.tmp"
    far.write_text("half")
    with atomic_files.atomic(path) as first:
        first.write_text("first")
        atomic_files.write_text(path, "second")
        assert hidden(tmp_path) == {first.name, far.name}
    assert path.read_text() == "first"
    atomic_files.sweep(path)  # under its lock nobody else writes it
    assert hidden(tmp_path) == set()


def test_folders_of_finished_runs_go_while_others_make_theirs(tmp_path: Path) -> None:
    faults: list[BaseException] = []

    def run(seed: int) -> None:
        rng = random.Random(seed)
        folder = tmp_path / ".checkpoints" / "data" / "method" / f"seed-{seed}"
        kept = FileCheckpoints(folder, lambda: {"seed": seed})
        try:
            for _ in range(12):
                kept.save(rng.randrange(3), {"w": np.zeros(2)}, {}, np.zeros(1))
                kept.remove()
        except BaseException as error:
            faults.append(error)

    threads = [threading.Thread(target=run, args=(seed,)) for seed in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not faults
    assert list(tmp_path.iterdir()) == []


def test_an_empty_folder_that_a_kill_left_goes_too(tmp_path: Path) -> None:
    folder = tmp_path / ".checkpoints" / "data" / "method" / "seed-1"
    folder.mkdir(parents=True)
    (tmp_path / ".checkpoints" / "data" / "other" / "seed-1").mkdir(parents=True)
    FileCheckpoints(folder, lambda: {}).remove()
    assert not folder.parent.exists()
    assert folder.parent.parent.is_dir()


@pytest.mark.parametrize("left", ["copy", "temporary"])
def test_a_bank_whose_making_was_killed_is_made(
    left: str, tmp_path: Path, support: ModuleType
) -> None:
    bank = tmp_path / "bank"
    (bank / "manifests").mkdir(parents=True)
    if left == "copy":
        (bank / "manifests" / "0000.json").write_text("{}")
    if left == "temporary":
        killed(bank / "manifests" / "0000.json")
    arguments = ("bank", "create", "bank", "--method", "linear_probe")
    assert support.taamctl(tmp_path, *arguments).code == 0
    assert not list(bank.rglob("*.tmp"))
    assert banks.current(bank).generation == 0
    with pytest.raises(TaamctlError, match="is there already and not empty"):
        banks._require_new(bank)


def test_a_folder_with_anything_else_is_no_bank_to_be(tmp_path: Path) -> None:
    (tmp_path / "bank" / "manifests").mkdir(parents=True)
    (tmp_path / "bank" / "manifests" / "notes.txt").write_text("mine")
    with pytest.raises(TaamctlError, match="is there already and not empty"):
        banks._require_new(tmp_path / "bank")


def test_a_killed_restore_leaves_nothing_behind_the_next(
    tmp_path: Path, support: ModuleType
) -> None:
    assert support.taamctl(tmp_path, "bank", "create", "bank", "--method", "linear_probe").code == 0
    transfer.export(tmp_path / "bank", tmp_path / "bank.tar")
    killed(tmp_path / "bank", "folder")
    killed(tmp_path / "bank.tar")
    assert len(hidden(tmp_path)) == 2
    transfer.restore(tmp_path / "bank.tar", tmp_path / "again")
    transfer.export(tmp_path / "again", tmp_path / "bank.tar")
    assert hidden(tmp_path) == set()


@pytest.mark.parametrize("verb", ["keys", "split", "import"])
def test_verbs_sweep_what_a_killed_one_left(verb: str, tmp_path: Path, support: ModuleType) -> None:
    (tmp_path / "outputs" / "split" / "synthetic").mkdir(parents=True)
    (tmp_path / "data").mkdir()
    rows = [f"n{i},{'abcd'[i % 4]},{i * i % 7}" for i in range(60)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,size_cm", *rows]) + "\n")
    ends = [f"n{i},n{(i + 4) % 60}" for i in range(60)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *ends]) + "\n")
    calls: dict[str, tuple[str, tuple[str, ...]]] = {
        "keys": ("outputs/.keys.json", ("keys", "--dataset", "synthetic", "--method", "finetune")),
        "split": ("outputs/split/synthetic/split.h5", support.call("split")),
        "import": ("data/g.h5", ("data", "import", "nodes.csv", "edges.csv", "--name", "g")),
    }
    where, arguments = calls[verb]
    killed(tmp_path / where)
    done = support.taamctl(tmp_path, *arguments)
    assert done.code == 0, done.err
    assert not list(tmp_path.rglob("*.tmp"))
