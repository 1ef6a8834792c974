"""A score counts what a plain loop over the nodes counts."""

from __future__ import annotations

import json
from dataclasses import asdict

import numpy as np
import pytest

from taamctl.bank.answers import Answers
from taamctl.bank.graph_source import Source
from taamctl.bank.score import score
from taamctl.cli import score_table
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph

GRAPH_CLASSES = ("tea", "books", "music", "never")
BANK_CLASSES = ("music", "books", "toys")


def drawn(seed: int, n: int = 80) -> tuple[Answers, NodeGraph]:
    rng = np.random.default_rng(seed)
    zeros = np.zeros(n)
    answers = Answers(
        node=np.arange(n),
        label=rng.integers(0, 3, n),
        class_names=BANK_CLASSES,
        task=zeros.astype(int),
        confidence=zeros.astype(np.float32),
        novelty=zeros,
        unknown=rng.random(n) < 0.3,
    )
    empty = CSR(np.zeros(n + 1, np.int64), np.zeros(0, np.int32), None, (n, n))
    labels = rng.integers(-1, 3, n)
    graph = NodeGraph("g", empty, np.ones((n, 2), np.float32), labels, GRAPH_CLASSES)
    return answers, graph


@pytest.mark.parametrize("seed", range(5))
def test_it_counts_by_name_and_new_classes_apart(seed: int) -> None:
    answers, graph = drawn(seed)
    found = score(answers, graph)
    rows = [
        (GRAPH_CLASSES[c], said, bool(unknown))
        for c, said, unknown in zip(graph.labels, answers.names, answers.unknown, strict=True)
        if c >= 0
    ]
    for each in found.classes:
        own = [row for row in rows if row[0] == each.name]
        assert each.nodes == len(own)
        assert each.unknown == sum(unknown for *_, unknown in own)
        assert each.right == sum(said == each.name and not unknown for _, said, unknown in own)
        assert each.known == (each.name in BANK_CLASSES)
    assert [each.name for each in found.classes] == ["tea", "books", "music"]
    known = [row for row in rows if row[0] in BANK_CLASSES]
    right = sum(name == said and not unknown for name, said, unknown in known)
    assert found.accuracy == pytest.approx(right / len(known))
    new = [unknown for name, _, unknown in rows if name == "tea"]
    assert found.unknown_new == pytest.approx(sum(new) / len(new))
    assert found.labelled + found.unlabelled == len(graph.labels)


def test_it_is_shown_as_a_table_and_as_json(capsys: pytest.CaptureFixture[str]) -> None:
    found = score(*drawn(0))
    score_table.show(found, as_json=True)
    assert json.loads(capsys.readouterr().out) == json.loads(json.dumps(asdict(found)))
    score_table.show(found, as_json=False)
    out = capsys.readouterr().out
    assert "tea (new)" in out and "nodes of known classes are right" in out


def test_a_graph_without_labels_or_of_another_size_is_refused() -> None:
    answers, graph = drawn(0)
    with pytest.raises(TaamctlError, match="no node of the graph has a label"):
        score(answers, NodeGraph("g", graph.adjacency, graph.features, graph.labels * 0 - 1, ()))
    with pytest.raises(TaamctlError, match="80 answers for a graph of 7 nodes"):
        score(answers, drawn(1, 7)[1])


@pytest.mark.parametrize("nodes", [79, 81])
def test_answers_of_another_graph_are_not_scored(nodes: int) -> None:
    answers, _ = drawn(0)
    _, other = drawn(1, nodes)
    with pytest.raises(TaamctlError, match=f"80 answers for a graph of {nodes} nodes"):
        score(answers, other)


def test_neighbours_that_come_last_are_not_counted() -> None:
    answers, _ = drawn(0)
    _, whole = drawn(1, 90)
    assert score(answers, Source(whole, context=10)).labelled == (whole.labels[:80] >= 0).sum()
