"""`taamctl clean`: it shows what may go, removes only that, and nothing that is somebody's."""

from __future__ import annotations

import json
import os
import shutil
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import leftovers, processes
from taamctl.store.lock import writing

RUN = ("--dataset", "synthetic", "--method", "finetune", "--seed", "1")
SHORT = ("--set", "train.epochs=2")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    folder = tmp_path_factory.mktemp("made")
    done = support.taamctl(folder, "run", *RUN, *SHORT, "--set", "report.pictures=false")
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(made / "outputs", tmp_path / "outputs")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def clean(*options: str) -> Any:
    """Run it in the working folder, within this process."""
    return CliRunner().invoke(app, ["clean", *options])


def shown(*options: str) -> list[dict[str, Any]]:
    done = clean("--json", *SHORT, *options)
    assert done.exit_code == 0, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def contents(folder: Path) -> dict[str, bytes]:
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".lock"]
    return {str(path.relative_to(folder)): path.read_bytes() for path in files}


def train(folder: Path) -> Path:
    return folder / "outputs/train/synthetic/finetune/seed-1/train.h5"


def dead() -> str:
    """Return a mark as a killed process of this machine leaves it."""
    return leftovers.mark().replace(f"-{os.getpid()}-", "-4194303-")


def test_nothing_is_named_where_a_run_would_use_all_of_it(here: Path) -> None:
    before = contents(here)
    assert shown() == []
    assert contents(here) == before


def as_if_of_another_numpy(path: Path) -> None:
    """Change what an artefact's record says of the library that made it."""
    sidecar = provenance.sidecar_of(path)
    record = json.loads(sidecar.read_text(encoding="utf-8"))
    record["key"]["libraries"]["numpy"] = "0.1"
    sidecar.write_text(json.dumps(record), encoding="utf-8")


def test_stale_is_what_a_run_would_make_anew_and_goes_only_with_yes(here: Path) -> None:
    as_if_of_another_numpy(train(here))
    before = contents(here)
    done = clean(*SHORT)
    assert (done.exit_code, contents(here)) == (0, before)
    assert "numpy 0.1 -> " in done.stdout
    assert "nothing was removed; --yes removes it" in done.stderr
    (gone,) = shown("--yes")
    assert gone["kind"] == "stale"
    left = contents(here)
    assert set(before) - set(left) == {f.replace("\\", "/") for f in gone["files"]}
    assert gone["bytes"] == sum(len(before[name]) for name in set(before) - set(left))
    assert all(left[name] == before[name] for name in left)


def test_what_other_settings_made_stays_unless_it_is_asked_for(here: Path) -> None:
    before = contents(here)
    done = clean("--yes", "--set", "train.epochs=3")
    assert (done.exit_code, contents(here)) == (0, before)
    assert "of other settings stay (train.epochs 2 -> 3)" in done.stderr
    assert "taamctl clean --other-settings" in done.stderr
    assert "nothing to remove" in done.stderr
    (gone,) = shown("--yes", "--other-settings", "--set", "train.epochs=3")
    assert (gone["kind"], gone["why"]) == ("other settings", "train.epochs 2 -> 3")
    left = contents(here)
    assert set(before) - set(left) == {f.replace("\\", "/") for f in gone["files"]}


def test_other_settings_of_another_library_are_stale(here: Path) -> None:
    as_if_of_another_numpy(train(here))
    (stale,) = shown("--set", "train.epochs=3")
    assert stale["kind"] == "stale"
    assert stale["why"].startswith("train.epochs 2 -> 3; numpy 0.1 -> ")


def test_foreign_files_and_those_of_unknown_methods_and_data_sets(here: Path) -> None:
    runs = here / "outputs/train/synthetic"
    shutil.copytree(runs / "finetune/seed-1", runs / "finetune/seed-7")
    shutil.copytree(runs / "finetune", runs / "gone_method")
    shutil.copytree(here / "outputs/split/synthetic", here / "outputs/split/gone_set")
    (foreign,) = shown()
    assert (foreign["kind"], foreign["why"]) == ("foreign", "it is of synthetic/finetune/seed-1")
    found = {row["files"][0]: row for row in shown("--unknown")}
    whys = {
        Path(name).relative_to("outputs/").as_posix(): row["why"] for name, row in found.items()
    }
    assert {row["kind"] for row in found.values()} == {"foreign", "unknown"}
    assert whys["train/synthetic/finetune/seed-7/train.h5"] == "it is of synthetic/finetune/seed-1"
    assert (
        whys["train/synthetic/gone_method/seed-1/train.h5"] == "there is no method gone_method here"
    )
    assert whys["split/gone_set/split.h5"] == "there is no dataset gone_set here"
    assert train(here).relative_to(here).as_posix() not in found
    shown("--yes")
    assert (runs / "gone_method/seed-1/train.h5").is_file()
    shown("--yes", "--unknown")
    assert train(here).is_file()
    assert not (runs / "gone_method/seed-1/train.h5").exists()


def test_what_killed_processes_left_goes_and_a_living_ones_stays(here: Path) -> None:
    folder = train(here).parent
    killed = folder / f".train.h5.{dead()}.tmp"
    living = folder / f".train.h5.{leftovers.mark()}.tmp"
    elsewhere = folder / f".train.h5.{'0' * 8}-12-{'a' * 8}.tmp"
    scratch = here / "outputs" / f".twice-{dead()}xyz"
    mine = folder / "notes.tmp"
    for path in (killed, living, elsewhere, mine):
        path.write_bytes(b"x" * 7)
    (scratch / "below").mkdir(parents=True)
    (scratch / "below/split.h5").write_bytes(b"y" * 9)
    assert not processes.is_running(4194303)
    rows = shown()
    assert {(row["kind"], row["bytes"]) for row in rows} == {("left behind", 7), ("left behind", 9)}
    shown("--yes")
    assert not killed.exists()
    assert not scratch.exists()
    assert all(path.is_file() for path in (living, elsewhere, mine))


def test_a_file_that_is_being_written_stays(here: Path) -> None:
    with writing(train(here), wait=True, tell=lambda line: None):
        done = clean("--yes", "--other-settings", "--set", "train.epochs=3")
    assert done.exit_code == 0
    assert "is being written by" in done.stderr
    assert train(here).is_file()


def test_finished_tasks_of_a_stopped_training_go_only_when_asked_for(here: Path) -> None:
    folder = here / "outputs/.checkpoints/synthetic/finetune/seed-2"
    folder.mkdir(parents=True)
    (folder / "task-000.h5").write_bytes(b"z" * 5)
    assert shown("--yes") == []
    (row,) = shown("--unfinished")
    assert (row["kind"], row["bytes"]) == ("unfinished", 5)
    shown("--unfinished", "--yes")
    assert not folder.exists()


def test_finished_tasks_of_a_run_at_work_stay(here: Path) -> None:
    folder = here / "outputs/.checkpoints/synthetic/finetune/seed-2"
    folder.mkdir(parents=True)
    (folder / "task-000.h5").write_bytes(b"z" * 5)
    run = ("synthetic", "finetune", 2)
    layout = Layout(Path("outputs"))
    for at_work in (layout.file("train", *run), layout.tasks(*run)):  # here, and on a cluster
        with writing(at_work, wait=True, tell=lambda line: None):
            done = clean("--unfinished", "--yes", *SHORT)
        assert done.exit_code == 0
        assert "is being written by" in done.stderr
        assert (folder / "task-000.h5").is_file()
    shown("--unfinished", "--yes")
    assert not folder.exists()


def test_a_report_of_other_evaluations_is_stale(here: Path) -> None:
    assert (here / "outputs/report/report.json").is_file()
    shutil.rmtree(here / "outputs/eval")
    rows = shown()
    assert [Path(row["files"][0]).name for row in rows] == ["report.json"]
    assert "made from another eval/synthetic/finetune/seed-1/eval.json" in rows[0]["why"]


def test_what_somebody_wrote_over_stays(here: Path) -> None:
    train(here).write_bytes(b"a file of somebody")
    shown("--yes", "--other-settings", "--set", "train.epochs=3")
    assert train(here).read_bytes() == b"a file of somebody"


def test_a_report_that_holds_another_tree_is_right(here: Path, support: ModuleType) -> None:
    shutil.copytree(here / "outputs", here / "other")
    done = support.taamctl(
        here, "report", "--all", "--also", "other", "--set", "report.pictures=false", *SHORT
    )
    assert done.code == 0, done.err
    assert shown() == []


def test_banks_and_data_are_never_touched(here: Path) -> None:
    bank = here / "outputs/model"
    bank.mkdir()
    (bank / "manifest.json").write_text("{}")
    held = bank / f".shared-0.h5.{dead()}.tmp"
    held.write_bytes(b"b")
    assert shown("--yes") == []
    assert held.is_file()
    refused = clean("--outputs", "outputs/model").exception
    assert isinstance(refused, TaamctlError)
    assert "is a bank" in refused.message


def test_on_a_terminal_it_asks(here: Path) -> None:
    pty = pytest.importorskip("pty")
    asked = f"{sys.executable} -m taamctl clean --other-settings --set train.epochs=3"
    for answer, there in ((b"no\n", True), (b"yes\n", False)):
        status = _on_a_terminal(pty, asked.split(), here, answer)
        assert status == 0
        assert train(here).is_file() == there


def _on_a_terminal(pty: Any, words: list[str], folder: Path, answer: bytes) -> int:
    import subprocess

    master, slave = pty.openpty()
    process = subprocess.Popen(words, cwd=folder, stdin=slave, stdout=slave, stderr=slave)
    os.close(slave)
    said = b""
    while b"yes or no" not in said:
        said += os.read(master, 4096)
    os.write(master, answer)
    while True:
        try:
            if not os.read(master, 4096):
                break
        except OSError:  # the other end is closed
            break
    os.close(master)
    return process.wait()


def test_the_outputs_folder_and_what_is_above_it_stay(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outputs = tmp_path / "mine" / "outputs"
    left = outputs / "train" / f".train.h5.{dead()}.tmp"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half")
    done = clean("--yes", "--outputs", str(outputs))
    assert done.exit_code == 0, done.output
    assert outputs.is_dir()
    assert not list(outputs.iterdir())
