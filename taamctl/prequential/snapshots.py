"""Cut time into snapshots: of about equal node counts, or of equal spans."""

from __future__ import annotations

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array, NodeGraph
from taamctl.prequential.stream_options import MOST, StreamOptions


def times_of(graph: NodeGraph, options: StreamOptions) -> Array:
    """Return when every node arrives, [N] float64; NaN where that is not known.

    Raises:
        TaamctlError: the graph states no time, or is asked for times that it does not state.
    """
    if options.times == "random":
        return random_times(graph.labels, len(graph.class_names), options.draw)
    if graph.given.time is None:
        raise TaamctlError(
            f"{graph.name} does not say when its nodes arrived",
            "draw an order with --times random, or import the graph with a column of times",
        )
    return graph.given.time


def random_times(labels: Array, classes: int, seed: int) -> Array:
    """Return times in [0, 1): classes begin one after the other, evenly, in a random order, and the
    nodes of a class arrive evenly from its beginning to the end.

    Args:
        labels: [N] int64; a node of -1 arrives at any time.
    """
    rng = numpy_generator(seed, "stream/times")
    begins = np.append(rng.permutation(classes) / max(classes, 1), 0.0)[labels]
    return np.asarray(begins + (1 - begins) * rng.random(len(labels)))


def cut(times: Array, options: StreamOptions, name: str) -> Array:
    """Return the snapshot of every node, [N] int64 from 0 without a gap; -1 without a time. Nodes
    of one time are in one snapshot, so that there may be fewer than were asked for.

    Args:
        times: [N] float64, NaN where unknown.
        name: the data set, for messages.

    Raises:
        TaamctlError: a time is infinite, or there are fewer than two snapshots, or too many.
    """
    if np.isinf(times).any():
        at = int(np.flatnonzero(np.isinf(times))[0])
        raise TaamctlError(
            f"{name}: node {at} arrives at the time {times[at]}", "give finite times, or none"
        )
    known = np.flatnonzero(~np.isnan(times))
    if not len(known):
        raise TaamctlError(
            f"{name}: no node has a time", "import the graph with times, or use --times random"
        )
    place = _by_span(times[known], options.every) if options.every else None
    if place is None:
        place = _by_count(times[known], options.count)
    found = np.full(len(times), -1, np.int64)
    found[known] = np.unique(place, return_inverse=True)[1]
    _require_some(times[known], int(found.max()) + 1, name)
    return found


def _by_span(times: Array, span: float) -> Array:
    return np.asarray(np.floor((times - times.min()) / span))


def _by_count(times: Array, count: int) -> Array:
    """Return the part of `count` equal ones that the first node of a time falls into."""
    first = np.searchsorted(np.sort(times), times, side="left")
    return np.asarray(first * count // len(times))


def _require_some(times: Array, count: int, name: str) -> None:
    if count > MOST:
        raise TaamctlError(
            f"{name}: {count:,} snapshots; a replay has at most {MOST:,}", "give a longer --every"
        )
    if count > 1:
        return
    low, high = times.min(), times.max()
    if low == high:
        raise TaamctlError(
            f"{name}: all {len(times):,} nodes arrive at one time, {low:g}",
            "a replay needs two times; draw an order with --times random",
        )
    raise TaamctlError(
        f"{name}: one snapshot; times lie between {low:g} and {high:g}",
        "give a shorter --every, or more --snapshots",
    )
