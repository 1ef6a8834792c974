"""A replay: what an answer may depend on, that it goes on where it stopped, and what it learns."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.learning.kernels.class_sums import Rows as Exact
from taamctl.learning.kernels.class_sums import collect
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.prequential import choose_follower, replay_file
from taamctl.prequential.by_experts import ByExperts
from taamctl.prequential.by_sums import BySums
from taamctl.prequential.follower import Follower, Labelled, News
from taamctl.prequential.replay_file import Prepared
from taamctl.prequential.time_replay import Answers, Replay
from taamctl.propagation import room
from taamctl.propagation.room import Room

METHODS = ("analytic", "linear_probe", "taam", "taam_l", "joint", "finetune")


class Kept:
    """Keep every snapshot in memory, and stop after one of them."""

    def __init__(self, stop: int = 99) -> None:
        self.saved: dict[int, tuple[Mapping[str, Array], Mapping[str, Array], Array]] = {}
        self.stop = stop

    def load(self, stage: int) -> tuple[Mapping[str, Array], Mapping[str, Array], Array] | None:
        return self.saved.get(stage)

    def save(
        self, stage: int, state: Mapping[str, Array], training: Mapping[str, Array], losses: Array
    ) -> None:
        copies = [{name: np.array(x) for name, x in each.items()} for each in (state, training)]
        self.saved[stage] = (copies[0], copies[1], losses.copy())
        if stage == self.stop:
            raise KeyboardInterrupt


def followed(context: SimpleNamespace, prepared: Prepared, method: str) -> Follower:
    recipe = replay_file.recipe_of(context, prepared.options, method, 1)
    return choose_follower.follower(recipe, prepared.arrivals, prepared.graph.features.shape[1])


def answers(context: SimpleNamespace, prepared: Prepared, method: str, kept: Kept) -> Answers:
    model = followed(context, prepared, method)
    return prepared.replay(context).run(model, kept)[0]


@pytest.mark.parametrize("method", METHODS)
def test_a_replay_that_was_stopped_ends_as_one_that_was_not(
    method: str,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
) -> None:
    ready = prepared(timed(1))
    whole = answers(context, ready, method, Kept()).arrays()
    for stop in range(3):
        kept = Kept(stop)
        with pytest.raises(KeyboardInterrupt):
            answers(context, ready, method, kept)
        kept.stop = 99
        again = answers(context, ready, method, kept).arrays()
        assert min(kept.saved) <= stop
        for name, array in whole.items():
            assert array.tobytes() == again[name].tobytes(), name


@pytest.mark.parametrize("method", ["analytic", "linear_probe", "joint"])
def test_no_answer_and_no_model_depends_on_the_limit(
    method: str,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ready = prepared(timed(7))
    free, little = Kept(), Kept()
    answers(context, ready, method, free)
    monkeypatch.setattr(room, "LEAST", 2)
    monkeypatch.setattr(room, "ArrayBlocks", None)  # nothing is in memory then
    limited = replace(ready, graph=replace(ready.graph, room=Room(1)))
    answers(context, limited, method, little)
    assert free.saved.keys() == little.saved.keys()
    for t, (said, model, _) in free.saved.items():
        for one, other in zip((said, model), little.saved[t][:2], strict=True):
            assert {name: x.tobytes() for name, x in one.items()} == {
                name: x.tobytes() for name, x in other.items()
            }


@pytest.mark.parametrize("method", METHODS)
def test_every_node_is_asked_once_ahead_and_held_ones_ever_after(
    method: str,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
) -> None:
    ready = prepared(timed(2))
    arrivals = ready.arrivals
    made = answers(context, ready, method, Kept())
    asked = arrivals.labelled & (arrivals.snapshot > 0)
    assert ((made.label >= 0) == asked).all()
    assert (np.isfinite(made.sure) == asked).all()
    before = np.array([arrivals.seen(t - 1) for t in range(arrivals.count)])
    assert (made.label[asked] < before[arrivals.snapshot[asked]]).all()
    for t in range(arrivals.count):
        there = arrivals.snapshot[arrivals.held] <= t
        assert ((made.held[t] >= 0) == there).all()
        assert (made.held[t] < arrivals.seen(t)).all()
    right = made.label == arrivals.y
    if method == "analytic":
        assert right[arrivals.known].mean() > 0.7


def test_a_model_sees_the_known_graph_and_shown_labels_alone(
    timed: Callable[..., NodeGraph], prepared: Callable[..., Prepared], context: SimpleNamespace
) -> None:
    """Of a graph whose features are node numbers, a model of ours writes down what it is given."""
    graph = timed(3)
    numbers = np.arange(1, 121, dtype=np.float32)[:, None] * np.ones((1, 2), np.float32)
    ready = prepared(replace(graph, features=numbers))
    arrivals = ready.arrivals
    log: list[tuple[str, Array]] = []

    class Spy:
        hops = frozenset((0,))

        def learn(self, news: News) -> None:
            log.append(("learn", nodes(news.fresh)))
            log.append(("so far", nodes(news.so_far())))
            assert (news.fresh.y == arrivals.y[nodes(news.fresh)]).all()

        def answer(self, rows: SimpleNamespace) -> tuple[Array, Array]:
            log.append(("ask", rows.hops[0][:, 0].numpy().astype(int) - 1))
            return np.zeros(len(rows), np.int64), np.zeros(len(rows), np.float32)

        def state(self) -> dict[str, Array]:
            return {}

        def load(self, state: object) -> None:
            raise AssertionError

    def nodes(known: Labelled) -> Array:
        return known.rows.hops[0][:, 0].numpy().astype(int) - 1

    ready.replay(context).run(Spy(), Kept())
    learned: set[int] = set()
    for t in range(arrivals.count):
        here = arrivals.snapshot == t
        if t:
            what, asked = log.pop(0)
            assert what == "ask"
            assert set(asked) == set(np.flatnonzero(here))
            assert not set(asked) & learned
        assert set(log[0][1]) == set(np.flatnonzero(here & arrivals.shown))
        learned |= set(log.pop(0)[1])
        assert set(log.pop(0)[1]) == learned
        held = set(log.pop(0)[1])
        assert not held & learned
        assert held == {n for n in arrivals.held if arrivals.snapshot[n] <= t}
    assert not log


def test_an_edge_is_known_when_both_ends_are(
    timed: Callable[..., NodeGraph], prepared: Callable[..., Prepared], context: SimpleNamespace
) -> None:
    ready = prepared(timed(4))
    params = context.params.section(PrecomputeParams)
    edges = ready.graph.edges
    dense = np.zeros(edges.shape)
    dense[np.repeat(np.arange(120), np.diff(edges.indptr)), edges.indices] = 1
    x = ready.graph.features
    for t in range(ready.arrivals.count):
        there = np.flatnonzero(ready.arrivals.snapshot <= t)
        a = dense[np.ix_(there, there)] + np.eye(len(there))
        root = 1 / np.sqrt(a.sum(1))
        s = root[:, None] * a * root
        known = ready.graph.known(there, {0, 2}, params)
        some = np.random.default_rng(t).permutation(there)[:10]
        want = (s @ s @ x[there])[np.searchsorted(there, some)]
        assert np.allclose(known.of(some).hops[2].numpy(), want, atol=1e-5)
        assert np.array_equal(known.of(some).hops[0].numpy(), x[some])
        assert np.array_equal(known.rows.deg.numpy(), a.sum(1))


def test_sums_are_those_of_all_shown_nodes_as_they_were_shown(
    timed: Callable[..., NodeGraph], prepared: Callable[..., Prepared], context: SimpleNamespace
) -> None:
    ready = prepared(timed(5))
    model = followed(context, ready, "analytic")
    assert isinstance(model, BySums)
    ready.replay(context).run(model, Kept())
    arrivals, params = ready.arrivals, context.params.section(PrecomputeParams)
    parts, y = [], []
    for t in range(arrivals.count):
        known = ready.graph.known(np.flatnonzero(arrivals.snapshot <= t), model.hops, params)
        new = np.flatnonzero(arrivals.shown & (arrivals.snapshot == t))
        parts.append(known.of(new).hops)
        y.append(arrivals.y[new])
    order = np.random.default_rng(0).permutation(sum(map(len, y)))
    import torch

    hops = {j: torch.cat([p[j] for p in parts])[order].double() for j in model.hops}
    wanted = collect(Exact(hops, np.concatenate(y)[order]), 4, model._lift, model.params)
    assert np.array_equal(wanted.gram, model.state()["gram"])
    assert np.array_equal(wanted.cross, model.state()["cross"])


@pytest.mark.parametrize("silent", [False, True], ids=["labels", "no label at the end"])
@pytest.mark.parametrize("method", ["analytic", "linear_probe"])
def test_exchanged_rows_are_those_of_the_graph_as_it_is(
    method: str,
    silent: bool,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
) -> None:
    graph = timed(5)
    if silent:
        late = graph.given.time > np.quantile(graph.given.time, 0.74)
        graph = replace(graph, labels=np.where(late, -1, graph.labels))
    ready = prepared(graph)
    ready = replace(ready, options=replace(ready.options, old_rows="now"))
    kept = Kept()
    answers(context, ready, method, kept)
    arrivals, params = ready.arrivals, context.params.section(PrecomputeParams)
    model = followed(context, ready, method)
    sums, before = model, ""
    if isinstance(model, ByExperts):
        sums, before = model._router, "router/"
    assert isinstance(sums, BySums)
    for t in range(arrivals.count):
        known = ready.graph.known(np.flatnonzero(arrivals.snapshot <= t), sums.hops, params)
        shown = np.flatnonzero(arrivals.shown & (arrivals.snapshot <= t))
        hops = {j: x.double() for j, x in known.of(shown).hops.items()}
        seen = arrivals.seen(t)
        wanted = collect(Exact(hops, arrivals.y[shown]), seen, sums._lift, sums.params)
        found = kept.saved[t][1]
        assert np.array_equal(wanted.gram, found[f"{before}gram"])
        assert np.array_equal(wanted.cross, found[f"{before}cross"])


@pytest.mark.parametrize("experts", ["stay", "retrain"])
def test_models_of_tasks_stay_or_are_learned_of_all_their_nodes(
    experts: str,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
) -> None:
    ready = prepared(timed(6))
    ready = replace(ready, options=replace(ready.options, experts=experts))
    kept = Kept()
    answers(context, ready, "linear_probe", kept)
    first, last = (kept.saved[t][1]["task-0/weight"] for t in (0, ready.arrivals.count - 1))
    assert np.array_equal(first, last) == (experts == "stay")


def test_thresholds_hold_their_share_where_nothing_changes(
    timed: Callable[..., NodeGraph], prepared: Callable[..., Prepared], context: SimpleNamespace
) -> None:
    """Answers whose sureness is a draw of their own: a tenth of known nodes is called unknown."""
    ready = prepared(timed(7))
    big = np.random.default_rng(0).integers(2, size=4000)
    arrivals = replace(
        ready.arrivals,
        snapshot=np.repeat(np.arange(4), 1000),
        y=big,
        shown=np.ones(4000, bool),
        first=np.zeros(2, np.int64),
    )
    made = Answers.none(arrivals)
    replay = Replay(arrivals, ready.graph, context.params.section(PrecomputeParams), 0.1)
    assert replay._too_unsure(1, made) == -np.inf
    made.sure[1000:] = np.random.default_rng(1).random(3000)
    made.sure[2000:3000] += 5
    made.unknown[2000:2100] = 1  # as many as were asked for
    assert replay._too_unsure(2, made) == pytest.approx(0.1, abs=0.03)
    assert replay._too_unsure(3, made) == pytest.approx(5.1, abs=0.03)


@pytest.mark.parametrize("asked", [0.05, 0.6, 0.9])
@pytest.mark.parametrize("drift", [-0.3, 0.0, 0.2])
def test_the_rate_is_held_where_answers_drift(
    drift: float,
    asked: float,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
) -> None:
    """Answers get less sure, or surer, from snapshot to snapshot: a share of the latest ones alone
    would call 9 % or 3 % of the next nodes unknown.
    """
    ready, count, each = prepared(timed(7)), 40, 400
    arrivals = replace(
        ready.arrivals,
        snapshot=np.repeat(np.arange(count), each),
        y=np.random.default_rng(0).integers(2, size=count * each),
        shown=np.ones(count * each, bool),
        first=np.zeros(2, np.int64),
    )
    made = Answers.none(arrivals)
    made.sure[:] = np.random.default_rng(1).standard_normal(len(made.sure))
    made.sure[:] += drift * arrivals.snapshot
    replay = Replay(arrivals, ready.graph, context.params.section(PrecomputeParams), asked)
    for t in range(1, count):
        now = arrivals.snapshot == t
        made.unknown[now] = made.sure[now] < replay._too_unsure(t, made)
    late = arrivals.snapshot >= 10
    assert made.unknown[late].mean() == pytest.approx(asked, abs=max(0.01, asked / 10))


@pytest.mark.parametrize("method", ["oracle", "ewc", "ergnn", "tpp", "taam_one_nsm", "joint_sage"])
def test_a_method_that_does_not_say_how_it_goes_on_is_refused(method: str) -> None:
    with pytest.raises(TaamctlError, match=f"{method} does not say") as caught:
        choose_follower.require(method)
    assert "analytic" in caught.value.hint
    assert "oracle" not in caught.value.hint


@pytest.mark.parametrize(
    ("method", "changes", "message"),
    [
        ("taam", {"profile": "strict_gcil"}, "the tasks of TAAM .strict_gcil. depend"),
    ],
)
def test_settings_that_cannot_be_followed_are_refused(
    method: str,
    changes: dict[str, object],
    message: str,
    timed: Callable[..., NodeGraph],
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
) -> None:
    ready = prepared(timed())
    recipe = replay_file.recipe_of(context, ready.options, method, 1)
    changed = replace(recipe, params=replace(recipe.params, **changes))
    with pytest.raises(TaamctlError, match=message):
        choose_follower.follower(changed, ready.arrivals, 6)
