"""The README and the pages are run: every command in them, in the order of the pages.

A page's commands begin in one folder, a copy of the checkout, where all pages before it have run; a
line `cd shop` holds for the rest of the page. A command that an earlier page ran at the same place
is not run again.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

from taamctl.core import registry
from taamctl.manual import pages
from taamctl.runtime.stage_table import STAGES
from taamctl.store import schema

ROOT = Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text(encoding="utf-8")
TEXTS = {"readme": README, **{page.name: page.text for page in pages.pages()}}
BLOCK = re.compile(r"^```(sh|python)\n(.*?)^```", flags=re.DOTALL | re.MULTILINE)
BY_CI = ("pip ", "pytest")
APART = {
    "own-graph",
    "questions",
    "python",
    "dvc-views",
    "report-page",
}  # pages that tests of their own run
# pages that need nothing of others, and whose verbs have quick tests elsewhere
SLOW = (
    *("growing-model", "link-new-nodes", "text-to-features", "update-bank", "forget-nodes"),
    *("serve", "honest-answers", "graph-in-time"),
)


@dataclass(frozen=True)
class Step:
    """A command of a page, or a piece of Python, and the folder that it runs in."""

    page: str
    folder: str
    text: str
    python: bool


def steps(names: Iterable[str]) -> list[Step]:
    """Return what is to be run of some pages, each thing once."""
    found: dict[tuple[str, str], Step] = {}
    for page in names:
        folder = "."
        for language, block in BLOCK.findall(TEXTS[page]):
            lines = [block] if language == "python" else block.splitlines()
            for line in filter(None, lines):
                if line.startswith("cd "):
                    folder = os.path.normpath(os.path.join(folder, line[3:].strip()))
                elif not line.startswith(("#", *BY_CI)):
                    found.setdefault((folder, line), Step(page, folder, line, language == "python"))
    return list(found.values())


STEPS = steps(page for page in TEXTS if page not in {*APART, *SLOW})


def name_of(step: Step) -> str:
    return f"{step.page}: {step.text.splitlines()[0][:60]}"


def test_installing_and_testing_are_what_ci_does() -> None:
    script = (ROOT / ".ci" / "run").read_text()
    blocks = [b for text in TEXTS.values() for language, b in BLOCK.findall(text)]
    ours = {line for block in blocks for line in block.splitlines() if line.startswith(BY_CI)}
    assert ours == {
        "pip install .",
        "pip install -e '.[test]'",
        "pytest -n auto --dist loadfile --no-loadscope-reorder",
    }
    for words in (
        "install",
        "'.[test]'",
        "pytest -q -n auto --dist loadfile --no-loadscope-reorder",
        "build --wheel",
    ):
        assert words in script


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    """Return a copy of the checkout, outside git, with runs cut short."""
    folder = tmp_path_factory.mktemp("checkout")
    for name in ("dvc.yaml", "params.yaml", ".dvcignore"):
        shutil.copy(ROOT / name, folder / name)
    (folder / ".dvc").mkdir()
    shutil.copy(ROOT / ".dvc" / "config", folder / ".dvc" / "config")
    for name in ("taamctl", "stages"):
        shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__"))
    params = (folder / "params.yaml").read_text()
    (folder / "params.yaml").write_text(support.shortened(params))
    return folder


class Session:
    """The steps of all pages, run one after another, each once.

    A step may need what those above it left, so that a test of one runs those above it first.
    """

    def __init__(self, folder: Path, steps: list[Step], support: ModuleType) -> None:
        self.folder = folder
        self.steps = steps
        self.shortened = support.shortened
        self.done: list[subprocess.CompletedProcess[str]] = []
        self.environment = support.with_commands(folder.parent / "commands", NO_COLOR="1")

    def run_to(self, position: int) -> subprocess.CompletedProcess[str]:
        """Return how the step at `position` ended."""
        for step in self.steps[len(self.done) : position + 1]:
            self.done.append(self.run(step))
            if step.text.startswith("taamctl init"):
                self.shorten(self.folder / step.folder / "params.yaml")
        return self.done[position]

    def shorten(self, params: Path) -> None:
        """Cut short the runs of a folder that has been set up."""
        params.write_text(self.shortened(params.read_text(encoding="utf-8")), encoding="utf-8")

    def run(self, step: Step) -> subprocess.CompletedProcess[str]:
        """Run a shell line, or a piece of Python."""
        words = ["bash", "-c", step.text]
        if step.python:
            words = [sys.executable, "-c", step.text]
        return subprocess.run(
            words,
            cwd=self.folder / step.folder,
            env=self.environment,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
        )


@pytest.fixture(scope="module")
def session(checkout: Path, support: ModuleType) -> Session:
    return Session(checkout, STEPS, support)


def test_the_main_job_and_the_dag_are_among_the_commands_of_the_readme() -> None:
    ours = [step.text for step in STEPS if step.page == "readme"]
    assert {"taamctl run", "dvc repro"} <= set(ours)
    assert any("data import" in line for line in ours)
    assert len(README.splitlines()) <= 150


@pytest.mark.parametrize("position", range(len(STEPS)), ids=map(name_of, STEPS))
def test_the_step_runs(session: Session, position: int) -> None:
    ended = session.run_to(position)
    assert ended.returncode == 0, f"{ended.stdout[-2000:]}\n{ended.stderr[-2000:]}"
    if STEPS[position].text == "dvc status":
        # the keys are written anew each time; everything else is up to date
        assert ended.stdout.split() == ["keys:", "always", "changed"]


@pytest.mark.slow
@pytest.mark.parametrize("page", SLOW)
def test_a_page_runs_by_itself(page: str, tmp_path: Path, support: ModuleType) -> None:
    folder = tmp_path / "page"
    folder.mkdir()
    session = Session(folder, steps([page]), support)
    for position, step in enumerate(session.steps):
        ended = session.run_to(position)
        assert ended.returncode == 0, f"{step.text}\n{ended.stderr[-2000:]}"


def test_verbs_methods_data_sets_and_artefacts_are_all_there() -> None:
    for stage in STAGES:
        assert f"`taamctl {stage}`" in TEXTS["verbs"]
    for kind in ("datasets", "methods"):
        for name in registry.builtin(f"taamctl.{kind}"):
            assert f"`{name}`" in TEXTS[kind]
    assert schema.markdown() in TEXTS["artefacts"]


def test_the_tree_names_every_package() -> None:
    for folder in sorted(
        p.name for p in (ROOT / "taamctl").iterdir() if p.is_dir() and not p.name.startswith("_")
    ):
        assert f"{folder}/" in TEXTS["architecture"], folder
