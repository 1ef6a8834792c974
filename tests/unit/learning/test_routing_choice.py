"""How tasks are told apart is chosen by validation of the tasks seen, and told how sure it is."""

from __future__ import annotations

import importlib.util
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.core.routings import LINEAR, METRICS, PROTOTYPES, name
from taamctl.learning.routing import halves, node_profiles, routing_choice, task_id
from taamctl.params.train_params import InferParams


def _module() -> ModuleType:
    """Return the module that draws graphs."""
    path = Path(__file__).resolve().parents[2] / "routing_draws.py"
    spec = importlib.util.spec_from_file_location("routing_draws", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made  # dataclasses look their module up
    spec.loader.exec_module(made)
    return made


draws = _module()
ROOT = Path(__file__).resolve().parents[3]
KEPT = draws.kept_draws(ROOT / "tests" / "golden" / "routing_draws.json")
# Four tasks in one direction: cosine sees no distance between the last ones, Euclid does.
COLLINEAR = draws.Dials(
    classes=8,
    nodes=60,
    imbalance=1.0,
    homophily=0.8,
    degree=4.0,
    signal=0.5,
    distance=1.5,
    along=1.0,
    common=3.0,
    features=16,
)


def drawn(dials: object = COLLINEAR, seed: int = 3) -> object:
    _, _, precompute, split = draws.settings()
    return draws.Drawn(draws.graph(dials, seed), split, precompute)


def asked(**changes: str) -> routing_choice.Asked:
    infer, linear, precompute, _ = draws.settings()
    return routing_choice.Asked(replace(infer, **changes), draws.PUBLISHED, linear, precompute)


def nodes_of(features: object, k: int, part: int) -> node_profiles.Nodes:
    extras = features.query(k, draws.PARTS[part]).extras
    return node_profiles.nodes_of(extras, 16, 3 * k + part, asked().precompute)


@pytest.mark.parametrize("profile", ["amp", "ls", "mean"])
@pytest.mark.parametrize("trailing", [True, False])
def test_the_mean_of_the_nodes_products_is_that_of_the_graph(profile: str, trailing: bool) -> None:
    features = drawn()
    infer = replace(asked().infer, profile=profile, ls_trailing_norm=trailing)
    prototypes = task_id.profiles(features.means("train"), infer)
    for part in (1, 2):
        graphs = task_id.profiles(features.means(draws.PARTS[part]), infer)
        for k, graph in enumerate(graphs):
            made = node_profiles.products(nodes_of(features, k, part), prototypes, infer, 3)
            want = prototypes @ graph
            assert np.abs(made.mean(0) - want).max() < 1e-5 * np.abs(want).max()


@pytest.mark.parametrize("metric", METRICS)
def test_scores_of_products_order_prototypes_as_similarities_do(metric: str) -> None:
    rng = np.random.default_rng(7)
    for _ in range(20):
        prototypes = rng.standard_normal((5, 8)) + 2
        query = rng.standard_normal(8) + 2
        by_product = node_profiles.scores(prototypes @ query, prototypes, metric)
        by_profile = task_id.similarity(query, prototypes, metric)
        assert by_product.argsort().tolist() == by_profile.argsort().tolist()


def test_centred_goes_by_what_is_not_in_common_and_by_the_prototypes_there_are() -> None:
    common = np.full(6, 50.0)
    prototypes = common + np.eye(6)[:3]
    queries = common + 0.6 * np.eye(6)[:3] + 0.1
    made = task_id.decide(queries, prototypes, "centred")
    assert made.choice[-1].tolist() == [0, 1, 2]
    fewer = task_id.decide(queries[:2], prototypes[:2], "centred")
    assert np.array_equal(made.similarity[:2, :2, :2], fewer.similarity, equal_nan=True)


def test_halves_hold_about_half_of_every_class_and_are_the_same_every_time() -> None:
    y = np.repeat([4, 7, 9], [30, 5, 1])
    made = halves.drawn(y, 2).toarray()
    assert made.shape == (halves.DRAWS, 36)
    assert made.sum(1) == pytest.approx(1)
    inside = made > 0
    assert (inside[:, y == 4].sum(1) == 15).all()
    assert set(inside[:, y == 7].sum(1)) == {2, 3}
    assert set(inside[:, y == 9].sum(1)) == {0, 1}
    assert np.array_equal(made, halves.drawn(y, 2).toarray())
    assert not np.array_equal(made, halves.drawn(y, 3).toarray())
    assert (halves.drawn(np.zeros(1, int), 0).toarray() == 1).all(), "one node is its own half"
    many = halves.drawn(np.zeros(halves.MOST + 50, int), 0).toarray()
    assert (many > 0).any(0).sum() == halves.MOST


def test_a_half_is_as_far_from_validation_as_another_graph_is() -> None:
    """The mean of n nodes less that of n other ones has the variance 2 s^2 / n."""
    rng = np.random.default_rng(0)
    ratios = []
    for task in range(40):
        x = rng.standard_normal(60)
        moved = halves.drawn(np.zeros(60, int), task) @ x - x.mean()
        ratios.append(moved.var() / (2 * x.var(ddof=1) / 60))
    assert np.mean(ratios) == pytest.approx(1, abs=0.05)


def test_auto_takes_what_is_right_where_cosine_is_not() -> None:
    features = drawn()
    published = routing_choice.decide(features, asked())
    chosen = routing_choice.decide(features, asked(router="auto"))
    true = np.arange(4)
    assert set(published.used) == {"amp/cosine"}
    assert (published.decisions["test"].choice[-1] == true).mean() < 1
    assert published.shares["amp/cosine"][-1].min() < 0.9
    assert chosen.used[-1] == "amp/euclid"
    assert chosen.decisions["test"].choice[-1].tolist() == true.tolist()
    assert chosen.used[0] == "amp/cosine", "of equal ones the published"


def test_a_profile_or_metric_that_is_set_stays() -> None:
    features = drawn()
    for routing in PROTOTYPES:
        fixed = asked(router="auto", profile=routing[0], metric=routing[1])
        assert set(routing_choice.decide(features, fixed).used) == {name(routing)}
    cosine = routing_choice.decide(features, asked(router="auto", metric="cosine"))
    assert {used.split("/")[1] for used in cosine.used} == {"cosine"}


@pytest.mark.parametrize("router", ["auto", *LINEAR])
def test_a_stage_knows_nothing_of_later_tasks(router: str) -> None:
    """The last two tasks are replaced by others, and nothing changes before them."""
    whole = drawn()
    other = drawn(seed=4)
    mixed = drawn()
    mixed._groups[6:] = other._groups[6:]
    mixed._y[6:] = other._y[6:]
    first = routing_choice.decide(whole, asked(router=router))
    second = routing_choice.decide(mixed, asked(router=router))
    assert first.used[:2] == second.used[:2]
    assert first.shares.keys() >= {"amp/cosine"}
    for routing in first.shares.keys() & second.shares.keys():
        before = first.shares[routing][:2, :2]
        assert np.array_equal(before, second.shares[routing][:2, :2], equal_nan=True)
    for part in ("val", "test"):
        a, b = (r.decisions[part] for r in (first, second))
        assert np.array_equal(a.choice[:2, :2], b.choice[:2, :2])
        assert np.array_equal(a.similarity[:2, :2, :2], b.similarity[:2, :2, :2], equal_nan=True)


def test_a_router_that_learns_from_sums_decides_by_the_mean_of_its_nodes() -> None:
    features = drawn(replace(COLLINEAR, along=0.0))
    made = routing_choice.decide(features, asked(router="ridge"))
    assert set(made.used) == {"ridge"}
    decided = made.decisions["test"]
    assert decided.choice[-1].tolist() == [0, 1, 2, 3]
    seen = np.exp(decided.similarity[-1].astype(float))
    assert (seen.sum(1) < 1 + 1e-6).all(), "a mean of log posteriors"
    best = np.sort(decided.similarity[-1], axis=1)[:, -2:]
    assert decided.margin[-1] == pytest.approx(best[:, 1] - best[:, 0], abs=1e-5)
    assert set(made.shares) >= set(LINEAR)


def test_without_raw_features_or_edges_nothing_is_known_and_the_published_decides() -> None:
    features = drawn()
    features.holds = lambda needs: False
    made = routing_choice.decide(features, asked(router="auto"))
    assert made.shares == {}
    assert set(made.used) == {"amp/cosine"}
    fixed = routing_choice.decide(drawn(), asked())
    for part in ("val", "test"):
        assert np.array_equal(made.decisions[part].choice, fixed.decisions[part].choice)


@pytest.mark.parametrize("router", ["auto", "ridge", "prototype"])
def test_a_method_that_infers_no_task_costs_no_look(router: str) -> None:
    made = routing_choice.decide(drawn(), replace(asked(router=router), inferred=False))
    assert made.shares == {}
    assert set(made.used) == {"amp/cosine"}


@pytest.mark.parametrize("router", ["auto", "ridge", "prototype"])
@pytest.mark.parametrize("dials", [COLLINEAR, replace(COLLINEAR, distance=0.3, common=0.0)])
def test_stages_of_regressions_are_known_before_they_are_made(router: str, dials: object) -> None:
    features = drawn(dials)
    shares = routing_choice.decide(features, asked(router=router)).shares
    nothing = np.full((4, 4), np.nan)
    looked_at = np.flatnonzero(~np.isnan(shares.get("ridge", nothing)).all(1)).tolist()
    assert routing_choice.unsure_stages(features, asked(router=router)) == looked_at
    assert looked_at or router != "ridge"
    given = replace(asked(router=router), inferred=False)
    assert routing_choice.unsure_stages(features, given) == []


def test_hops_that_were_not_stored_leave_amp_out() -> None:
    features = drawn()
    infer: InferParams = replace(asked().infer, hops={0: 1.0, 30: 1.0}, profile="ls")
    made = routing_choice.decide(features, replace(asked(), infer=infer))
    assert set(made.used) == {"ls/cosine"}
    assert not [routing for routing in made.shares if routing.startswith("amp")]


def test_ten_graphs_are_judged_as_validation_said() -> None:
    """The small form of `python tests/routing_draws.py`."""
    every = [draws.one(seed)[1] for seed in range(10)]
    found = draws.summary(every)
    for counted in found["counts"].values():
        assert counted["wrong"] == counted["wrong and warned"]
        assert counted["warned in vain"] <= 1
        assert counted["wrong"] + counted["right"] == 10
    assert found["counts"]["amp/cosine"]["wrong"] > 0, "or nothing is tested"
    aa = dict(found["mean AA"])
    assert aa.pop("auto") > max(aa.values()) - 0.02
    worse = dict(found, **{"mean AA": {"auto": 0.5, "amp/cosine": 0.52}})
    assert any("auto has AA" in line for line in draws.misses(worse))


@pytest.mark.parametrize(
    ("hits", "of", "low", "high"),
    [(0, 10, 0.0, 0.2775), (5, 10, 0.2366, 0.7634), (95, 100, 0.8883, 0.9785), (7, 7, 0.6457, 1.0)],
)
def test_an_interval_is_wilsons(hits: int, of: int, low: float, high: float) -> None:
    assert draws.interval(hits, of) == pytest.approx((low, high), abs=1e-4)


def test_the_table_of_the_page_is_that_of_the_kept_draws() -> None:
    page = (ROOT / "taamctl" / "docs" / "routing.md").read_text(encoding="utf-8")
    assert draws.table(KEPT) in page, "print it again: python tests/routing_draws.py --table FILE"


def test_the_kept_draws_hold_the_bounds() -> None:
    unseen = [found for seed, found in KEPT.items() if seed not in draws.CHOSEN_ON]
    assert sum(found["draws"] for found in unseen) >= 1000
    for routing in ("amp/cosine", "auto"):
        counted = [found["counts"][routing] for found in unseen]
        wrong, warned = (sum(c[n] for c in counted) for n in ("wrong", "wrong and warned"))
        _, high = draws.interval(warned, wrong)
        assert high > 0.95
        assert sum(c["warned in vain"] for c in counted) <= 0.05 * sum(f["draws"] for f in unseen)
    for found in KEPT.values():
        aa = found["mean AA"]
        assert aa["auto"] > max(aa.values()) - 0.01
        assert found["where cosine fails"]["auto"] > found["where cosine fails"]["amp/cosine"]


def test_draws_that_went_wrong_without_a_warning_are_as_they_are_kept() -> None:
    for routing in ("amp/cosine", "auto"):
        missed = [1000 * int(s) + at for s, f in KEPT.items() for at in f["unwarned"][routing]]
        outcome = draws.one(missed[0], fixed=False)[1][routing]
        assert outcome.right < 1
        assert not outcome.warned


def made_up() -> list[dict[str, object]]:
    """Return three draws: the published routing fails twice, once unseen, and auto once."""

    def outcome(right: float, *, warned: bool) -> object:
        return draws.Outcome(right, right / 2, warned, False, "amp/cosine")

    return [
        {"auto": outcome(1.0, warned=False), "amp/cosine": outcome(0.5, warned=True)},
        {"auto": outcome(1.0, warned=True), "amp/cosine": outcome(1.0, warned=False)},
        {"auto": outcome(0.5, warned=False), "amp/cosine": outcome(0.0, warned=False)},
    ]


def test_draws_that_went_wrong_without_a_warning_are_numbered() -> None:
    assert draws.unwarned(made_up(), "auto") == [2]
    assert draws.unwarned(made_up(), "amp/cosine") == [2]


def test_seeds_are_kept_in_order_and_added_up(tmp_path: Path) -> None:
    file = tmp_path / "kept.json"
    for seed in (12, 5):
        draws.keep(file, seed, made_up())
    assert list(draws.kept_draws(file)) == ["5", "12"]
    published, auto = draws.table(draws.kept_draws(file)).splitlines()[2:]
    half = "50.0 % (15.0 to 85.0)"
    assert published == (
        f"| 5 to 12 | 6 | amp/cosine | 4 | 2 = {half} | 2 | 0 | 0 = 0.0 % (0.0 to 39.0) "
        "| 25.0 | 12.5 |"
    )
    assert auto.startswith(
        "| 5 to 12 | 6 | auto | 2 | 0 = 0.0 % (0.0 to 65.8) | 4 | 0 | 2 = 33.3 %"
    )
    assert auto.endswith("| 41.7 | 37.5 |")
