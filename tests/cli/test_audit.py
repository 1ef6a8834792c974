"""`taamctl audit`: green where nothing leaks; every planted leak is caught and named."""

from __future__ import annotations

import contextlib
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from taamctl.audit.perturb import rewrite
from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError
from taamctl.datasets import synthetic
from taamctl.graph.canonical import symmetrise
from taamctl.params.params_file import PACKAGED, read
from taamctl.propagation.operator import build
from taamctl.propagation.powers import hop_matrices
from taamctl.store.artefacts import Artefact
from taamctl.stream.induce import induce

CALL = (
    "audit",
    "--dataset",
    "synthetic",
    "--seed",
    "1",
    "--set",
    "train.epochs=2",
    "--set",
    "train.threads=1",
    "--quiet",
    "--json",
)
HEAD = """
from pathlib import Path
import h5py
import numpy as np
from taamctl.methods.finetune import Method as Honest

Params = None
"""
CHEATERS = {
    "peek": """
class Method(Honest):
    def state(self):  # reads the test features of what it is trained with
        with h5py.File(next(Path().rglob("features.h5")), "r", locking=False) as file:
            stolen = file["tasks/00/test/H"][()].mean(keepdims=True)
            return {**super().state(), "stolen": np.float32(stolen)}
    def stored(self, class_sizes):
        made = super().stored(class_sizes)
        return type(made)(made.parameters, made.rows, made.uncounted + 100, made.net)
""",
    "remember": """
class Method(Honest):
    asked = []
    # keeps what it is asked at test, for the next training in the process
    def logits(self, query, task_id):
        self.asked.append(float(query.h.mean()))
        return super().logits(query, task_id)
    def state(self):
        made = super().state()
        return {k: v + np.float32(sum(self.asked)) for k, v in made.items()}
""",
    "wander": """
SPLIT = "PLACE/outputs/split/synthetic/split.h5"
class Method(Honest):
    def learn(self, tasks, progress):  # the same file in every variant: no perturbation shows it
        with h5py.File(SPLIT, "r", locking=False) as file:
            assert len(file["nodes/y"])
        from taamctl.datasets import synthetic
        synthetic.load(None, synthetic.Params("tiny", 0.5, 1.0, 1))
        return super().learn(tasks, progress)
""",
    "hoard": """
class Method(Honest):
    def state(self):
        x = np.zeros((3, self.info.num_features), np.float32)
        return {**super().state(), "memory/x": x, "memory/y": np.zeros(3, np.int64)}
""",
    "dice": """
class Method(Honest):
    def state(self):
        state = super().state().items()
        return {k: v + np.random.rand(*v.shape).astype(np.float32) for k, v in state}
""",
}


def invoke(folder: Path, *arguments: str) -> Any:
    """Run a verb in this process, in `folder`; an error is raised as it is."""
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, arguments, catch_exceptions=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a split and features of the small synthetic graph."""
    folder = tmp_path_factory.mktemp("audited")
    for stage in ("split", "precompute"):
        assert invoke(folder, stage, "--dataset", "synthetic", "--quiet").exit_code == 0
    return folder


def audited(folder: Path, *more: str, code: int) -> list[dict[str, Any]]:
    done = invoke(folder, *CALL, *more)
    assert done.exit_code == code, done.output
    found: list[dict[str, Any]] = json.loads(done.stdout)
    return found


def failures(found: list[dict[str, Any]]) -> list[str]:
    return [
        f"{c['check']} {c['subject']}: {c['detail']}" for c in found if c["verdict"] == "failed"
    ]


def doctored(
    made: Path,
    folder: Path,
    stage: str,
    name: str,
    array: str,
    change: Callable[[np.ndarray], np.ndarray],
) -> None:
    """Copy what is made, with one array of one artefact changed: whole, with right checksums, as
    one of a faulty stage would be.
    """
    shutil.copytree(made / "outputs", folder / "outputs")
    path = folder / "outputs" / stage / "synthetic" / name
    with Artefact(path) as old:
        changed = change(old.read(array))
    rewrite(path, path, {array: changed}, {})


def test_honest_methods_pass_every_check(made: Path) -> None:
    options = [a for a in CALL[1:] if a != "--json"]
    assert (
        invoke(made, "train", *options, "--method", "taam").exit_code == 0
    )  # one is there to compare with, the other is not
    before = {p: p.read_bytes() for p in (made / "outputs").rglob("*.h5")}
    found = audited(made, "--method", "taam", "--method", "ssm", code=0)
    assert not failures(found)
    assert {p: p.read_bytes() for p in (made / "outputs").rglob("*.h5")} == before
    said = {(c["check"], c["subject"]) for c in found}
    assert {
        ("train", f"synthetic/{m}/seed-1: {kind}")
        for m in ("taam", "ssm")
        for kind in ("features", "edges", "labels")
    } <= said
    changed = [c["detail"] for c in found if c["check"] == "precompute" and ":" in c["subject"]]
    assert len(changed) == 3 and all(
        "arrays of val and test differ" in d for d in changed
    )  # the perturbation itself arrived


@pytest.fixture(scope="module")
def caught(
    support: ModuleType, made: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, list[str]]:
    """Return what an audit says of every cheater, all in one call, by name."""
    site = tmp_path_factory.mktemp("site")
    folder = site / "cheaters-0.1.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: cheaters\nVersion: 0.1\n")
    (folder / "entry_points.txt").write_text(
        "\n".join(["[taamctl.methods]", *(f"{n} = cheater_{n}" for n in CHEATERS)]) + "\n"
    )
    for name, text in CHEATERS.items():
        (site / f"cheater_{name}.py").write_text(HEAD + text.replace("PLACE", str(made)))
    call = [*CALL, *(a for n in CHEATERS for a in ("--method", n))]
    done = support.taamctl(
        made,
        *call,
        env=support.environment(
            PYTHONPATH=os.pathsep.join([str(site), os.environ.get("PYTHONPATH", "")])
        ),
    )
    assert done.code == 1, done.err
    found = failures(json.loads(done.out))
    return {n: [f for f in found if f"synthetic/{n}/" in f] for n in CHEATERS}


def test_a_method_that_reads_test_features_is_caught(caught: dict[str, list[str]]) -> None:
    changes = {
        "features": "the features of other nodes",
        "edges": "the edges that touch other nodes",
    }  # no label: it reads none
    assert caught["peek"] == [
        f"train synthetic/peek/seed-1: {kind}: stages/00/stolen changes when {what} change; 5 "
        "arrays in all"
        for kind, what in changes.items()
    ]


def test_a_method_that_remembers_what_it_predicted_is_caught(caught: dict[str, list[str]]) -> None:
    assert len(caught["remember"]) == 3
    assert all(": stages/00/" in f and "change;" in f for f in caught["remember"])


def test_a_method_that_opens_other_files_is_caught(caught: dict[str, list[str]]) -> None:
    assert caught["wander"] == [
        "reads synthetic/wander/seed-1: training opens outputs/split/synthetic/split.h5 and 1 more"
    ]


def test_a_method_that_keeps_more_than_it_declares_is_caught(caught: dict[str, list[str]]) -> None:
    assert caught["hoard"] == [
        "budget synthetic/hoard/seed-1: Finetuning keeps 3 rows of earlier data, but declares 0"
    ]


def test_chance_is_not_called_a_leak(caught: dict[str, list[str]]) -> None:
    assert len(caught["dice"]) == 3
    assert all("from one training to the next on the same data" in f for f in caught["dice"])


@pytest.mark.parametrize(
    ("name", "change", "said"),
    [
        ("nodes/orig_id", lambda a: np.concatenate([a[:-1], a[:1]]), "nodes"),
        ("edges/indices", lambda a: np.concatenate([a[:-1], [0]]).astype(a.dtype), "edges"),
        ("nodes/y", lambda a: np.concatenate([[a[-1]], a[1:]]), "labels"),
    ],
    ids=["node in two parts", "edge between parts", "wrong label"],
)
def test_a_faulty_split_is_named(
    made: Path, tmp_path: Path, name: str, change: Any, said: str
) -> None:
    doctored(made, tmp_path, "split", "split.h5", name, change)
    found = failures(audited(tmp_path, "--method", "linear_probe", code=1))
    assert any(f.startswith(f"split {said}") for f in found), found
    table = invoke(tmp_path, *CALL[:-1], "--method", "linear_probe").stdout.splitlines()
    assert table[0].split() == ["check", "subject", "result"]
    assert any(line.split()[:2] == ["split", said] and "failed: " in line for line in table)


def test_training_features_that_saw_test_neighbours_are_named(made: Path, tmp_path: Path) -> None:
    """H of one training group as a propagation over all of a task's nodes, parts not kept apart,
    would give it.
    """
    path = "tasks/01/train/H"
    graph = synthetic.load(None, synthetic.Params(**read(PACKAGED)["datasets"]["synthetic"]))
    with Artefact(made / "outputs/split/synthetic/split.h5") as split:
        offset, nodes = split.read("stream/offset"), split.read("nodes/orig_id")
    task = np.sort(nodes[offset[3] : offset[6]])
    edges = induce(symmetrise(graph.adjacency), task, np.array([0, len(task)]))
    h = hop_matrices(build(edges, "add"), np.asarray(graph.features)[task], [2], "scipy")[2][
        np.searchsorted(task, nodes[offset[3] : offset[4]])
    ]
    doctored(made, tmp_path, "precompute", "features.h5", path, lambda _: h)
    found = audited(tmp_path, "--method", "linear_probe", code=1)
    assert failures(found) == [
        f"precompute train groups alone: {path} is not what the training nodes and the edges "
        "between them give"
    ]
    assert ("train", "not run") in {
        (c["check"], c["verdict"]) for c in found
    }  # nothing was trained on them


def test_other_parameters_than_the_artefacts_are_refused(made: Path) -> None:
    with pytest.raises(TaamctlError, match=r"was made with split\.seed 42 \(now 7\)") as caught:
        invoke(made, *CALL, "--method", "linear_probe", "--set", "split.seed=7")
    assert caught.value.exit_code == 2
    assert not list((made / "outputs").glob(".audit-*"))
