"""`taamctl verify`: every file whole, by its record or by its own checksums."""

from __future__ import annotations

import json
import shlex
import shutil
from pathlib import Path
from types import ModuleType

import pytest


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    folder = tmp_path_factory.mktemp("verify")
    pictures = ("--set", "report.pictures=false")
    assert support.taamctl(folder, *support.call("run", *pictures, epochs=2)).code == 0
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made / "outputs", tmp_path / "outputs")
    return tmp_path


def bad(support: ModuleType, folder: Path, *paths: str) -> list[tuple[str, str, str]]:
    """Return path, state and command of what is not right."""
    done = support.taamctl(folder, "verify", "--json", *paths)
    found = json.loads(done.out)
    wrong = [state for state in found if state["state"] not in ("ok", "unrecorded")]
    assert done.code == (1 if wrong else 0), done.err
    return [(state["path"], state["state"], state["mend"]) for state in wrong]


def test_what_is_right_is_right(folder: Path, support: ModuleType) -> None:
    assert bad(support, folder) == []
    done = support.taamctl(folder, "verify")
    assert (done.code, done.out) == (0, "")
    assert "files are right" in done.err


RUN = "synthetic/finetune/seed-1"


@pytest.mark.parametrize(
    "file",
    [
        "split/synthetic/split.h5",
        "precompute/synthetic/features.h5",
        f"train/{RUN}/train.h5",
        f"infer/{RUN}/infer.h5",
        f"eval/{RUN}/eval.json",
        f"eval/{RUN}/curve.csv",
        f"eval/{RUN}/loss.csv",
        "report/report.md",
    ],
)
def test_a_changed_byte_is_found_and_the_command_mends_it(
    folder: Path, support: ModuleType, file: str
) -> None:
    path = folder / "outputs" / file
    right = path.read_bytes()
    path.write_bytes(right[:-2] + bytes([right[-2] ^ 1]) + right[-1:])
    ((where, state, mend),) = bad(support, folder)
    assert (where, state) == (f"outputs/{file}", "damaged")
    settings = ("--set", "train.epochs=2", "--set", "train.threads=1")
    settings += ("--set", "report.pictures=false")
    if mend == "taamctl report":
        settings += ("--dataset", "synthetic", "--method", "finetune", "--seed", "1")
    assert support.taamctl(folder, *shlex.split(mend)[1:], *settings).code == 0
    assert path.read_bytes() == right


def test_missing_and_foreign_files_are_named(folder: Path, support: ModuleType) -> None:
    outputs = folder / "outputs"
    shutil.copytree(outputs / "train" / RUN, outputs / "train/synthetic/finetune/seed-7")
    (outputs / "eval" / RUN / "curve.csv").unlink()
    assert {(where, state) for where, state, _ in bad(support, folder)} == {
        ("outputs/train/synthetic/finetune/seed-7/train.h5", "foreign"),
        (f"outputs/eval/{RUN}/curve.csv", "missing"),
    }


def test_a_file_without_a_record_is_held_against_its_own_checksums(
    folder: Path, support: ModuleType
) -> None:
    file = folder / "outputs/split/synthetic/split.h5"
    file.with_name("split.h5.provenance.json").unlink()
    assert bad(support, folder, str(file)) == []
    file.write_bytes(file.read_bytes()[:3000])
    ((where, state, _),) = bad(support, folder, str(file))
    assert (where, state) == (str(file), "damaged")


def test_any_folder_and_any_file_can_be_looked_at_from_anywhere(
    folder: Path, support: ModuleType
) -> None:
    inside = folder / "outputs" / "train" / "synthetic" / "finetune"
    assert bad(support, inside, ".") == bad(support, inside, "seed-1") == []
    assert bad(support, folder / "outputs" / "split" / "synthetic", ".") == []
    evaluation = folder / "outputs" / "eval" / RUN / "eval.json"
    assert bad(support, folder, str(evaluation)) == []
    evaluation.write_text(evaluation.read_text().replace("synthetic", "synthetik"))
    ((_, state, mend),) = bad(support, folder, str(evaluation))
    assert (state, mend) == (
        "damaged",
        "taamctl eval --dataset synthetic --method finetune --seed 1",
    )
    shutil.copytree(folder / "outputs", folder / "my outputs")
    ((_, _, mend),) = bad(support, folder, "my outputs")
    assert shlex.split(mend)[-2:] == ["--outputs", str(folder / "my outputs")]
    done = support.taamctl(folder, "verify", str(folder / "outputs/eval" / RUN / "nothing.txt"))
    assert done.code == 2


def test_damaged_texts_are_found(folder: Path, support: ModuleType) -> None:
    file = folder / "outputs/split/synthetic/split.h5"
    file.with_name("split.h5.provenance.json").unlink()
    content = file.read_bytes()
    name = b"class 3"
    assert content.count(name) >= 1
    file.write_bytes(content.replace(name, b"class 8"))
    assert [state for _, state, _ in bad(support, folder, str(file))] == ["damaged"]


def test_nothing_to_read_is_said(support: ModuleType, tmp_path: Path) -> None:
    for arguments in ((), ("nowhere",)):
        done = support.taamctl(tmp_path, "verify", *arguments)
        assert done.code == 2
        assert "name what is to be read" in done.err
