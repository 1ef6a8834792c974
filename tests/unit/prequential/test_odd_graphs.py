"""Small graphs with everything odd at once are replayed to the end."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.audit.stream_guard import Nothing
from taamctl.core.progress import SILENT
from taamctl.core.types import Array, Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.prequential import replay_file
from taamctl.prequential.replay_file import Prepared
from taamctl.prequential.stream_marks import Told, marks
from taamctl.prequential.stream_options import StreamOptions


def odd(rng: np.random.Generator) -> NodeGraph:
    """Draw a graph with loops, nodes without edges, features, labels or times, and rare classes."""
    n = int(rng.integers(8, 60))
    classes = int(rng.integers(2, 8))
    labels = rng.integers(-1, classes, size=n)
    labels[rng.random(n) < rng.choice([0, 0.8])] = 0
    x = rng.random((n, int(rng.integers(1, 9)))).astype(np.float32)
    x[rng.random(n) < 0.2] = 0
    ends = rng.integers(0, n, (2, int(rng.integers(0, 3 * n))))
    adjacency, _ = adjacency_from_edges(*ends, n, "g")
    time: Array = np.floor(rng.random(n) * rng.integers(1, 40))
    time[rng.random(n) < 0.3 * rng.random()] = np.nan
    labels[:4] = [0, 1, 0, 1]  # so that there is something to replay
    time[:4] = [0, 1, 2, 3]
    return NodeGraph("g", adjacency, x, labels, tuple("abcdefgh"[:classes]), given=Given(time=time))


@pytest.mark.parametrize("seed", range(12))
def test_an_odd_graph_is_lived_through(
    seed: int,
    prepared: Callable[..., Prepared],
    context: SimpleNamespace,
    options: StreamOptions,
) -> None:
    rng = np.random.default_rng(seed)
    graph = odd(rng)
    asked = replace(
        options,
        snapshots=int(rng.integers(2, 12)),
        times=str(rng.choice(["given", "random"])),
        held=float(rng.choice([0, 0.2, 0.9])),
        unknown=float(rng.choice([0, 0.5])),
        experts=str(rng.choice(["stay", "retrain"])),
        old_rows=str(rng.choice(["shown", "now"])),
    )
    ready = prepared(graph, asked)
    for method in ("analytic", "linear_probe", "taam", "joint", "finetune"):
        made, _ = replay_file.answered(context, ready, method, 1, Nothing(), SILENT)
        told = marks(Told(ready.arrivals, made.label, made.unknown, made.held), made.seconds)
        nodes = sum(snapshot["nodes"] for snapshot in told["snapshots"])
        assert nodes == (ready.arrivals.snapshot >= 0).sum()
        first = ready.arrivals.labelled & (ready.arrivals.snapshot == 0)
        answered = told["known_nodes"] + told["unknown_nodes"]
        assert answered == ready.arrivals.labelled.sum() - first.sum()
