"""The README is run: every command in it, and every table that the code knows better."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from taamctl.core import registry
from taamctl.runtime import schema
from taamctl.runtime.layout import STAGES

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [
    line for block in BLOCKS for line in block.splitlines() if line and not line.startswith("#")
]
BY_CI = ("pip ", "pytest")


def test_installing_and_testing_are_what_ci_does() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    ours = [c for c in COMMANDS if c.startswith(BY_CI)]
    assert ours == [
        "pip install .",
        "pip install -e '.[test]'",
        "pytest -n auto --dist loadfile --no-loadscope-reorder",
    ]
    for words in (
        "install",
        "'.[test]'",
        "pytest -q -n auto --dist loadfile --no-loadscope-reorder",
        "build --wheel",
    ):
        assert words in script


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a copy of the checkout, outside git, with training cut to two epochs."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("dvc.yaml", "params.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, folder / name)
    (folder / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc" / "config", folder / ".dvc" / "config")
    for name in ("taamctl", "stages"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    params = (folder / "params.yaml").read_text()
    shorter = re.sub(r"epochs: \d+", "epochs: 2", params)
    assert shorter != params
    (folder / "params.yaml").write_text(shorter)
    return folder


def test_every_command_runs_in_the_order_of_the_page(checkout: Path) -> None:
    environment = {
        **os.environ,
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "NO_COLOR": "1",
    }
    ran = [c for c in COMMANDS if not c.startswith(BY_CI)]
    assert "taamctl run" in ran and "dvc repro" in ran
    for command in ran:
        done = subprocess.run(
            command,
            shell=True,
            cwd=checkout,
            env=environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )
        allowed = (
            (0, 1) if command == "taamctl doctor" else (0,)
        )  # doctor says no where an optional part is missing
        assert done.returncode in allowed, (
            f"{command}\n{done.stdout[-2000:]}\n{done.stderr[-2000:]}"
        )
        if command == "dvc status":
            assert "up to date" in done.stdout
    snippets = re.findall(
        r"```python\n(.*?)```", README, flags=re.DOTALL
    )  # they go on where the commands ended, in the shop's folder
    assert len(snippets) == 1
    for snippet in snippets:
        done = subprocess.run(
            [sys.executable, "-c", snippet],
            cwd=checkout / "shop",
            env=environment,
            capture_output=True,
            text=True,
        )
        assert done.returncode == 0, f"{snippet}\n{done.stderr[-2000:]}"


def test_verbs_methods_data_sets_and_artefacts_are_all_there() -> None:
    for stage in STAGES:
        assert f"`taamctl {stage}`" in README
    for name in registry.names("taamctl.datasets"):
        assert f"`{name}`" in README
    assert schema.markdown() in README


def test_the_tree_names_every_package() -> None:
    for folder in sorted(
        p.name for p in (ROOT / "taamctl").iterdir() if p.is_dir() and not p.name.startswith("_")
    ):
        assert f"{folder}/" in README, folder
