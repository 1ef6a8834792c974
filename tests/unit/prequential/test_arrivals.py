"""How time is cut, which classes are new when, and whose labels are never shown."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given, NodeGraph
from taamctl.prequential.arrivals import arrivals_of
from taamctl.prequential.snapshots import cut, random_times
from taamctl.prequential.stream_options import StreamOptions


@pytest.mark.parametrize("seed", range(20))
def test_snapshots_keep_the_order_of_time_and_what_came_together(
    seed: int, options: StreamOptions
) -> None:
    rng = np.random.default_rng(seed)
    times = rng.integers(0, rng.integers(3, 60), 200).astype(float)
    times[rng.random(200) < 0.1] = np.nan
    asked = replace(options, snapshots=int(rng.integers(2, 12)))
    found = cut(times, asked, "g")
    known = np.flatnonzero(~np.isnan(times))
    assert (found[np.isnan(times)] == -1).all()
    assert set(found[known]) == set(range(found.max() + 1))
    assert found.max() < asked.count
    order = known[np.argsort(times[known], kind="stable")]
    assert (np.diff(found[order]) >= 0).all()
    assert len(set(zip(times[known], found[known], strict=True))) == len(set(times[known]))


def test_snapshots_of_distinct_times_are_equally_large(options: StreamOptions) -> None:
    times = np.random.default_rng(0).permutation(100).astype(float)
    assert np.bincount(cut(times, options, "g")).tolist() == [25] * 4


def test_spans_skip_what_is_empty(options: StreamOptions) -> None:
    years = np.array([2001.0, 2001, 2003, 2009, 2002])
    by_year = replace(options, snapshots=None, every=1.0)
    assert cut(years, by_year, "g").tolist() == [0, 0, 2, 3, 1]


def test_random_times_let_classes_begin_one_after_the_other() -> None:
    labels = np.repeat(np.arange(10), 500)
    times = random_times(labels, 10, 3)
    begins = np.sort([times[labels == c].min() for c in range(10)])
    assert np.allclose(begins, np.arange(10) / 10, atol=0.01)
    assert (times < 1).all()
    assert np.array_equal(times, random_times(labels, 10, 3))
    assert not np.array_equal(times, random_times(labels, 10, 4))


@pytest.mark.parametrize("seed", range(10))
def test_every_class_is_learned_where_it_is_new(
    seed: int, timed: Callable[..., NodeGraph], options: StreamOptions
) -> None:
    graph = timed(seed)
    found = arrivals_of(graph, graph.labels, replace(options, held=0.9, draw=seed))
    for t in range(found.count):
        for c in range(4):
            here = (found.snapshot == t) & (found.y == c)
            assert (here & ~found.shown).sum() == np.floor(0.9 * here.sum())
    assert (np.diff(found.first) >= 0).all()
    for c, name in enumerate(found.class_names):
        assert found.snapshot[found.shown & (found.y == c)].min() == found.first[c]
        own = graph.labels[found.y == c]
        assert {graph.class_names[label] for label in own} == {name}
    assert sorted(c for task in found.tasks().values() for c in task.classes) == list(range(4))
    assert not found.known[found.snapshot == 0].any()


def test_a_class_of_one_node_is_known_after_it(
    timed: Callable[..., NodeGraph], options: StreamOptions
) -> None:
    graph = timed()
    labels = graph.labels.copy()
    labels[labels == 3] = 0
    last = int(np.argmax(graph.given.time))
    labels[last] = 3
    found = arrivals_of(graph, labels, replace(options, held=0.9))
    assert found.class_names[-1] == "d"
    assert found.first[-1] == found.count - 1
    assert found.shown[last]
    assert not found.known[last]


def test_a_node_without_a_time_never_arrives_and_one_without_a_label_is_never_asked(
    timed: Callable[..., NodeGraph], options: StreamOptions
) -> None:
    graph = timed()
    labels = graph.labels.copy()
    labels[5] = -1
    time = graph.given.time.copy()
    time[7] = np.nan
    found = arrivals_of(replace(graph, given=Given(time=time)), labels, options)
    assert found.snapshot[7] == -1
    assert found.snapshot[5] >= 0
    assert not found.labelled[[5, 7]].any()
    assert not found.shown[[5, 7]].any()


def test_what_comes_before_the_first_label_is_there_at_once(
    timed: Callable[..., NodeGraph], options: StreamOptions
) -> None:
    graph = timed(time=np.arange(120.0))
    labels = np.where(np.arange(120) < 40, -1, graph.labels)
    found = arrivals_of(graph, labels, options)
    assert (found.snapshot[:60] == 0).all()
    assert found.count == 3


@pytest.mark.parametrize(
    ("time", "every", "message"),
    [
        (None, None, "g does not say when its nodes arrived"),
        (np.full(120, np.nan), None, "g: no node has a time"),
        (np.zeros(120), None, "all 120 nodes arrive at one time, 0"),
        (np.where(np.arange(120) == 3, np.inf, 0.0), None, "g: node 3 arrives at the time inf"),
        (np.arange(120.0), 500.0, "g: one snapshot; times lie between 0 and 119"),
    ],
)
def test_what_cannot_be_cut_is_refused(
    time: np.ndarray | None,
    every: float | None,
    message: str,
    timed: Callable[..., NodeGraph],
    options: StreamOptions,
) -> None:
    graph = replace(timed(), given=Given(time=time))
    asked = replace(options, snapshots=[4, None][every is not None], every=every)
    with pytest.raises(TaamctlError, match=message):
        arrivals_of(graph, graph.labels, asked)


def test_more_snapshots_than_a_replay_has_are_refused(options: StreamOptions) -> None:
    asked = replace(options, snapshots=None, every=0.5)
    assert cut(np.arange(1000.0), asked, "g").max() == 999
    with pytest.raises(TaamctlError, match="g: 1,001 snapshots; a replay has at most 1,000"):
        cut(np.arange(1001.0), asked, "g")


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (np.full(120, -1), "nodes of 0 classes arrive"),
        (np.zeros(120, np.int64), "nodes of 1 classes arrive"),
        (np.where(np.arange(120) < 100, -1, np.arange(120) % 4), "in one snapshot, the last"),
    ],
)
def test_too_few_labels_are_refused(
    labels: np.ndarray, message: str, timed: Callable[..., NodeGraph], options: StreamOptions
) -> None:
    with pytest.raises(TaamctlError, match=message):
        arrivals_of(timed(time=np.arange(120.0)), labels, options)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"snapshots": 1}, "--snapshots 1: a replay has 2 to 1,000"),
        ({"snapshots": 0}, "--snapshots 0"),
        ({"snapshots": -3}, "--snapshots -3"),
        ({"snapshots": 1001}, "--snapshots 1001"),
        ({"every": 2.0}, "--snapshots 4 and --every 2 both cut"),
        ({"snapshots": None, "every": 0.0}, "--every 0: no span"),
        ({"snapshots": None, "every": float("nan")}, "--every nan: no span"),
        ({"times": "later"}, "--times later: no such choice"),
        ({"experts": "go"}, "--experts go: no such choice"),
        ({"old_rows": "then"}, "--old-rows then: no such choice"),
        ({"held": 1.0}, "--held 1: a share"),
        ({"held": float("nan")}, "--held nan: a share"),
        ({"unknown": -0.1}, "--unknown -0.1: a share"),
    ],
)
def test_options_that_mean_nothing_are_refused(
    changes: dict[str, object], message: str, options: StreamOptions
) -> None:
    with pytest.raises(TaamctlError, match=message):
        replace(options, **changes)
