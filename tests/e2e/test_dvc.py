"""The DAG under DVC, outside git: what a change reruns, and what it does not."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
# The stage that writes the keys of the others anew runs always; it makes no artefact.
RAN = re.compile(r"^Running stage '(?!keys')([^']+)'", re.MULTILINE)
METHODS = ("finetune", "taam")
PER_DATASET = {"split@synthetic", "precompute@synthetic"}
PER_RUN = {
    stage: {f"{stage}@synthetic-{method}-1" for method in METHODS}
    for stage in ("train", "infer", "eval", "lens")
}
FROM_INFER = PER_RUN["infer"] | PER_RUN["eval"] | PER_RUN["lens"] | {"report"}
EVERYTHING = PER_DATASET | PER_RUN["train"] | FROM_INFER
SMALL = (
    ("datasets: [debian]", "datasets: [synthetic]"),
    ("methods: [taam, linear_probe]", "methods: [taam, finetune]"),
    ("seeds: [1]", "seeds: [1]"),
    ("\n  epochs: 200", "\n  epochs: 3"),
    ("threads: 2", "threads: 1"),
    ("pictures: true", "pictures: false"),
)


@dataclass
class Project:
    """A copy of what DVC looks at, in a folder that no git repository holds."""

    root: Path
    environment: dict[str, str]
    steps: dict[str, set[str]] = field(default_factory=dict)
    bytes: dict[str, dict[str, bytes]] = field(default_factory=dict)

    def dvc(self, *arguments: str) -> str:
        """Run DVC to its end and return what it says."""
        done = subprocess.run(
            [sys.executable, "-m", "dvc", *arguments],
            cwd=self.root,
            env=self.environment,
            text=True,
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            timeout=600,
        )
        assert done.returncode == 0, done.stdout
        return done.stdout

    def edit(self, *changes: tuple[str, str]) -> None:
        """Replace text of params.yaml that stands there exactly once."""
        file = self.root / "params.yaml"
        text = file.read_text(encoding="utf-8")
        for old, new in changes:
            assert text.count(old) == 1, old
            text = text.replace(old, new)
        file.write_text(text, encoding="utf-8")

    def reproduce(self, step: str, support: ModuleType) -> None:
        """Reproduce; keep which stages ran and the bytes of all artefacts."""
        self.steps[step] = set(RAN.findall(self.dvc("repro")))
        self.bytes[step] = support.artefacts(self.root / "outputs")

    def changed(self, before: str, after: str) -> set[str]:
        """Return the artefacts whose bytes differ between two steps."""
        old, new = self.bytes[before], self.bytes[after]
        return {path for path in old.keys() | new.keys() if old.get(path) != new.get(path)}


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Project:
    """Return a project after a sequence of changes, each followed by `dvc repro`."""
    pytest.importorskip("dvc")
    root = tmp_path_factory.mktemp("dvc") / "project"
    root.mkdir()
    for name in ("taamctl", "stages"):
        shutil.copytree(
            REPOSITORY / name, root / name, ignore=shutil.ignore_patterns("__pycache__")
        )
    (root / ".dvc").mkdir()
    for name in ("dvc.yaml", "params.yaml", ".dvcignore", ".dvc/config"):
        shutil.copyfile(REPOSITORY / name, root / name)
    own = root.parent / "dvc-home"
    folders = {
        f"DVC_{name}": str(own / name.lower())
        for name in ("GLOBAL_CONFIG_DIR", "SYSTEM_CONFIG_DIR", "SITE_CACHE_DIR")
    }
    made = Project(
        root,
        support.with_commands(
            root.parent / "commands",
            DVC_NO_ANALYTICS="1",
            GIT_CEILING_DIRECTORIES=str(root.parent),
            **folders,
        ),
    )
    made.edit(*SMALL)
    made.reproduce("first", support)
    made.reproduce("again", support)
    made.edit(
        ("lr: 0.005 ", "lr: 5.0e-3 "),
        ("hops: {0: 1, 2: 1}              # amp", "hops: {2: 1, 0: 1}              # amp"),
    )
    made.reproduce("other spelling", support)
    made.edit(("lr: 5.0e-3 ", "lr: 0.02 "))
    made.reproduce("train.lr", support)
    made.edit(
        (
            "rank: 4                       # rank of the",
            "rank: 3                       # rank of the",
        )
    )
    made.reproduce("methods.taam.rank", support)
    made.edit(
        ("hops: {2: 1, 0: 1}              # amp", "hops: {0: 1, 1: 1, 3: 1}              # amp"),
        ("alpha: 0.1 ", "alpha: 0.2 "),
    )
    made.reproduce("infer", support)
    made.edit((" seed: 42 ", " seed: 43 "))
    made.reproduce("split.seed", support)
    for gone in ("outputs", ".dvc/cache"):
        _remove(root / gone)
    made.reproduce("from scratch", support)
    return made


def _remove(folder: Path) -> None:
    """Delete a folder whose files DVC has made read-only."""
    for path in folder.rglob("*"):
        if path.is_dir():
            path.chmod(0o755)
    shutil.rmtree(folder)


def test_the_project_lies_outside_git(project: Project) -> None:
    assert not any((parent / ".git").exists() for parent in (project.root, *project.root.parents))


def test_the_first_run_makes_everything(project: Project) -> None:
    assert project.steps["first"] == EVERYTHING
    made = project.bytes["first"]
    assert {path.split("/")[0] for path in made} == {
        "split",
        "precompute",
        "train",
        "infer",
        "eval",
        "report",
    }
    assert {path for path in made if path.startswith("train/")} == {
        f"train/synthetic/{m}/seed-1/train.h5" for m in METHODS
    }


def test_running_again_runs_nothing(project: Project) -> None:
    assert project.steps["again"] == set()


def test_another_spelling_of_the_same_values_runs_nothing(project: Project) -> None:
    assert project.steps["other spelling"] == set()


def test_the_learning_rate_reruns_from_train_on(project: Project) -> None:
    assert project.steps["train.lr"] == PER_RUN["train"] | FROM_INFER
    assert not any(
        path.startswith(("split/", "precompute/")) for path in project.changed("first", "train.lr")
    )
    assert {f"train/synthetic/{m}/seed-1/train.h5" for m in METHODS} <= project.changed(
        "first", "train.lr"
    )


def test_a_parameter_of_one_method_reruns_that_method_alone(project: Project) -> None:
    assert project.steps["methods.taam.rank"] == {
        f"{stage}@synthetic-taam-1" for stage in PER_RUN
    } | {"report"}
    assert not any("finetune" in path for path in project.changed("train.lr", "methods.taam.rank"))


def test_a_parameter_of_infer_trains_nothing(project: Project) -> None:
    assert project.steps["infer"] == FROM_INFER
    changed = project.changed("methods.taam.rank", "infer")
    assert not any(path.startswith(("split/", "precompute/", "train/")) for path in changed)
    assert "infer/synthetic/taam/seed-1/infer.h5" in changed


def test_the_split_seed_reruns_everything(project: Project) -> None:
    assert project.steps["split.seed"] == EVERYTHING
    assert {path for path in project.bytes["infer"] if path.endswith(".h5")} <= project.changed(
        "infer", "split.seed"
    )


def test_reproducing_from_scratch_gives_the_same_bytes(project: Project) -> None:
    assert project.steps["from scratch"] == EVERYTHING
    assert project.changed("split.seed", "from scratch") == set()


def test_a_stage_run_by_dvc_is_reused_by_the_command_line(
    project: Project, support: ModuleType
) -> None:
    done = support.taamctl(project.root, "run", env=project.environment)
    assert done.code == 0, done.err
    assert ": wrote " not in done.err
    assert done.err.count(": reused ") == len(EVERYTHING - PER_RUN["lens"])  # no graph of one's own


def test_the_command_line_can_write_over_what_dvc_has_cached(
    project: Project, support: ModuleType
) -> None:
    """Run a stage by hand over a file that DVC keeps as a link into its cache: the cache must
    not change under it.
    """
    cached = {
        p: p.read_bytes()
        for p in (project.root / ".dvc" / "cache" / "files").rglob("*")
        if p.is_file()
    }
    assert cached
    done = support.taamctl(
        project.root,
        "split",
        "--dataset",
        "synthetic",
        "--set",
        "split.seed=5",
        env=project.environment,
    )
    assert done.code == 0, done.err
    assert (project.root / "outputs/split/synthetic/split.h5").read_bytes() != project.bytes[
        "from scratch"
    ]["split/synthetic/split.h5"]
    assert {p: p.read_bytes() for p in cached} == cached
    project.dvc("checkout", "--force", "outputs/split/synthetic/split.h5")
    assert support.artefacts(project.root / "outputs") == project.bytes["from scratch"]
