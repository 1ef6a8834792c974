"""What one verb has made, every other one uses; and `taamctl status` says so beforehand."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

SETTINGS = ("--dataset", "synthetic", "--seed", "1", "--set", "train.epochs=2")
SETTINGS += ("--set", "train.threads=1", "--set", "report.pictures=false")
METHODS = ("--method", "taam", "--method", "finetune")
OTHER_ORDER = ("--set", "split.class_order=seeded_permutation", "--set", "split.order_seed=3")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    """Return a folder where `taamctl run` has made everything."""
    made = tmp_path_factory.mktemp("cache")
    done = support.taamctl(made, "run", *SETTINGS, *METHODS)
    assert done.code == 0, done.err
    return made


def wrote(support: ModuleType, folder: Path, *arguments: str) -> set[str]:
    """Run a command and return the stages that it made again."""
    done = support.taamctl(folder, *arguments)
    assert done.code == 0, done.err
    lines = [line for line in done.err.splitlines() if ": wrote " in line]
    return {line.split(":")[0] for line in lines}


def status(support: ModuleType, folder: Path, *arguments: str) -> dict[str, dict[str, Any]]:
    done = support.taamctl(folder, "status", *SETTINGS, *METHODS, "--json", *arguments)
    assert done.code == 0, done.err
    return {f"{line['stage']} {line['method']}".strip(): line for line in json.loads(done.out)}


def test_reproduce_and_run_use_the_same_files(folder: Path, support: ModuleType) -> None:
    first = wrote(support, folder, "reproduce", "taskid", *SETTINGS)
    assert not any(line.startswith(("split", "precompute", "train")) for line in first)
    assert wrote(support, folder, "run", *SETTINGS, *METHODS) <= {"report synthetic"}
    assert not wrote(support, folder, "reproduce", "taskid", *SETTINGS)
    assert not wrote(support, folder, "run", *SETTINGS, *METHODS)


def test_compare_and_run_take_from_each_other(folder: Path, support: ModuleType) -> None:
    orders = ("--order", "natural", "--order", "3")
    made = wrote(support, folder, "compare", *SETTINGS, *METHODS, *orders)
    assert "split synthetic" in made  # of order 3; the natural one is there
    trees = folder / "outputs" / "compare"
    natural = trees / "order-natural_split-42" / "train" / "synthetic" / "taam" / "seed-1"
    main = folder / "outputs" / "train" / "synthetic" / "taam" / "seed-1"
    assert (natural / "train.h5").read_bytes() == (main / "train.h5").read_bytes()
    before = status(support, folder, *OTHER_ORDER)
    assert before["split"]["would"] == "take"
    assert before["split"]["reasons"] == [
        "split.class_order natural -> seeded_permutation",
        "split.order_seed 0 -> 3",
    ]
    assert before["train taam"]["would"] == "check"
    assert wrote(support, folder, "run", *SETTINGS, *METHODS, *OTHER_ORDER) <= {"report synthetic"}
    assert wrote(support, folder, "run", *SETTINGS, *METHODS) <= {"report synthetic"}


def test_single_verbs_use_what_run_made(folder: Path, support: ModuleType) -> None:
    for verb in ("split", "precompute"):
        assert not wrote(support, folder, verb, *SETTINGS[:2])
    few = (*SETTINGS[:8], *METHODS)
    for verb in ("train", "infer", "eval"):
        assert not wrote(support, folder, verb, *few)


def test_status_says_what_is_missing_stale_and_fresh(folder: Path, support: ModuleType) -> None:
    assert {line["state"] for line in status(support, folder).values()} == {"fresh"}
    changed = status(support, folder, "--set", "train.lr=0.01")
    assert changed["precompute"]["state"] == "fresh"
    assert changed["train taam"]["reasons"] == ["train.lr 0.005 -> 0.01"]
    assert changed["infer taam"]["reasons"] == ["after train"]
    assert (changed["train taam"]["would"], changed["infer taam"]["would"]) == ("make", "check")
    infer = folder / "outputs" / "infer" / "synthetic" / "taam" / "seed-1" / "infer.h5"
    content = infer.read_bytes()
    infer.unlink()
    gone = status(support, folder)
    assert (gone["infer taam"]["state"], gone["infer finetune"]["state"]) == ("missing", "fresh")
    infer.write_bytes(content[:-1] + bytes([content[-1] ^ 1]))
    assert (
        status(support, folder)["infer taam"]["reasons"][0] == "infer.h5 is not as it was written"
    )
    infer.write_bytes(content)
    assert status(support, folder)["infer taam"]["state"] == "fresh"
    dry = support.taamctl(folder, "run", *SETTINGS, *METHODS, "--set", "train.lr=0.01", "--dry-run")
    assert "train.lr 0.005 -> 0.01" in dry.out
    assert ": wrote" not in dry.err
    told = support.taamctl(folder, "status", *SETTINGS, *METHODS, "--set", "train.lr=0.01")
    assert told.out == dry.out


def test_a_moved_outputs_folder_is_as_good(
    folder: Path, support: ModuleType, tmp_path: Path
) -> None:
    shutil.copytree(folder / "outputs", tmp_path / "old")
    (tmp_path / "old").rename(tmp_path / "new")
    there = ("--outputs", str(tmp_path / "new"))
    assert not wrote(support, folder, "run", *SETTINGS, *METHODS, *there)
