"""Splits, looks through the lens and single stages on a cluster: the bytes of a local run, of a
graph of one's own too, which workers do not have in their folder.
"""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from taamctl.stages import infer, split
from typer.testing import CliRunner

from taamctl.cli import common, reproduce_plans, within_memory
from taamctl.cli.app import app
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.cluster import probe, stage_units
from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.core.units import MIB
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.pipeline import lens_run, lens_walk, walk
from taamctl.report import published
from taamctl.report.published import LensLine
from taamctl.runtime import stage_jobs
from taamctl.runtime.job import Context
from taamctl.store.atomic_files import read_json

pytest.importorskip("distributed", reason="needs the dask extra")

SETS = ("train.epochs=1", "train.threads=1", "lens.batches=[10]")
NAMES = ("mine", "other")
METHODS = ("finetune", "taam")
FILES = ("split.h5", "features.h5", "train.h5", "infer.h5", "eval.json", "lens.json")


@pytest.fixture
def project(tmp_path: Path, client: Any, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two graphs of one's own, and work in it; the workers do not."""
    monkeypatch.chdir(tmp_path)
    for seed, name in enumerate(NAMES):
        _imported.write(tmp_path / "data" / f"{name}.h5", drawn(name, seed), {})
    return tmp_path


def drawn(name: str, seed: int) -> NodeGraph:
    """Return a graph of six classes drawn at random."""
    rng = np.random.default_rng(seed)
    labels = np.repeat(np.arange(6), 40)
    source, target = rng.integers(0, len(labels), (2, 4000))
    near = (labels[source] == labels[target]) | (rng.random(4000) < 0.1)
    adjacency, _ = adjacency_from_edges(source[near], target[near], len(labels), name)
    x = (rng.normal(size=(6, 8))[labels] + rng.normal(size=(len(labels), 8))).astype(np.float32)
    return NodeGraph(name, adjacency, x, labels, tuple("abcdef"), ())


def context(name: str, **more: Any) -> Context:
    made = common.make_context(
        Grid(list(NAMES), list(METHODS), [1, 2]),
        RawSettings(overrides=list(SETS), outputs=Path(name)),
        Writing(quiet=True),
        check_methods=True,
    )
    return replace(made, **more)


def files(name: str) -> dict[str, bytes]:
    """Return the bytes of all artefacts below an outputs folder."""
    paths = [p for file in FILES for p in Path(name).rglob(file)]
    return {str(p.relative_to(name)): p.read_bytes() for p in paths}


def test_workers_split_and_look_as_this_process_does(
    client: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    here = context("here")
    walk.to_eval(here)
    looked = lens_walk.all_runs(here)
    local = files("here")
    assert len(local) == 2 * 2 + 2 * 2 * 2 * 4

    def not_here(*arguments: object) -> None:
        raise AssertionError("done in this process")

    monkeypatch.setattr(split, "split_rows", not_here)
    monkeypatch.setattr(lens_run, "_cells", not_here)
    lines: list[str] = []
    there = context("there", tell=lines.append)
    walk.to_eval(there, client)
    again = lens_walk.all_runs(there, client)
    assert [p.relative_to("there") for p in again] == [p.relative_to("here") for p in looked]
    assert files("there") == local
    wrote = [line.split(":")[0] for line in lines if " wrote " in line]
    assert sorted(w for w in wrote if w.startswith("split")) == ["split mine", "split other"]
    assert len([w for w in wrote if w.startswith("lens")]) == 2 * 2 * 2
    at = next(n for n, line in enumerate(lines) if line.startswith("split mine: wrote"))
    assert "3 tasks, 6 classes, 240 nodes" in lines[at + 1]  # and so on: its account follows it
    record = read_json(Path("there/precompute/mine/features.h5.provenance.json"))
    assert record["facts"]["executor"] == "dask"

    lines.clear()
    walk.split(there, client)
    lens_walk.all_runs(there, client)
    assert [line for line in lines if " wrote " in line] == []
    walk.split(there)
    assert sum(" reused " in line for line in lines) == 2 + 8 + 2

    layout = replace(there.layout, root=Path("there/compare/again"), home=Path("there"))
    walk.to_eval(replace(there, layout=layout), client)  # takes what another tree has
    taken = {name: data for name, data in local.items() if "lens" not in name}
    assert files("there/compare/again") == taken

    small = within_memory._beside(replace(here, force=True, max_memory=700 * MIB), 2)
    words = (
        "lens mine/finetune needs about .* on a worker, --max-memory 700 MiB leaves 2 of them 140"
    )
    with pytest.raises(TaamctlError, match=words):
        lens_walk.all_runs(small, client)


def test_a_graph_that_a_worker_lacks_is_named_with_the_worker(
    client: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = context("outputs")
    right = probe.expect

    def elsewhere(*arguments: Any) -> probe.Expected:
        found = right(*arguments)
        return replace(found, file=found.file.replace(str(project), "/nowhere"))

    monkeypatch.setattr(probe, "expect", elsewhere)
    words = r"2 of 2 workers .*tcp://127.0.0.1:\d+ cannot read /nowhere/data/mine.h5 \(No such file"
    with pytest.raises(TaamctlError, match=words) as error:
        walk.split(made, client)
    assert "graphs of one's own have to be on every worker, under the same path" in error.value.hint
    assert not list(project.rglob("split.h5"))

    monkeypatch.undo()
    monkeypatch.chdir(project)
    job = stage_jobs.split(made, data_set("mine"))
    unit = stage_units.Unit("mine", made, walk.split_one, ("mine",), (job,))
    expected = stage_units._needs(unit)
    Path("data/mine.h5").rename("data/away.h5")
    words = r"the worker on .* \(process \d+\) cannot read .*/data/mine.h5"
    with pytest.raises(TaamctlError, match=words):
        stage_units.work(unit, expected)


def test_what_a_worker_wrote_and_nobody_sees_is_told(
    client: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    right = stage_units._portable

    def apart(context: Context) -> Context:
        made = right(context)
        return replace(made, layout=replace(made.layout, root=project / "apart"))

    monkeypatch.setattr(stage_units, "_portable", apart)
    with pytest.raises(
        TaamctlError, match=r"a worker wrote .*split.h5, but it is not here"
    ) as told:
        walk.split(context("outputs"), client)
    assert "--outputs" in told.value.hint
    assert len(list((project / "apart").rglob("split.h5"))) == 2


def test_another_working_folder_holds_for_its_body(project: Path) -> None:
    def found() -> Path | None:
        return registry.imported("taamctl.datasets").get("mine")

    assert found() == Path("data/mine.h5")
    with registry.working_in(project / "nothing"):
        assert found() is None
        with registry.working_in(project):
            assert found() == project / "data" / "mine.h5"
    assert found() == Path("data/mine.h5")


def test_the_lens_table_on_a_cluster_says_the_same(
    client: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = LensLine("finetune", "finetune", "none", "node")
    monkeypatch.setattr(published, "lens_rows", lambda: [row])
    found = []
    for name, where in (("here", None), ("there", client)):
        settings = RawSettings(overrides=list(SETS), outputs=tmp_path / name)
        plan = reproduce_plans.plan_of("lens", ("synthetic",), [1], settings, Writing(quiet=True))
        found.append(plan.table(None, where))
    assert found[0] == found[1]
    assert len(found[0].lines) == 1


def test_every_stage_alone_is_done_by_workers(
    cluster: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def call(verb: str, outputs: str, *more: str) -> Any:
        grid: list[str] = []
        if verb not in ("split", "precompute"):
            grid = ["--method", "taam", "--seed", "1"]
        sets = [word for change in SETS for word in ("--set", change)]
        words = [verb, "--dataset", "mine", *grid, *sets, "--outputs", outputs, *more]
        return CliRunner().invoke(app, words)

    verbs = ("split", "precompute", "train", "infer", "eval", "lens")
    for verb in verbs:
        assert call(verb, "here").exit_code == 0
    monkeypatch.setattr(split, "split_rows", None)
    monkeypatch.setattr(infer, "infer_parts", None)
    monkeypatch.setattr(lens_run, "_cells", None)
    away = ("--executor", "dask", "--scheduler", cluster.scheduler_address)
    for verb, missing in (("train", "features.h5"), ("infer", "features.h5"), ("lens", "split.h5")):
        error = call(verb, "there", *away).exception
        assert isinstance(error, TaamctlError)
        assert re.search(f"{verb} needs .*{missing}, which is not there", error.message)
    for verb in verbs:
        done = call(verb, "there", *away)
        assert done.exit_code == 0, done.exception
    assert files("there") == files("here")
    assert len(files("there")) == len(FILES)
