"""Subnormal numbers count as zero in every thread that computes, and wherever the product
computes; nowhere else.
"""

from __future__ import annotations

import importlib
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import torch
from taamctl.stages import infer, precompute, split, train

from taamctl.bank import add, bank, change, store, verify
from taamctl.bank.config import from_params
from taamctl.bank.graph_source import from_dataset
from taamctl.cli import common
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core import subnormals
from taamctl.core.data_set import data_set
from taamctl.models import sweep
from taamctl.params import params_file, sections
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.pipeline import lens_run as lens
from taamctl.runtime import provenance, stage_jobs
from taamctl.store import artefacts, atomic_files

OVERRIDES = ["train.epochs=2", "train.threads=2", "bank.router.width=24", "lens.router.width=24"]

with subnormals.flushed():
    CAN = subnormals.flushes_here()
pytestmark = pytest.mark.skipif(not CAN, reason="this processor cannot flush subnormal numbers")


@pytest.fixture(autouse=True)
def two_threads() -> Any:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    assert not subnormals.flushes_here(), "the rule outlived the work"
    torch.set_num_threads(before)


def use_torchs_threads() -> None:
    torch.ones(1 << 20).mul_(2.0)


def test_inside_this_thread_flushes_and_afterwards_it_does_not() -> None:
    tiny = np.full(4, 1e-20, np.float32)
    with subnormals.flushed():
        assert not (tiny * tiny).any()
        assert not (torch.from_numpy(tiny) * torch.from_numpy(tiny)).any()
    assert (tiny * tiny).all()


def test_threads_that_torch_has_already_flush_too_and_go_back() -> None:
    use_torchs_threads()
    assert not subnormals.threads_flush()
    with subnormals.flushed():
        assert subnormals.threads_flush()
        with subnormals.flushed():
            assert subnormals.threads_flush()
        assert subnormals.threads_flush()
    kept = torch.full((1 << 18,), 1e-30).mul_(1e-10)
    assert kept.all(), "a thread still flushes"


def test_threads_beyond_those_in_use_flush_when_they_are_used_again() -> None:
    use_torchs_threads()
    torch.set_num_threads(1)
    with subnormals.flushed():
        torch.set_num_threads(2)
        assert subnormals.threads_flush()


def test_a_process_that_flushes_already_is_left_so() -> None:
    torch.set_flush_denormal(True)
    try:
        with subnormals.flushed():
            assert subnormals.flushes_here()
        assert subnormals.flushes_here()
    finally:
        torch.set_flush_denormal(False)
        subnormals._end_openmp_threads()


def test_an_error_inside_leaves_the_process_as_it_was() -> None:
    with pytest.raises(ValueError, match="inside"), subnormals.flushed():
        raise ValueError("inside")
    assert not subnormals.flushes_here()


@pytest.mark.parametrize("flush", [True, False])
def test_a_new_thread_does_as_the_one_that_made_it(flush: bool) -> None:
    """By the call itself, whatever the system hands down: the thread is told the opposite first."""
    found: list[bool] = []
    begin: list[Callable[[], None]] = []
    if flush:
        with subnormals.flushed():
            begin.append(subnormals.for_new_threads())
    else:
        begin.append(subnormals.for_new_threads())

    def work() -> None:
        torch.set_flush_denormal(not flush)
        begin[0]()
        found.append(subnormals.flushes_here())

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert found == [flush]


def test_the_threads_of_the_sweep_flush() -> None:
    with subnormals.flushed(), sweep.workers(torch.device("cpu")) as spread:
        assert all(spread(lambda _: subnormals.flushes_here(), range(16)))


@pytest.fixture(scope="module")
def context(tmp_path_factory: pytest.TempPathFactory) -> Any:
    made = common.make_context(
        Grid(["synthetic"], ["taam"], [1]),
        Settings(overrides=OVERRIDES, outputs=tmp_path_factory.mktemp("outputs")),
        Writing(force=True, quiet=True),
        check_methods=True,
    )
    split.run(made, "synthetic")
    precompute.run(made, "synthetic")
    train.run(made, "synthetic", "taam", 1)
    return made


@pytest.fixture(scope="module")
def banked(context: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("banks") / "bank"
    store.create(
        folder,
        from_params(
            sections.Params("test", params_file.read(params_file.PACKAGED, OVERRIDES)), "taam", 1
        ),
    )
    add.add(folder, source(context), per_task=5)
    return folder


def source(context: Any) -> Any:
    return from_dataset(
        "synthetic",
        None,
        context.params.plugin(
            "datasets",
            "synthetic",
            importlib.import_module("taamctl.datasets.synthetic").META.params,
        ),
    )


def learn_a_unit(context: Any) -> None:
    from taamctl.cluster import probe, work_unit

    recipe, job, _ = train.plan(context, "synthetic", "taam", 1)
    file, made_by = job.inputs[0]
    work_unit.learn(
        recipe, probe.expect(job, file, provenance.sha256(file), recipe.device), made_by, 0, []
    )


def propagate_a_unit(context: Any) -> None:
    from taamctl.cluster import column_unit, probe

    file = context.layout.file("split", "synthetic")
    job = stage_jobs.precompute(context, data_set("synthetic"))
    expected = probe.expect(job, file, provenance.sha256(file), "cpu")
    own = context.params.plugin(
        "datasets", "synthetic", importlib.import_module("taamctl.datasets.synthetic").META.params
    )
    column_unit.propagate(
        column_unit.Source(expected, "taamctl split", (), "synthetic", own, None),
        context.params.section(PrecomputeParams),
        "none",
        0,
        4,
        context.layout.root,
    )


def look(context: Any) -> None:
    lens.run(lens.LensInputs(context, "synthetic"), "taam", 1)


# (module, function) that computes -> what gets there as a user does
PLACES: dict[str, tuple[str, Callable[[Any, Path], object]]] = {
    "split": ("taamctl.stages.split:split_rows", lambda c, b: split.run(c, "synthetic")),
    "precompute": (
        "taamctl.features.group_features:compute",
        lambda c, b: precompute.run(c, "synthetic"),
    ),
    "train": (
        "taamctl.stages.train:train_stream",
        lambda c, b: train.run(c, "synthetic", "taam", 1),
    ),
    "infer": (
        "taamctl.stages.infer:infer_parts",
        lambda c, b: infer.run(c, "synthetic", "taam", 1),
    ),
    "lens": ("taamctl.pipeline.lens_run:_cells", lambda c, b: look(c)),
    "audit": ("taamctl.features.group_features:compute_all", lambda c, b: audit_features(c)),
    "a worker's task": ("taamctl.cluster.work_unit:learn_stage", lambda c, b: learn_a_unit(c)),
    "a worker's columns": (
        "taamctl.features.group_features:compute",
        lambda c, b: propagate_a_unit(c),
    ),
    "bank add-task": ("taamctl.bank.router:solve", lambda c, b: add.add(b, source(c), per_task=5)),
    "bank verify": ("taamctl.bank.task_file:reference", lambda c, b: verify.verify(b)),
    "bank remove": ("taamctl.bank.router:solve", lambda c, b: change.remove(b, 1)),
    "predict": (
        "taamctl.bank.predictor:open_hops",
        lambda c, b: bank.load_bank(b).predict(source(c)),
    ),
}


def audit_features(context: Any) -> None:
    from taamctl.audit import checks

    with (
        artefacts.Artefact(context.layout.file("split", "synthetic")) as made,
        artefacts.Artefact(context.layout.file("precompute", "synthetic")) as stored,
    ):
        graph = source(context).graph
        checks.train_features(
            checks.read_split(made),
            graph,
            graph.adjacency,
            stored,
            context.params.section(PrecomputeParams),
            "none",
        )


@pytest.mark.parametrize("place", PLACES)
def test_subnormal_numbers_are_zero_wherever_something_is_computed(
    place: str, context: Any, banked: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    at, act = PLACES[place]
    own = shutil.copytree(banked, tmp_path / "bank")
    if place == "bank add-task":
        change.remove(own, 1)
    use_torchs_threads()
    module, name = at.split(":")
    found: list[tuple[bool, bool]] = []
    home: ModuleType = importlib.import_module(module)
    right = getattr(home, name)

    def looked(*arguments: Any, **options: Any) -> Any:
        found.append((subnormals.flushes_here(), subnormals.threads_flush()))
        return right(*arguments, **options)

    monkeypatch.setattr(home, name, looked)
    act(context, own)
    assert found, f"{place} does not go through {at}"
    assert all(pair == (True, True) for pair in found)


def test_keys_and_sidecars_know_the_rule(context: Any) -> None:
    record = atomic_files.read_json(
        provenance.sidecar_of(context.layout.file("train", "synthetic", "taam", 1))
    )
    assert record["key"]["subnormals"] == subnormals.RULE
    assert record["machine"]["subnormals"] == subnormals.RULE


def test_a_run_from_the_command_line_flushes_in_every_thread(tmp_path: Path) -> None:
    """In a process of its own, where torch was used before taamctl: the bytes are those of a
    fresh process.
    """
    command = (
        "run",
        "--dataset",
        "synthetic",
        "--method",
        "finetune",
        "--seed",
        "1",
        "--set",
        "train.epochs=30",
        "--set",
        "report.pictures=false",
        "--quiet",
    )
    program = f"""
import sys, torch
torch.set_num_threads(2)
torch.ones(1 << 20).mul_(2.0)
sys.argv = ["taamctl", *{[*command, "--outputs", "used"]!r}]
from taamctl.cli.app import entry
entry()
"""
    subprocess.run([sys.executable, "-c", program], cwd=tmp_path, check=True, capture_output=True)
    subprocess.run(
        [sys.executable, "-m", "taamctl", *command, "--outputs", "fresh"],
        cwd=tmp_path,
        check=True,
        capture_output=True,
    )
    places = [
        "train/synthetic/finetune/seed-1/train.h5",
        "infer/synthetic/finetune/seed-1/infer.h5",
    ]
    assert [(tmp_path / "used" / p).read_bytes() for p in places] == [
        (tmp_path / "fresh" / p).read_bytes() for p in places
    ]
