"""What fits and what does not, with the change that helps; the words of a plan."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from taamctl.core.units import format_bytes, format_seconds
from taamctl.planning import costs, families, fit, plan
from taamctl.planning.costs import REFERENCE, Cost, Counts, Workload
from taamctl.planning.finding import NOTE, STOP, WARN, Finding

GIB = 1 << 30
COUNTS = Counts(
    nodes=10**7,
    used=10**8,
    kept=4 * 10**7,
    mixed=8 * 10**6,
    features=400,
    filled=1.0,
    filled_h=1.0,
    classes=40,
    tasks=20,
    train=6 * 10**6,
    val=2 * 10**6,
    test=2 * 10**6,
    largest=1_200_000,
)
WORK = Workload(hops=2, max_hop=10, store_x=True, store_edges=True, epochs=200, threads=2, runs=1)


def _table(work: Workload) -> list[fit.Line]:
    made = (
        costs.split(COUNTS, REFERENCE),
        costs.precompute(COUNTS, work, REFERENCE),
        costs.train_modulated(COUNTS, work, REFERENCE),
    )
    return [fit.Line(cost, cost, cost) for cost in made]


def _findings(
    memory: float, disk: float = 1e18, limit: int | None = None, work: Workload = WORK
) -> dict[str, Finding]:
    there = fit.Machine(int(1e18), int(memory), int(disk), writable=True, limit=limit)
    table = _table(work)
    found = fit.findings(table, sum(t.cost.disk for t in table), there, _table, work)
    return {f.what.split()[0]: f for f in found}


def _memory(stage: str, work: Workload = WORK) -> float:
    return next(t.cost.memory for t in _table(work) if t.cost.stage == stage)


def test_what_fits_is_not_spoken_of() -> None:
    assert _findings(1e18) == {}


def test_a_stage_without_room_stops_and_the_change_that_is_named_makes_room() -> None:
    short = _memory("precompute") - 1
    assert short > _memory("split") and short > _memory("train")
    (found,) = _findings(short).values()
    assert (
        found.level == STOP
        and found.what.startswith("precompute needs about")
        and "are free" in found.what
    )
    assert found.mend == f"go through the disk: --max-memory {int(short) // costs.MIB}M"
    assert _memory("precompute", replace(WORK, limit=int(short))) <= short


def test_batches_are_suggested_where_they_fit_and_a_machine_where_nothing_does() -> None:
    batch = replace(WORK, node_batch=1 << 15)
    between = (_memory("train") + _memory("train", batch)) / 2
    (change,) = _findings(between)["train"].changes
    key, _, value = change.partition("=")
    assert (
        key == "train.node_batch"
        and _memory("train", replace(WORK, node_batch=int(value))) <= between
    )
    small = _findings(100 * costs.MIB)
    assert (
        all(
            f.level == STOP and "take a machine with" in f.mend and not f.changes
            for f in small.values()
        )
        and len(small) == 3
    )
    assert (
        "or more and --set train.node_batch=4096, or fewer" in small["train"].mend
    )  # what the size that is named rests on
    assert "or more, or fewer" in small["split"].mend


def test_a_folder_that_cannot_be_written_stops_before_any_work(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert fit.writable(tmp_path / "new" / "deeper") and not fit.writable(
        tmp_path / "file" / "below"
    )
    there = replace(fit.machine(tmp_path / "file" / "below"), free=int(1e18))
    (found,) = fit.findings(_table(WORK)[:1], 0, there, _table, WORK)
    assert found.level == STOP and found.what == "the folder of --outputs cannot be written"


def test_sizes_are_said_in_a_unit_that_shows_them() -> None:
    assert [format_bytes(n) for n in (0, 1, 1 << 10, 1 << 20, 3 << 30)] == [
        "0 MiB",
        "1 KiB",
        "1 KiB",
        "1 MiB",
        "3.0 GiB",
    ]


def test_a_limit_counts_like_memory_and_says_whose_it_is() -> None:
    limit = int(_memory("split") - 1)
    assert "--max-memory allows" in _findings(1e18, limit=limit)["split"].what
    more = _findings(1e15, limit=int(1e16), work=replace(WORK, limit=int(1e16)))
    assert [f.level for f in more.values()] == [NOTE]


def test_disk_is_summed_and_the_least_loss_that_fits_is_suggested() -> None:
    whole, lean = (
        sum(t.cost.disk for t in _table(w)) for w in (WORK, replace(WORK, store_x=False))
    )
    assert _findings(1e18, disk=whole) == {}
    assert _findings(1e18, disk=lean)["the"].changes == ("precompute.store_x=false",)
    assert _findings(1e18, disk=whole - 10 * costs.MIB)["the"].changes == (
        "precompute.store_x=false",
    )
    nothing = _findings(1e18, disk=1 << 20)["the"]
    assert nothing.level == STOP and nothing.changes == () and "--outputs" in nothing.mend


def test_what_fits_with_luck_only_is_a_warning() -> None:
    table = [fit.Line(Cost("split", 5.0, 0, 0), Cost("split", 1.0, 0, 0), Cost("split", 9.0, 0, 0))]
    there = fit.Machine(memory=10, free=7, disk=10, writable=True)
    (found,) = fit.findings(table, 0, there, lambda w: table, WORK)
    assert found.level == WARN


def test_training_is_priced_by_family_and_says_where_it_is_rough() -> None:
    def priced(family: str) -> Cost:
        return families.training(family, None, COUNTS, WORK, REFERENCE)

    assert (
        not priced("modulation").rough
        and not priced("probe").rough
        and not priced("lower reference").rough
    )
    assert priced("replay").rough and priced("ablation").rough
    assert priced("closed form").rough, "a method of others that keeps no such sums"
    short = families.training(
        "modulation", SimpleNamespace(precision="bfloat16"), COUNTS, WORK, REFERENCE
    )
    assert (
        short.seconds < priced("modulation").seconds and short.memory == priced("modulation").memory
    )
    assert priced("replay").seconds == priced("lower reference").seconds


@pytest.mark.parametrize(("workers", "seconds"), [(1, 120.0), (2, 70.0), (4, 45.0), (100, 30.0)])
def test_workers_share_training_down_to_its_longest_task(workers: int, seconds: float) -> None:
    split, train = Cost("split", 0, 0, 20.0), Cost("train", 0, 0, 25.0)
    stages = [
        fit.Line(split, split, split),
        fit.Line(train, train, train, "m", times=4, parts=5),
    ]
    assert plan.shared_seconds(stages, workers) == pytest.approx(seconds)


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (0.2, "under 1 s"),
        (3.24, "about 3.2 s"),
        (42, "about 40 s"),
        (100, "about 1.7 min"),
        (700, "about 12 min"),
        (9000, "about 2.5 h"),
        (36_000, "about 10 h"),
        (200_000, "about 2.3 days"),
    ],
)
def test_times_are_said_as_people_do(seconds: float, words: str) -> None:
    assert format_seconds(seconds) == words


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 MiB"),
        (5 << 20, "5 MiB"),
        (1536 << 20, "1.5 GiB"),
        (100 * GIB, "100 GiB"),
        (2 << 40, "2.0 TiB"),
    ],
)
def test_sizes_are_said_as_people_do(count: int, words: str) -> None:
    assert format_bytes(count) == words


def test_the_machine_has_at_least_what_is_free(tmp_path: Any) -> None:
    there = fit.machine(tmp_path / "not" / "there")
    assert 0 < there.free <= there.memory and there.disk > 0
