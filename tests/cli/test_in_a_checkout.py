"""A checkout whose code is not the one that runs, and the reasons that status tells."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

import taamctl
from taamctl.cli import this_folder


@pytest.fixture
def checkout(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a copy of the code that runs; work goes on inside it."""
    running = Path(taamctl.__file__).parent
    ignored = shutil.ignore_patterns("__pycache__", "*.npz", "*.png")
    shutil.copytree(running, tmp_path / "taamctl", ignore=ignored)
    beside = running.parent / "stages"
    if beside.is_dir():
        shutil.copytree(beside, tmp_path / "stages", ignore=ignored)
    (tmp_path / "dvc.yaml").write_text("stages: {}\n")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_the_same_code_needs_no_warning(checkout: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert (checkout / "taamctl" / "cli" / "app.py").is_file()
    this_folder.warn_of_other_code()
    assert capsys.readouterr().err == ""


def test_stages_lie_inside_an_installed_package_and_beside_that_of_a_checkout(
    checkout: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    if not (checkout / "stages").is_dir():
        pytest.skip("the package that runs is installed, and no checkout")
    installed = checkout.parent / "site-packages" / "taamctl"
    shutil.copytree(checkout / "taamctl", installed)
    shutil.copytree(checkout / "stages", installed / "stages")
    monkeypatch.setattr(this_folder, "__file__", str(installed / "cli" / "this_folder.py"))
    this_folder.warn_of_other_code()
    assert capsys.readouterr().err == ""
    (checkout / "stages" / "train.py").write_text("", encoding="utf-8")
    this_folder.warn_of_other_code()
    assert "not this checkout's" in capsys.readouterr().err


@pytest.mark.parametrize("edit", ["changed", "added", "removed"])
def test_other_code_is_told(checkout: Path, capsys: pytest.CaptureFixture[str], edit: str) -> None:
    file = checkout / "taamctl" / "cli" / "app.py"
    if edit == "changed":
        file.write_text(file.read_text(encoding="utf-8") + "# edited\n", encoding="utf-8")
    elif edit == "added":
        file.with_name("more.py").write_text("")
    else:
        file.unlink()
    this_folder.warn_of_other_code()
    assert "not this checkout's" in capsys.readouterr().err


def test_status_tells_the_first_reasons_and_json_all(tmp_path: Path, support: Any) -> None:
    run = ("run", "--dataset", "synthetic", "--seed", "1", "--set", "train.epochs=1")
    one = ("--method", "linear_probe")
    assert support.taamctl(tmp_path, *run, *one, "--method", "finetune").code == 0
    told = support.taamctl(tmp_path, "status", *run[1:], *one)
    whole = support.taamctl(tmp_path, "status", *run[1:], *one, "--json")
    (report,) = (line for line in json.loads(whole.out) if line["stage"] == "report")
    assert any(len(reason) > 100 for reason in report["reasons"])
    assert not any(reason in told.out for reason in report["reasons"] if len(reason) > 100)
    assert len(told.out) < 3000
