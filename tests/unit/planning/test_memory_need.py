"""What is refused under a limit of memory, what is said, and how many workers fit."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from taamctl.stages import split

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.core.units import MIB
from taamctl.planning import costs, memory_need, worker_memory
from taamctl.runtime import provenance
from taamctl.runtime.job import Context, Job

EVERY = [
    ("split", "synthetic", ""),
    ("precompute", "synthetic", ""),
    ("train", "synthetic", "taam"),
    ("train", "synthetic", "analytic"),
    ("infer", "synthetic", "taam"),
    ("infer", "synthetic", "finetune"),
    ("eval", "synthetic", "taam"),
    ("lens", "synthetic", "taam"),
    ("lens", "synthetic", "finetune"),
    ("report", "", ""),
]


def context(folder: Path, limit: int | None, preset: str = "products", *sets: str) -> Context:
    overrides = [f"datasets.synthetic.preset={preset}", *sets]
    made = make_context(
        Grid(["synthetic"], ["taam", "analytic", "finetune"], [1]),
        Settings(overrides=overrides, outputs=folder),
        Writing(quiet=True),
        check_methods=True,
    )
    return replace(made, max_memory=limit)


def test_a_stage_is_refused_where_it_needs_more_and_the_hint_is_enough(tmp_path: Path) -> None:
    free = context(tmp_path, None)
    memory_need.require(free, EVERY)
    rng = np.random.default_rng(0)
    for stage in EVERY:
        need = memory_need.needed(replace(free, max_memory=1), stage)
        assert need is not None
        memory_need.require(replace(free, max_memory=int(need) + 1), [stage])
        limit = int(need * rng.uniform(0.1, 0.99))
        with pytest.raises(TaamctlError, match=f"^{stage[0]} .*needs about .* allows") as refused:
            memory_need.require(replace(free, max_memory=limit), [stage])
        enough = re.search(r"--max-memory (\d+)M", refused.value.hint)
        assert enough is not None
        memory_need.require(replace(free, max_memory=int(enough[1]) * MIB), [stage])


def test_what_has_no_estimate_is_not_refused(tmp_path: Path) -> None:
    memory_need.require(context(tmp_path, 1), [("stream", "synthetic", "taam")])


def test_a_batch_that_is_named_makes_training_fit(tmp_path: Path) -> None:
    stage = ("train", "synthetic", "taam")
    whole = memory_need.needed(context(tmp_path, None), stage)
    small = memory_need.needed(context(tmp_path, None, "products", "train.node_batch=4096"), stage)
    assert whole is not None
    assert small is not None
    limit = int((whole + small) / 2)
    with pytest.raises(TaamctlError, match="train synthetic/taam needs about") as refused:
        memory_need.require(context(tmp_path, limit), [stage])
    batch = re.search(r"train\.node_batch=\d+", refused.value.hint)
    assert batch is not None
    memory_need.require(context(tmp_path, limit, "products", batch[0]), [stage])


def test_as_many_workers_start_as_fit(tmp_path: Path) -> None:
    told: list[str] = []
    stages = [("precompute", "synthetic", ""), ("train", "synthetic", "taam")]
    free = replace(context(tmp_path, 1 << 50), tell=told.append)
    assert worker_memory.that_fit(free, stages, 7) == 7
    assert told == []
    before = 0
    for limit in np.sort(np.random.default_rng(1).integers(4_000, 60_000, 12)).tolist():
        bounded = replace(free, max_memory=limit * MIB)
        fit = worker_memory.that_fit(bounded, stages, 7)
        unit = max(
            worker_memory.unit(bounded, stage, fit) + worker_memory.WORKER for stage in stages
        )
        assert worker_memory.OWN + fit * unit <= limit * MIB
        assert before <= fit <= 7
        before = fit
    assert before > 1
    assert "has room for" in told[0]
    with pytest.raises(TaamctlError, match="a worker takes up to") as refused:
        worker_memory.that_fit(replace(free, max_memory=300 * MIB), stages, 2)
    enough = re.search(r"--max-memory (\d+)M", refused.value.hint)
    assert enough is not None
    assert worker_memory.that_fit(replace(free, max_memory=int(enough[1]) * MIB), stages, 1) == 1


def test_a_unit_is_held_against_the_share_of_its_worker(tmp_path: Path) -> None:
    stage = ("lens", "synthetic", "taam")
    free = context(tmp_path, None)
    need = worker_memory.unit(free, stage, 3) + worker_memory.WORKER
    enough = int(worker_memory.OWN + 3 * need) + 1
    beside = replace(free, max_memory=enough - 100, for_workers=100)
    worker_memory.admit(beside, stage, 3)
    with pytest.raises(TaamctlError, match="lens synthetic/taam needs about .* on a") as refused:
        worker_memory.admit(replace(beside, for_workers=0), stage, 3)
    named = re.search(r"--max-memory (\d+)M", refused.value.hint)
    assert named is not None
    worker_memory.admit(replace(free, max_memory=int(named[1]) * MIB), stage, 3)


def test_what_is_priced_for_one_number_of_workers_holds_for_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stages = [("precompute", "synthetic", ""), ("train", "synthetic", "taam")]
    asked: list[str] = []
    right = worker_memory.price

    def counted(context: Context, stage: memory_need.Stage) -> Callable[[int], float]:
        asked.append(stage[0])
        return right(context, stage)

    monkeypatch.setattr(worker_memory, "price", counted)
    bounded = context(tmp_path, 20_000 * MIB)
    fit = worker_memory.that_fit(bounded, stages, 64)
    assert asked == ["precompute", "train"]
    largest = max(worker_memory.unit(bounded, stage, fit + 1) for stage in stages)
    assert worker_memory.OWN + (fit + 1) * (largest + worker_memory.WORKER) > 20_000 * MIB
    assert 1 < fit < 64


def test_a_job_is_admitted_before_it_is_made_and_not_where_it_is_reused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    seen: list[str] = []
    told: list[str] = []

    def admit(context: Context, job: Job) -> None:
        seen.append(job.stage)

    monkeypatch.setattr(provenance, "peak_memory_mib", itertools.count(100).__next__)
    tiny = replace(context(tmp_path, MIB, "tiny"), admit=admit, tell=told.append)
    for _ in range(2):
        split.run(tiny, "synthetic")
    assert seen == ["split"]
    assert any("more than --max-memory 1 MiB" in line for line in told)
    with pytest.raises(TaamctlError, match="split synthetic needs about"):
        split.run(replace(tiny, admit=memory_need.admit, force=True), "synthetic")


def test_memory_that_an_earlier_stage_took_is_not_told_of_a_later_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    monkeypatch.setattr(provenance, "peak_memory_mib", lambda: 100.0)
    tiny = context(tmp_path, MIB, "tiny")
    split.run(replace(tiny, admit=lambda context, job: None, tell=told.append), "synthetic")
    assert not any("more than --max-memory" in line for line in told)


def test_the_split_of_a_graph_that_comes_in_rows_needs_less() -> None:
    counts = costs.Counts(
        *(10**7, 10**8, 4 * 10**7, 8 * 10**6, 100, 1.0, 1.0, 40, 20),
        *(6 * 10**6, 2 * 10**6, 2 * 10**6, 10**6),
    )
    whole = costs.split(counts, costs.REFERENCE).memory
    rows = costs.split(replace(counts, large=True), costs.REFERENCE).memory
    assert whole - rows == pytest.approx(counts.raw + 4 * counts.used)
