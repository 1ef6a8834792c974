"""What was trained on one split is not tested on another."""

from __future__ import annotations

import shlex
import shutil
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from taamctl.stages import eval as evaluate
from taamctl.stages import infer, precompute, split, train

from taamctl.cli import common
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.pipeline import lens_run, walk
from taamctl.runtime.job import Context

WHICH = ("shop", "taam", 1)
SEED = "split.seed=3"


def graph(seed: int) -> NodeGraph:
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(4), 12)
    ends = rng.integers(0, len(labels), (2, 200))
    adjacency, _ = adjacency_from_edges(ends[0], ends[1], len(labels), "shop")
    features = rng.normal(size=(len(labels), 4)).astype(np.float32)
    return NodeGraph("shop", adjacency, features, labels, tuple("abcd"))


def asked(folder: Path, *changes: str) -> Context:
    settings = RawSettings(
        overrides=["train.epochs=1", "train.threads=1", *changes],
        outputs=folder / "outputs",
        data_root=folder / "data",
    )
    grid = Grid(["shop"], ["taam"], [1])
    return common.make_context(grid, settings, Writing(quiet=True), check_methods=True)


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder in which one method was trained, asked and looked at on a split of its own
    seed.
    """
    folder = tmp_path_factory.mktemp("same-split")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        _imported.write(folder / "data" / "shop.h5", graph(0), {})
        context = asked(folder, SEED)
        walk.to_eval(context)
        look(context)
    return folder


@pytest.fixture
def folder(trained: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    shutil.copytree(trained, tmp_path / "shop")
    monkeypatch.chdir(tmp_path / "shop")
    return tmp_path / "shop"


def look(context: Context) -> bool:
    return lens_run.run(lens_run.LensInputs(context, "shop"), "taam", 1).reused


def looks(context: Context) -> dict[str, object]:
    return {
        "infer": lambda: infer.run(context, *WHICH),
        "eval": lambda: evaluate.run(context, *WHICH),
        "lens": lambda: look(context),
    }


@pytest.mark.parametrize("stage", ["infer", "eval", "lens"])
def test_a_training_on_another_split_is_refused(folder: Path, stage: str) -> None:
    context = asked(folder)
    split.run(context, "shop")
    precompute.run(context, "shop")
    with pytest.raises(TaamctlError, match=r"split\.seed 3 \(now 42\).*may be among") as refused:
        looks(context)[stage]()  # type: ignore[operator]
    again, there = refused.value.hint.split("; or ")
    line = shlex.split(again.partition(": ")[2])
    assert line[:2] == ["taamctl", "run"]
    assert line[-2:] == ["--set", "split.seed=42"]
    assert there == "ask of what is there with: --set split.seed=3"
    walk.one_run(context, WHICH)
    looks(context)[stage]()  # type: ignore[operator]


def test_what_is_there_can_be_asked_as_the_hint_says(folder: Path) -> None:
    with pytest.raises(TaamctlError, match=r"split\.seed 3 \(now 42\)"):
        infer.run(asked(folder), *WHICH)
    assert infer.run(asked(folder, SEED), *WHICH).reused


@pytest.mark.parametrize("change", ["precompute.hops=1", "split.train=0.5", "split.val=0.25"])
def test_whatever_lies_before_training_counts(folder: Path, change: str) -> None:
    changes = [SEED, change]
    if change.startswith("split"):
        changes += ["split.train=0.5", "split.val=0.25", "split.test=0.25"]
    context = asked(folder, *changes)
    name = change.partition("=")[0].replace(".", r"\.")
    with pytest.raises(TaamctlError, match=f"{name} .*may be among"):
        infer.run(context, *WHICH)


def test_the_same_parameters_on_a_graph_that_has_changed_are_another_split(folder: Path) -> None:
    context = asked(folder, SEED)
    _imported.write(folder / "data" / "shop.h5", graph(1), {})
    split.run(context, "shop")
    precompute.run(context, "shop")
    for test in looks(context).values():
        with pytest.raises(TaamctlError, match=r"are of two splits") as refused:
            test()  # type: ignore[operator]
        assert "taamctl run --dataset shop --method taam --seed 1" in refused.value.hint
    train.run(context, *WHICH)
    assert not infer.run(context, *WHICH).reused


def test_what_cannot_leak_is_told_and_goes_on(folder: Path) -> None:
    heard: list[str] = []
    changes = (SEED, "infer.metric=euclid", "lens.batches=[4]", "precompute.store_edges=false")
    context = replace(asked(folder, *changes, "train.epochs=2"), tell=heard.append)
    assert not infer.run(context, *WHICH).reused
    assert not evaluate.run(context, *WHICH).reused
    assert not look(context)
    notes = [line for line in heard if line.startswith("note: ")]
    assert any("train.epochs 1 (now 2)" in line for line in notes)
    assert any("precompute.store_edges True (now False)" in line for line in notes)


def test_features_that_are_kept_afterwards_are_of_the_same_split(folder: Path) -> None:
    context = asked(folder, SEED, "precompute.store_x=false")
    precompute.run(context, "shop")
    with pytest.raises(TaamctlError, match=r"does not hold what this method needs: x"):
        look(asked(folder, SEED, "precompute.store_x=false", "lens.batches=[4]"))
    again = asked(folder, SEED, "lens.batches=[4]")
    precompute.run(again, "shop")
    assert not look(again)


def test_what_comes_to_the_same_is_of_the_split_that_was_made_last(folder: Path) -> None:
    """An order's seed counts for nothing where the order is natural."""
    context = asked(folder, SEED, "split.order_seed=5")
    walk.to_eval(context)
    for test in looks(context).values():
        test()  # type: ignore[operator]
    assert infer.run(context, *WHICH).reused


def test_an_edge_between_tasks_changes_no_training(folder: Path) -> None:
    context = asked(folder, SEED)
    before = graph(0)
    target = np.repeat(np.arange(48), np.diff(before.adjacency.indptr))
    ends = np.append(before.adjacency.indices, [0, 1]), np.append(target, [47, 46])
    wider, _ = adjacency_from_edges(*ends, 48, "shop")
    _imported.write(folder / "data" / "shop.h5", replace(before, adjacency=wider), {})
    walk.to_eval(context)
    assert infer.run(context, *WHICH).reused
    look(context)
