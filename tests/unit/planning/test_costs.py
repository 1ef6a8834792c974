"""The cost formulas by their laws: what they are linear in, what they do not depend on, and what
changes them which way.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
import yaml

from taamctl.core import registry
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params.params_file import PACKAGED
from taamctl.params.sections import Params
from taamctl.params.train_params import LensParams, RidgeParams, TrainParams
from taamctl.planning import calibrate, costs, families, plan, ridge_costs
from taamctl.planning.costs import REFERENCE, Counts, Workload

COUNTS = Counts(
    nodes=10**6,
    used=10**7,
    kept=4 * 10**6,
    mixed=8 * 10**5,
    features=100,
    filled=1.0,
    filled_h=1.0,
    classes=40,
    tasks=20,
    train=600_000,
    val=200_000,
    test=200_000,
    largest=60_000,
)
WORK = Workload(hops=2, max_hop=10, store_x=True, store_edges=True, epochs=200, threads=2, runs=1)
SPARSE = replace(COUNTS, filled=0.01, filled_h=0.02, features=4000)


def _times(c: Counts, by: int) -> Counts:
    """Return a graph `by` times as large in nodes and edges, with the same tasks, classes and
    features.
    """
    return replace(
        c,
        **{
            name: by * getattr(c, name)
            for name in ("nodes", "used", "kept", "mixed", "train", "val", "test", "largest")
        },
    )


def _all(c: Counts, w: Workload = WORK) -> dict[str, costs.Cost]:
    made = (
        costs.split(c, REFERENCE),
        costs.precompute(c, w, REFERENCE),
        costs.train_modulated(c, w, REFERENCE),
        costs.infer(c, REFERENCE, costs.modulated_answer(c), once=False),
        costs.evaluate(c),
        costs.report(),
    )
    return {cost.stage: cost for cost in made}


def test_every_stage_has_one_price() -> None:
    assert tuple(_all(COUNTS)) == costs.STAGES
    assert all(
        c.memory > 0 and c.disk > 0 and c.seconds > 0 and not c.rough for c in _all(COUNTS).values()
    )


@pytest.mark.parametrize("counts", [COUNTS, SPARSE], ids=["dense", "sparse"])
@pytest.mark.parametrize("quantity", ["memory", "disk", "seconds"])
def test_a_graph_twice_as_large_costs_twice_as_much_beside_what_is_fixed(
    counts: Counts, quantity: str
) -> None:
    """Affine in the size: the second doubling adds twice what the first one did (split is E log
    E, so a little more).
    """
    one, two, four = (_all(replace(_times(counts, by), largest=counts.largest)) for by in (1, 2, 4))
    for stage in ("precompute", "train", "infer", "eval"):
        first, second = (
            getattr(b[stage], quantity) - getattr(a[stage], quantity)
            for a, b in ((one, two), (two, four))
        )
        if (stage, quantity) == ("infer", "memory"):  # many predictions go through the disk
            assert first < second < 2 * first
            continue
        assert second == pytest.approx(2 * first, abs=1e-6), stage
    first, second = (
        getattr(b["split"], quantity) - getattr(a["split"], quantity)
        for a, b in ((one, two), (two, four))
    )
    assert 2 * first - 1e-6 <= second <= 2.3 * first


def test_training_counts_every_row_once_per_epoch_however_many_tasks_there_are() -> None:
    few, many = (
        costs.train_modulated(replace(COUNTS, tasks=t), WORK, REFERENCE).seconds
        - costs.STEP * WORK.epochs * t
        for t in (2, 40)
    )
    assert few == pytest.approx(many)
    half = costs.train_modulated(COUNTS, replace(WORK, epochs=100), REFERENCE).seconds
    assert costs.train_modulated(COUNTS, WORK, REFERENCE).seconds == pytest.approx(2 * half)


def test_the_two_products_are_the_price_of_an_epoch_where_nothing_else_takes_time() -> None:
    free = replace(REFERENCE, lanes=float("inf"))
    assert costs.epoch(1000, COUNTS, free, 0) == pytest.approx(
        costs.PRODUCTS * 4 * 1000 * 100 * 256 / REFERENCE.dense
    )
    assert costs.epoch(1000, COUNTS, free, 10) - costs.epoch(
        1000, COUNTS, free, 0
    ) == pytest.approx(6 * 1000 * 256 * 10 / REFERENCE.dense)
    assert costs.epoch(1000, SPARSE, free, 0) == pytest.approx(
        costs.PRODUCTS * 4 * 1000 * 4000 * 256 * 0.02 / REFERENCE.sparse
    )
    on_gpu = replace(free, device="cuda")
    dense = costs.epoch(1000, SPARSE, free, 0, sparse=False)
    assert (
        costs.epoch(1000, SPARSE, on_gpu, 0)
        == dense
        == pytest.approx(costs.PRODUCTS * 4 * 1000 * 4000 * 256 / REFERENCE.dense)
    )


def test_propagation_is_linear_in_hops_and_edges() -> None:
    def seconds(hops: int, kept: int = COUNTS.kept) -> float:
        return costs.propagated(replace(COUNTS, kept=kept), replace(WORK, hops=hops), REFERENCE)

    assert seconds(4) - seconds(2) == pytest.approx(seconds(2) - seconds(0))
    edges = COUNTS.kept + COUNTS.rows
    assert seconds(2, 2 * edges - COUNTS.rows) == pytest.approx(2 * seconds(2))


@pytest.mark.parametrize(
    ("change", "stored"),
    [({"store_x": False}, costs.stored_x), ({"store_edges": False}, costs.stored_edges)],
)
def test_what_is_not_kept_takes_no_disk(change: dict[str, bool], stored: Any) -> None:
    less = _all(COUNTS, replace(WORK, **change))
    assert _all(COUNTS)["precompute"].disk - less["precompute"].disk == pytest.approx(
        stored(COUNTS)
    )
    assert less["train"] == _all(COUNTS)["train"]


def test_a_limit_bounds_precompute_down_to_what_it_cannot_do_without() -> None:
    whole, least = costs.precompute(COUNTS, WORK, REFERENCE), costs.least(COUNTS, WORK)
    assert least < whole.memory
    between = int((least + whole.memory) / 2)
    limited = costs.precompute(COUNTS, replace(WORK, limit=between), REFERENCE)
    assert (
        limited.memory == between and limited.seconds > whole.seconds and limited.disk == whole.disk
    )
    assert costs.precompute(COUNTS, replace(WORK, limit=1 << 20), REFERENCE).memory == least
    assert costs.precompute(COUNTS, replace(WORK, limit=1 << 45), REFERENCE) == whole
    assert least - costs.least(replace(COUNTS, streams=True), WORK) == COUNTS.raw


def test_batches_take_less_memory_and_more_steps() -> None:
    batched = costs.train_modulated(COUNTS, replace(WORK, node_batch=1000), REFERENCE)
    whole = costs.train_modulated(COUNTS, WORK, REFERENCE)
    assert batched.memory < whole.memory and batched.seconds > whole.seconds
    assert (
        costs.train_modulated(COUNTS, replace(WORK, node_batch=10**9), REFERENCE).memory
        == whole.memory
    )


def test_learning_from_all_tasks_at_every_stage_costs_half_the_stages_more() -> None:
    last, every = (
        costs.train_net(COUNTS, WORK, replace(REFERENCE, lanes=1e30), s).seconds
        - costs.STEP * 200 * n
        for s, n in (("last", 1), ("all", COUNTS.tasks))
    )
    assert every == pytest.approx(last * (COUNTS.tasks + 1) / 2)
    assert (
        costs.train_net(COUNTS, WORK, REFERENCE, "last").memory
        > costs.train_net(COUNTS, WORK, REFERENCE).memory
    )


def test_the_closed_form_and_the_probe_do_not_depend_on_epochs() -> None:
    once = replace(WORK, epochs=1)
    ridge = RidgeParams({0: 1.0, 2: 1.0}, 1400, 1400, views=True, exponent=0.0, ridge=None)
    assert families.training(
        "closed form", ridge, COUNTS, WORK, REFERENCE
    ) == ridge_costs.train_ridge(COUNTS, REFERENCE, 1400, 3)
    for family, own in (("closed form", ridge), ("probe", None)):
        cost = families.training(family, own, COUNTS, WORK, REFERENCE)
        assert families.training(family, own, COUNTS, once, REFERENCE) == cost
    narrow, wide = (
        ridge_costs.train_ridge(COUNTS, REFERENCE, width, 3).seconds - costs.PER_ARTEFACT
        for width in (1400, 2800)
    )
    assert 4 * narrow < wide < 8 * narrow


def test_rates_follow_the_threads_and_a_gpu_has_none() -> None:
    four = REFERENCE.on(4)
    assert (four.dense, four.sparse, four.copy) == (
        2 * REFERENCE.dense,
        2 * REFERENCE.sparse,
        REFERENCE.copy,
    )
    assert four.on(REFERENCE.threads) == REFERENCE
    assert replace(REFERENCE, device="cuda").on(4).dense == REFERENCE.dense


def test_more_threads_than_processors_are_no_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(calibrate.os, "cpu_count", lambda: 8)
    assert calibrate.packaged(4) == REFERENCE.on(4) and calibrate.packaged(8) == calibrate.packaged(
        1024
    ) == REFERENCE.on(8)
    monkeypatch.setattr(calibrate.os, "cpu_count", lambda: None)
    assert calibrate.packaged(1024) == REFERENCE.on(1)


def test_features_fill_with_hops_up_to_all_of_them() -> None:
    assert costs.reach(1.0, 5.0, 2) == 1.0
    assert costs.reach(0.01, 5.0, 0) == pytest.approx(0.01)
    assert costs.reach(0.01, 0.0, 2) == pytest.approx(0.01)
    assert (
        0.01
        < costs.reach(0.01, 1.0, 1)
        < costs.reach(0.01, 5.0, 1)
        < costs.reach(0.01, 5.0, 2)
        <= 1
    )
    assert costs.reach(0.01, 5.0, 10**6) == 1.0 and costs.reach(0.0, 5.0, 10**6) == 0.0


def test_a_rate_is_units_over_the_best_call() -> None:
    calls: list[int] = []
    assert calibrate.rate(lambda: calls.append(1), 1000.0, budget=0.0) > 0
    assert len(calls) == 2  # one to warm up, one that counts


def test_a_machine_is_measured_and_nothing_stays(tmp_path: Any) -> None:
    import torch

    before = torch.get_num_threads()
    rates = calibrate.measure(tmp_path / "not" / "there", 1)
    assert list(tmp_path.iterdir()) == [] and torch.get_num_threads() == before
    assert (rates.source, rates.device, rates.threads) == ("measured", "cpu", 1)
    assert all(
        getattr(rates, name) > 0
        for name in (
            "dense",
            "dense_bf16",
            "sparse",
            "near",
            "far",
            "copy",
            "lanes",
            "sort",
            "disk",
        )
    )


def test_a_folder_that_cannot_be_written_gets_the_reference_rate(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    def refuse(**_: Any) -> None:
        raise PermissionError(13, "no")

    monkeypatch.setattr(calibrate.tempfile, "TemporaryFile", refuse)
    assert calibrate._disk(tmp_path) == REFERENCE.disk


def test_routers_that_learn_from_sums_are_priced_where_tasks_are_inferred() -> None:
    """`taam` infers task IDs, `joint` uses none."""
    params = Params("params.yaml", yaml.safe_load(PACKAGED.read_text(encoding="utf-8")))
    routers = params.section(LensParams).router
    work = replace(WORK, routers=routers)
    for name, asks in (("taam", True), ("joint", False)):
        own = params.plugin("methods", name, registry.method_params(name))
        train = params.section(TrainParams)
        method = method_class(name)(own, plan.SMALL, train, 0, torch.device("cpu"))
        plain, routed = (families.answering(method, COUNTS, w, REFERENCE) for w in (WORK, work))
        assert (routed.seconds > plain.seconds) == asks
        wide = replace(work, routers=replace(routers, width=2 * routers.width))
        wider = families.answering(method, COUNTS, wide, REFERENCE)
        assert (wider.seconds > routed.seconds) == asks


def test_features_that_are_held_densely_take_room_whatever_they_hold() -> None:
    filled, sparse = replace(COUNTS, filled=1.0), replace(COUNTS, filled=0.05)
    dense = replace(sparse, dense=True)
    assert (filled.is_sparse, sparse.is_sparse, dense.is_sparse) == (False, True, False)
    assert dense.raw == filled.raw > sparse.raw
    assert costs.split(dense, REFERENCE).memory == costs.split(filled, REFERENCE).memory
    assert costs.stored_x(dense) == costs.stored_x(sparse) < costs.stored_x(filled)


@pytest.mark.parametrize("nodes", [600, 600_000])
def test_a_squeezed_closed_form_costs_less_than_a_whole_one(nodes: int) -> None:
    few = replace(COUNTS, features=4000, filled=0.02, tasks=3, train=nodes, largest=nodes // 3)
    whole = ridge_costs.train_ridge(few, REFERENCE, 4000, 3)
    found, more = (ridge_costs.train_squeezed(few, REFERENCE, 4000, 3, rank) for rank in (8, 64))
    assert found.seconds < more.seconds < whole.seconds
    assert found.memory < more.memory < whole.memory
    assert found.disk < more.disk


def test_strong_references_cost_by_the_width_that_their_nets_read() -> None:
    params = Params("params.yaml", yaml.safe_load(PACKAGED.read_text(encoding="utf-8")))

    def priced(name: str, **changes: Any) -> costs.Cost:
        own = params.plugin("methods", name, registry.method_params(name))
        family = method_class(name).facts.family
        return families.training(family, replace(own, **changes), COUNTS, WORK, REFERENCE)

    one, sign, sage = (priced(name) for name in ("joint", "joint_sign", "joint_sage"))
    assert sign.rough and sage.rough and not one.rough
    assert sign.seconds > sage.seconds > one.seconds
    assert priced("joint_sign", hops=4).seconds > sign.seconds
    assert priced("joint_sage", stages="all").seconds > 5 * sage.seconds
