"""A replay that looks at what comes later is caught."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.audit import stream_guard
from taamctl.core.types import Array, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file, sections
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.prequential.follower import Labelled, News
from taamctl.prequential.known_graph import KnownGraph, WholeGraph
from taamctl.prequential.time_replay import Replay

FAST = ("train.epochs=2", "train.threads=1", "train.device=cpu", "split.symmetrize=always")
FAST += ("bank.router.width=16", "methods.analytic.width=16")


@pytest.fixture
def case(tmp_path: Path) -> SimpleNamespace:
    """Return a graph of 160 nodes without times."""
    rng = np.random.default_rng(0)
    n = 160
    labels = np.arange(n) % 4
    x = (labels[:, None] + rng.random((n, 6))).astype(np.float32)
    adjacency, _ = adjacency_from_edges(rng.integers(0, n, 600), rng.integers(0, n, 600), n, "g")
    params = sections.Params("test", params_file.read(params_file.PACKAGED, [*FAST]))
    meta = SimpleNamespace(directed=False, unlabelled_as=None, feature_norm="none")
    return SimpleNamespace(
        context=SimpleNamespace(params=params),
        source=SimpleNamespace(meta=meta),
        dataset="g",
        raw=NodeGraph("g", adjacency, x, labels, ("a", "b", "c", "d")),
        temporary=tmp_path,
    )


def verdicts(case: SimpleNamespace, method: str = "analytic") -> list[str]:
    return [check.verdict for check in stream_guard.guard(case, (method, 1))]


@pytest.mark.parametrize("method", ["analytic", "linear_probe", "taam", "joint", "finetune"])
def test_an_honest_replay_passes(case: SimpleNamespace, method: str) -> None:
    assert verdicts(case, method) == ["ok"] * 3


def test_a_replay_that_knows_the_whole_graph_fails(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = WholeGraph.known

    def everything(
        self: WholeGraph, nodes: Array, wanted: Iterable[int], params: PrecomputeParams
    ) -> KnownGraph:
        return honest(self, np.arange(self.edges.shape[0]), wanted, params)

    monkeypatch.setattr(WholeGraph, "known", everything)
    assert verdicts(case) == ["failed", "failed", "ok"]


@pytest.mark.parametrize("ahead", [0, 1], ids=["what is never shown", "the next snapshot"])
def test_a_replay_that_learns_hidden_labels_fails(
    ahead: int, case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = Replay._news

    def early(self: Replay, t: int, known: KnownGraph) -> News:
        news, here = honest(self, t, known), self.arrivals
        of_seen = here.labelled & (here.y < news.seen)
        taught = np.flatnonzero(of_seen & (here.snapshot <= t + ahead))
        whole = self.graph.known(np.arange(len(here.y)), known.rows.hops, self.hops_of)
        return replace(news, fresh=Labelled(whole.of(taught), here.y[taught]))

    monkeypatch.setattr(Replay, "_news", early)
    assert verdicts(case)[2] == "failed"


def test_a_method_or_a_graph_that_cannot_be_replayed_is_told(case: SimpleNamespace) -> None:
    (check,) = stream_guard.guard(case, ("ewc", 1))
    assert check.verdict == "not run"
    assert "ewc does not say" in check.detail
    case.raw.labels[:] = 0
    (check,) = stream_guard.guard(case, ("analytic", 1))
    assert (check.verdict, "1 classes" in check.detail) == ("not run", True)
