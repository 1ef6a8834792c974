from __future__ import annotations

import configparser
from pathlib import Path
from typing import Any

import pytest
import yaml

from taamctl.core.errors import TaamctlError
from taamctl.params.params_file import PACKAGED, set_value
from taamctl.pipeline import dag, project
from taamctl.runtime.stage_table import TABLE

ROOT = Path(__file__).resolve().parents[3]


def _packaged() -> dict[str, Any]:
    return yaml.safe_load(PACKAGED.read_text(encoding="utf-8"))


def test_a_folder_gets_the_dag_of_the_repository() -> None:
    assert project.texts(_packaged(), [])["dvc.yaml"] == (ROOT / "dvc.yaml").read_text()


def test_every_stage_waits_for_what_it_reads_and_for_its_key() -> None:
    stages = yaml.safe_load(dag.text())["stages"]
    made = {out: name for name, stage in stages.items() for out in _outs(stage)}
    made |= {"outputs/eval": "eval", "outputs/lens": "lens"}  # whole folders, of many runs
    for name in TABLE:
        stage = stages[name]
        assert {made[dep] for dep in stage.get("deps", [])} == set(TABLE[name].reads)
        (keys,) = (entry for entry in stage["params"] if isinstance(entry, dict))
        assert [key.split(".")[0] for key in keys["outputs/.keys.json"]] == [name]
        assert all(out["persist"] for out in _outs(stage).values())


def _outs(stage: dict[str, Any]) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    for kind in ("outs", "metrics", "plots"):
        for out in stage.get(kind, []):
            found |= out
    return found


def test_dvc_is_set_up_as_in_the_repository() -> None:
    files = project.texts(_packaged(), [])
    assert (ROOT / ".dvcignore").read_text() == files[".dvcignore"]
    ours, made = configparser.ConfigParser(), configparser.ConfigParser()
    ours.read_string((ROOT / ".dvc" / "config").read_text())
    made.read_string(files[".dvc/config"])
    assert {s: dict(ours[s]) for s in ours} == {s: dict(made[s]) for s in made}


def test_params_keep_their_comments_and_take_the_values() -> None:
    changes = {
        "run.datasets": "[shop]",
        "run.seeds": "[1, 2]",
        "train.lr": "1.0e-05",
        "infer.hops": "{0: 1, 2: 3}",
        "methods.taam.rank": "7",
        "split.odd_class": "merge_into_last",
        "methods.ewc.fisher": "sample",
        "precompute.store_x": "false",
    }
    wanted = _packaged()
    for key, value in changes.items():
        set_value(wanted, f"{key}={value}")
    wanted["datasets"]["shop"] = {}
    wanted["methods"]["nearest"] = {
        "k": 3,
        "metric": "cosine",
        "weights": [1, 2.5],
        "on": True,
        "off": None,
    }
    text = project.params_text(wanted)
    assert yaml.safe_load(text) == wanted
    before, after = PACKAGED.read_text(encoding="utf-8").splitlines(), text.splitlines()
    assert len(after) == len(before) + 2
    assert len([line for line in before if line not in after]) == len(changes)
    assert [x.partition("  #")[2] for x in before if "  #" in x] == [
        x.partition("  #")[2] for x in after if "  #" in x
    ]
    lr = next(x for x in after if x.startswith("  lr: 1.0e-05"))
    assert lr.index("#") == next(x for x in before if x.startswith("  lr: 0.005")).index("#")


def test_files_are_written_all_or_none(tmp_path: Path) -> None:
    files = project.texts(_packaged(), [])
    folder = tmp_path / "new"
    assert {p.relative_to(folder).as_posix() for p in project.write(folder, files)} == set(files)
    (folder / "dvc.yaml").write_text("mine")
    (folder / "params.yaml").unlink()
    with pytest.raises(TaamctlError, match=r"dvc.yaml, .*\.gitignore: there already") as error:
        project.write(folder, files)
    assert "--force" in error.value.hint
    assert not (folder / "params.yaml").exists()
    project.write(folder, files, overwrite=True)
    assert (folder / "dvc.yaml").read_text() == files["dvc.yaml"]


def test_a_failure_in_the_middle_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    files = project.texts(_packaged(), [])
    real, calls = os.replace, []

    def fails_later(source: Any, target: Any) -> None:
        calls.append(target)
        if len(calls) == 3:
            raise OSError(28, "No space left on device")
        real(source, target)

    monkeypatch.setattr(os, "replace", fails_later)
    with pytest.raises(TaamctlError, match="no space left"):
        project.write(tmp_path / "new", files)
    assert not (tmp_path / "new").exists()
    calls.clear()
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / ".gitignore").write_text("mine")
    with pytest.raises(TaamctlError, match="no space left"):
        project.write(tmp_path / "old", files, overwrite=True)
    assert {p.name: p.read_text() for p in (tmp_path / "old").iterdir()} == {".gitignore": "mine"}


@pytest.mark.parametrize("blocked", [".dvc", "."])
def test_a_file_in_the_way_of_a_folder_is_named(tmp_path: Path, blocked: str) -> None:
    folder = tmp_path / "new"
    at = folder / blocked
    at.parent.mkdir(exist_ok=True, parents=True)
    at.write_text("")
    with pytest.raises(TaamctlError, match="is in the way"):
        project.write(folder, project.texts(_packaged(), []), overwrite=True)


def test_both_kinds_of_data_sets_go_into_one_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "shop.h5").touch()
    tree = _packaged()
    tree["run"]["datasets"] = ["shop", "debian"]
    tree["datasets"]["shop"] = {}
    assert project.texts(tree, [])["dvc.yaml"] == project.texts(_packaged(), [])["dvc.yaml"]
