"""Answers that say how sure they are, and when they are none: on drawn graphs."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse
import torch

from taamctl.bank import add, answers, change, honest_fit, signs, store
from taamctl.bank.bank import Bank, load_bank
from taamctl.bank.config import Config
from taamctl.bank.forget import forget
from taamctl.bank.graph_source import Source
from taamctl.bank.logistic import PENALTY, logistic
from taamctl.bank.node_record import drawn_for_val
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.reliability import area, reliability
from taamctl.bank.score import score
from taamctl.bank.signs import SIGNS, over_edges, posterior, signs_of
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, from_scipy
from taamctl.learning.kernels import ridge

MakeConfig = Callable[..., Config]
WIDTH = 0.55  # of a class around its mean

ROOT = Path(__file__).resolve().parents[3]
KEPT = ROOT / "tests" / "golden" / "honest_answers.json"


def drawn(names: str, seed: int, degree: float, nodes: int = 150, mixed: float = 0.1) -> NodeGraph:
    """Return a graph of classes that overlap, most edges inside classes."""
    rng = np.random.default_rng(seed)
    label = np.repeat(np.arange(len(names)), nodes)
    means = np.stack([np.random.default_rng(ord(name)).random(16) for name in names])
    x = means[label] + WIDTH * rng.standard_normal((len(label), 16))
    one = rng.integers(0, len(label), int(len(label) * degree / 2))
    inside = label[one] * nodes + rng.integers(0, nodes, len(one))
    other = np.where(rng.random(len(one)) < mixed, rng.integers(0, len(label), len(one)), inside)
    both = np.concatenate([[one, other], [other, one]], 1)[:, np.tile(one != other, 2)]
    adjacency, _ = adjacency_from_edges(both[0], both[1], len(label), "g")
    return NodeGraph("g", adjacency, x.astype(np.float32), label, tuple(names))


def taught(folder: Path, config: Config, order: tuple[str, ...]) -> Path:
    store.create(folder, config)
    for names in order:
        add.add(folder, Source(drawn(names, ord(names[0]), 6, nodes=300)))
    return folder


@pytest.fixture(scope="module")
def honest(tmp_path_factory: pytest.TempPathFactory, config: MakeConfig) -> Bank:
    made = config("linear_probe", "bank.router.width=24", "bank.temperature=2")
    return load_bank(taught(tmp_path_factory.mktemp("honest") / "bank", made, ("ab", "cd", "ef")))


def false_alarms(bank: Bank, graph: NodeGraph, rate: float = 0.05) -> float:
    return float(bank.predict(graph, unknown=rate).unknown.mean())


@pytest.mark.parametrize("degree", [1, 4, 12])
def test_false_alarms_keep_their_rate_with_fewer_and_more_edges_than_validation_had(
    honest: Bank, degree: float
) -> None:
    rates = [false_alarms(honest, drawn("abcdef", seed, degree)) for seed in range(4)]
    assert 0.02 < np.mean(rates) < 0.08, rates
    old = load_bank(honest.folder)  # as banks without kept nodes answer
    old.__dict__["router"] = replace(honest.router, honest=None)
    before = [false_alarms(old, drawn("abcdef", seed, degree)) for seed in range(4)]
    if degree == 12:
        assert np.mean(before) < 0.02


def test_strangers_are_found_and_a_rate_of_none_calls_none(honest: Bank) -> None:
    graph = drawn("abcdefgh", 5, 6)
    found = honest.predict(graph, unknown=0.05)
    new = graph.labels >= 6
    assert area(found.novelty[~new], found.novelty[new]) > 0.9
    assert found.unknown[new].mean() > 0.5
    assert found.unknown[~new].mean() < 0.08
    assert not honest.predict(graph, unknown=0.0).unknown.any()


def test_a_graph_of_one_node_is_answered(honest: Bank) -> None:
    one = drawn("a", 3, 0, nodes=1)
    found = honest.predict(one, options=PredictOptions("router", unknown=0.05, sets=0.9))
    assert len(found.label) == 1
    assert found.sets is not None
    assert found.sets.any()


def test_probabilities_are_calibrated_by_validation_alone(honest: Bank) -> None:
    options = PredictOptions("router", sets=0.9, probabilities=True)
    graph = drawn("abcdef", 9, 1.5, nodes=400)
    found = honest.predict(graph, options=options)
    said = score(found, graph).reliability
    assert said is not None
    assert said.ece < 0.05
    assert said.log_loss < said.log_loss_before - 0.1
    assert said.coverage is not None
    assert said.coverage > 0.87
    assert sorted(said.task_coverage) == [1, 2, 3]
    assert found.probabilities is not None
    assert np.allclose(found.probabilities.sum(1), 1, atol=1e-5)
    assert np.array_equal(found.probabilities.argmax(1), found.label)
    assert np.allclose(found.probabilities.max(1), found.confidence, atol=1e-6)


def test_sets_grow_with_what_they_are_to_hold(honest: Bank) -> None:
    graph = drawn("abcdef", 4, 2)
    sizes = []
    for share in (0.5, 0.8, 0.95, 0.99):
        found = honest.predict(graph, options=PredictOptions("router", sets=share))
        assert found.sets is not None
        assert found.sets[np.arange(len(found.label)), found.label].all()
        sizes.append(found.sets.sum(1).mean())
    assert sizes == sorted(sizes)
    assert sizes[-1] > sizes[0]


def test_what_is_known_of_answers_does_not_depend_on_the_order_of_tasks(
    honest: Bank, tmp_path: Path
) -> None:
    other = load_bank(taught(tmp_path / "other", honest.config, ("ef", "ab", "cd")))
    one, two = honest.router.honest, other.router.honest
    assert one is not None
    assert two is not None
    assert one.temperature == pytest.approx(two.temperature, rel=1e-4)
    for name in ("missing", "rarity", "centre", "scale", "weight", "usual", "stand_ins"):
        assert np.allclose(getattr(one, name), getattr(two, name), rtol=1e-3, atol=1e-5), name
    change.remove(tmp_path / "other", 1)
    fewer = load_bank(tmp_path / "other").router.honest
    assert fewer is not None
    assert fewer.nodes < one.nodes
    assert all(each.good for each in verify(tmp_path / "other"))


def test_a_bank_that_keeps_no_nodes_answers_as_before_and_says_what_it_lacks(
    tmp_path: Path, honest: Bank
) -> None:
    plain = replace(honest.config, bank=replace(honest.config.bank, val_rows=0))
    bank = load_bank(taught(tmp_path / "plain", plain, ("ab", "cd")))
    assert bank.router.honest is None
    assert bank.task(0).val is None
    graph = drawn("abcd", 3, 4)
    found = bank.predict(graph, options=PredictOptions("router", unknown=0.05))
    assert found.calibration == 1.0
    assert 0.01 < found.unknown.mean() < 0.4, "by the thresholds of the tasks"
    with pytest.raises(TaamctlError, match="keeps no or too few validation nodes") as caught:
        bank.predict(graph, options=PredictOptions("router", sets=0.9))
    assert "bank.val_rows" in caught.value.hint


@pytest.mark.parametrize(
    ("wished", "said"),
    [({"sets": 1.5}, "a share lies"), ({"sets": 0.9, "unit": "graph"}, "for every node")],
)
def test_sets_that_make_no_sense_are_refused(wished: dict[str, object], said: str) -> None:
    with pytest.raises(TaamctlError, match=said):
        PredictOptions("router", **wished)  # type: ignore[arg-type]


def test_no_more_nodes_are_kept_than_was_asked(tmp_path: Path, honest: Bank) -> None:
    few = replace(honest.config, bank=replace(honest.config.bank, val_rows=20))
    val = load_bank(taught(tmp_path / "few", few, ("ab",))).task(0).val
    assert val is not None
    assert val.x.shape == (20, 16)
    assert (val.edges < 20).all()


def test_a_forgotten_validation_node_is_kept_no_more(tmp_path: Path, config: MakeConfig) -> None:
    names = np.array([f"n{v}" for v in range(120)], object)
    graph = replace(drawn("ab", 7, 3, nodes=60), given=Given(node_id=names))
    made = config("linear_probe", "bank.router.width=16", "bank.sums=class")
    store.create(tmp_path / "bank", made)
    add.add(tmp_path / "bank", Source(graph))
    node = int(np.flatnonzero(drawn_for_val(names.tolist(), made.split.seed, made.split.val))[3])

    def held() -> bool:
        val = load_bank(tmp_path / "bank").task(0).val
        assert val is not None
        return bool((val.x == graph.features[node]).all(1).any())

    before = load_bank(tmp_path / "bank").router.honest
    assert held()
    forget(tmp_path / "bank", Source(graph), [names[node]])
    after = load_bank(tmp_path / "bank").router.honest
    assert not held()
    assert before is not None
    assert after is not None
    assert after.nodes == before.nodes - 1


def test_sets_are_written_as_lists(honest: Bank, tmp_path: Path) -> None:
    found = honest.predict(drawn("ab", 3, 2, nodes=5), sets=0.99)
    for kind in ("csv", "json", "jsonl"):
        answers.save(found, tmp_path / f"out.{kind}")
    rows = json.loads((tmp_path / "out.json").read_text())
    assert found.sets is not None
    assert [len(row["set"]) for row in rows] == found.sets.sum(1).tolist()
    head = (tmp_path / "out.csv").read_text().splitlines()[0]
    assert head == "node,class,task,confidence,unknown,set"


def test_a_node_is_explained_by_classes_hops_and_neighbours(honest: Bank) -> None:
    graph = drawn("abcdef", 6, 4)
    found = honest.predict(graph, options=PredictOptions("router", unknown=0.05, explain="17"))
    why = found.explanation
    assert why is not None
    assert why.answer == found.names[17]
    assert why.nearest[0].name == why.answer
    assert why.nearest[0].probability == pytest.approx(float(found.confidence[17]), abs=1e-5)
    assert [each.hop for each in why.hops] == [0, 2]
    surest = max(why.hops, key=lambda each: each.of_the_answer)
    assert why.carried == surest.hop
    linked = graph.adjacency.indices[graph.adjacency.indptr[17] : graph.adjacency.indptr[18]]
    assert [each.node for each in why.neighbours] == [str(v) for v in linked]
    with pytest.raises(TaamctlError, match="no such node among the 900"):
        honest.predict(graph, options=PredictOptions("router", explain="17b"))


def test_the_distance_is_the_relative_mahalanobis_distance() -> None:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((60, 7))
    label = np.arange(60) % 3
    gram = sum(x[label == c].T @ x[label == c] / 20 for c in range(3))
    means = np.stack([x[label == c].mean(0) for c in range(3)], 1)
    sums = ridge.Sums(torch.from_numpy(gram), torch.from_numpy(means), 60)
    inverse = np.linalg.inv(gram + 0.3 * np.eye(7))
    weight = inverse @ means
    made = signs_of(torch.from_numpy(weight), sums.cross, np.ones(3), sums.gram.diagonal())
    asked = rng.standard_normal((9, 7))
    found = made.of(torch.from_numpy(asked), asked @ weight)[:, SIGNS.index("distance")]
    within = np.linalg.inv(gram + 0.3 * np.eye(7) - means @ means.T)
    to_class = [np.einsum("nf,fg,ng->n", asked - m, within, asked - m) for m in means.T]
    to_all = np.einsum("nf,fg,ng->n", asked, inverse, asked)
    assert np.allclose(found, np.min(to_class, 0) - to_all, atol=1e-4)


def test_values_are_averaged_over_edges_and_a_lone_node_keeps_its_own() -> None:
    adjacency, _ = adjacency_from_edges(np.array([0, 1]), np.array([1, 0]), 3, "g")
    values = np.array([0.0, 1.0, 5.0])
    found = over_edges(values, adjacency)
    own, other = values[:2].copy(), values[1::-1].copy()
    for _ in range(8):
        own, other = 0.2 * values[:2] + 0.8 * other, 0.2 * values[1::-1] + 0.8 * own
    assert np.allclose(found, [*own, 5.0])


def test_stand_ins_are_of_the_class_that_is_wanted() -> None:
    rng = np.random.default_rng(1)
    kept, wanted = rng.integers(0, 5, 40) * 2, rng.integers(0, 11, 500)
    found = honest_fit.exchanged(kept, wanted, rng)
    there = np.isin(wanted, kept)
    assert np.array_equal(kept[found[there]], wanted[there])
    assert len(np.unique(found[~there])) > 20


def test_the_logistic_regression_is_at_its_optimum() -> None:
    rng = np.random.default_rng(2)
    x, mass = rng.standard_normal((200, 3)), rng.random(200)
    y = rng.random(200) < 1 / (1 + np.exp(-x @ [1.0, -2.0, 0.0]))
    share = mass / mass.sum()

    def loss(w: np.ndarray) -> float:
        line = x @ w[:3] + w[3]
        fit = float(share @ (np.logaddexp(0, line) - y * line))
        return fit + PENALTY / 2 * float(w[:3] @ w[:3])

    from scipy.optimize import minimize

    best = minimize(loss, np.zeros(4), tol=1e-10).x
    assert np.allclose(logistic(x, y, mass), best[:3], atol=1e-3)


def test_reliability_is_what_it_says_on_answers_of_which_all_is_known() -> None:
    p = np.tile([0.8, 0.2], (10, 1)).astype(np.float32)
    none = np.zeros(10)
    made = answers.Answers(
        *(np.arange(10), none.astype(int), ("a", "b"), none, p.max(1), none, none > 0),
        sets=p > 0.5,
        probabilities=p,
        owner=(1, 2),
    )
    found = reliability(made, np.array([0] * 6 + [1] * 3 + [-1]))
    assert found is not None
    assert found.ece == pytest.approx(0.8 - 6 / 9, abs=1e-6)
    assert found.log_loss == pytest.approx(-(6 * np.log(0.8) + 3 * np.log(0.2)) / 9, abs=1e-6)
    assert found.coverage == pytest.approx(6 / 9)
    assert found.task_coverage == {1: 1.0, 2: 0.0}
    assert found.ece_before == pytest.approx(found.ece, abs=1e-6)
    assert reliability(made, np.full(10, -1)) is None
    assert posterior(np.array([[1.0, 1.0]]), 5.0).tolist() == [[0.5, 0.5]]


def test_the_table_of_the_page_is_that_of_what_was_kept() -> None:
    path = ROOT / "tests" / "honest_table.py"
    spec = importlib.util.spec_from_file_location("honest_table", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    page = (ROOT / "taamctl" / "docs" / "honest-answers.md").read_text(encoding="utf-8")
    assert made.table(KEPT) in page, "print it again: python tests/honest_table.py FILE"


@pytest.mark.parametrize(("rows", "known"), [(1, False), (8, False), (9, True)])
def test_too_few_kept_nodes_tell_nothing(
    tmp_path: Path, config: MakeConfig, rows: int, known: bool
) -> None:
    made = config("linear_probe", "bank.router.width=24", f"bank.val_rows={rows}")
    bank = load_bank(taught(tmp_path / "bank", made, ("ab",)))
    assert (bank.router.honest is not None) == known
    if not known:
        assert false_alarms(bank, drawn("ab", 1, 6)) < 0.5
        with pytest.raises(TaamctlError, match="too few validation nodes"):
            bank.predict(drawn("ab", 1, 6), sets=0.9)


def test_a_set_that_too_few_nodes_can_vouch_for_holds_every_class(honest: Bank) -> None:
    kept = honest.router.honest
    assert kept is not None
    for share, every in ((1 - 2 / kept.nodes, False), (1 - 1 / (kept.nodes + 2), True)):
        found = honest.predict(drawn("ab", 3, 2, nodes=5), sets=share)
        assert found.sets is not None
        assert bool(found.sets.all()) == every


@pytest.mark.parametrize("seed", range(4))
def test_means_over_edges_are_the_same_in_whatever_ranges(
    seed: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    rng = np.random.default_rng(seed)
    n = 60
    dense = (rng.random((n, n)) < 0.05).astype(np.int8)
    dense[seed] = 0  # receives nothing
    values = rng.standard_normal((n, 3))
    adjacency = from_scipy(scipy.sparse.csr_matrix(dense), binary=True)
    at_once = over_edges(values, adjacency)
    monkeypatch.setattr(signs, "RANGE", 20)
    for kept in (0, 1 << 20):
        monkeypatch.setattr(signs, "KEPT", kept)
        assert over_edges(values, adjacency).tobytes() == at_once.tobytes()
    edges = dense - np.diag(dense.diagonal())
    counts = edges.sum(1, keepdims=True)
    found = values
    for _ in range(8):
        mean = np.where(counts > 0, edges @ found / np.maximum(counts, 1), found)
        found = 0.2 * values + 0.8 * mean
    assert np.allclose(at_once, found)
