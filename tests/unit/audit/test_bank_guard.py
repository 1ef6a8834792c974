"""A bank that looks at what it should not is caught."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.audit import bank_guard
from taamctl.audit.checks import SplitArrays
from taamctl.bank import update as growing
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file, sections
from taamctl.stream.induce import induce

FAST = ("train.epochs=1", "train.threads=1", "train.device=cpu", "bank.router.width=16")
FAST += ("split.symmetrize=always", "split.min_class_size=1")


@pytest.fixture
def case(tmp_path: Path) -> SimpleNamespace:
    """Return two tasks of two classes with 20 nodes each, of which a half is for training."""
    rng = np.random.default_rng(0)
    n = 80
    labels = np.arange(n) % 4
    x = (labels[:, None] + rng.random((n, 6))).astype(np.float32)
    adjacency, _ = adjacency_from_edges(rng.integers(0, n, 300), rng.integers(0, n, 300), n, "g")
    raw = NodeGraph("g", adjacency, x, labels, ("a", "b", "c", "d"))
    groups = [
        np.flatnonzero((labels // 2 == task) & (np.arange(n) // 8 % 4 == part))
        for task in range(2)
        for part in range(3)
    ]
    nodes, offset = np.concatenate(groups), np.cumsum([0, *map(len, groups)])
    edges = induce(adjacency, nodes, offset)
    split = SplitArrays(
        *(np.arange(4), np.array([[0, 2], [2, 4]]), offset, nodes, labels[nodes]),
        *(edges.indptr, edges.indices),
    )
    outputs = tmp_path / "outputs"
    (outputs / "split").mkdir(parents=True)
    (outputs / "split" / "split.h5").write_bytes(b"")
    params = sections.Params("test", params_file.read(params_file.PACKAGED, [*FAST]))
    layout = SimpleNamespace(root=outputs)
    meta = SimpleNamespace(directed=False, unlabelled_as=None, feature_norm="none")
    return SimpleNamespace(
        context=SimpleNamespace(params=params, layout=layout, data_root=None),
        source=SimpleNamespace(meta=meta, imported=tmp_path / "raw.h5"),
        dataset="g",
        raw=raw,
        split=split,
        temporary=tmp_path,
    )


def verdicts(case: SimpleNamespace) -> Iterator[str]:
    for check in bank_guard.guard(case, ("linear_probe", 1)):
        yield check.verdict


def test_an_honest_bank_passes(case: SimpleNamespace) -> None:
    assert list(verdicts(case)) == ["ok"] * 4


def test_a_bank_that_learns_of_test_nodes_fails(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    everything = lambda graph, params: np.zeros(graph.num_nodes, np.int64)  # noqa: E731
    monkeypatch.setattr(growing, "part_by_name", everything)
    assert list(verdicts(case)) == ["ok", "failed", "failed", "failed"]


def test_a_bank_that_opens_the_outputs_fails(
    case: SimpleNamespace, monkeypatch: pytest.MonkeyPatch
) -> None:
    honest = growing.part_by_name

    def peeking(*arguments: object) -> object:
        (case.context.layout.root / "split" / "split.h5").read_bytes()
        return honest(*arguments)

    monkeypatch.setattr(growing, "part_by_name", peeking)
    assert list(verdicts(case)) == ["failed", "ok", "ok", "ok"]


def test_a_method_that_no_bank_keeps_is_told(case: SimpleNamespace) -> None:
    (check,) = bank_guard.guard(case, ("finetune", 1))
    assert check.verdict == "not run"
    assert "cannot keep finetune" in check.detail
