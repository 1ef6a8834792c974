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
from taamctl.runtime.stage_table import STAGES
from taamctl.store import schema

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"```sh\n(.*?)```", README, flags=re.DOTALL)
COMMANDS = [
    line for block in BLOCKS for line in block.splitlines() if line and not line.startswith("#")
]
BY_CI = ("pip ", "pytest")
RAN = [command for command in COMMANDS if not command.startswith(BY_CI)]


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


class Page:
    """The commands of the README, run one after another in one folder, each once.

    A command may need what those above it left, so that a test of one runs those above it first.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.done: list[subprocess.CompletedProcess[str]] = []
        path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
        self.environment = {**os.environ, "PATH": path, "NO_COLOR": "1"}

    def run_to(self, position: int) -> subprocess.CompletedProcess[str]:
        """Return how the command at `position` ended."""
        for command in RAN[len(self.done) : position + 1]:
            self.done.append(self.run(command, self.folder))
        return self.done[position]

    def run(self, command: str | list[str], folder: Path) -> subprocess.CompletedProcess[str]:
        """Run a shell line, or a program with arguments."""
        return subprocess.run(
            command,
            shell=isinstance(command, str),
            cwd=folder,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture(scope="module")
def page(checkout: Path) -> Page:
    return Page(checkout)


def test_the_main_job_and_the_dag_are_among_the_commands() -> None:
    assert "taamctl run" in RAN
    assert "dvc repro" in RAN


@pytest.mark.parametrize("position", range(len(RAN)), ids=[c[:60] for c in RAN])
def test_the_command_runs(page: Page, position: int) -> None:
    command = RAN[position]
    ended = page.run_to(position)
    # doctor says no where an optional part is missing
    allowed = (0, 1) if command == "taamctl doctor" else (0,)
    assert ended.returncode in allowed, f"{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
    if command == "dvc status":
        # the keys are written anew each time; everything else is up to date
        assert ended.stdout.split() == ["keys:", "always", "changed"]


def test_the_python_of_the_page_goes_on_where_the_commands_ended(page: Page) -> None:
    page.run_to(len(RAN) - 1)
    (snippet,) = re.findall(r"```python\n(.*?)```", README, flags=re.DOTALL)
    ended = page.run([sys.executable, "-c", snippet], page.folder / "shop")
    assert ended.returncode == 0, ended.stderr[-2000:]


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
