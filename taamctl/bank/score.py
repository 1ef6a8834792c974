"""How right a bank's answers are, where the graph has labels."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.bank.answers import Answers
from taamctl.bank.graph_source import Source
from taamctl.bank.reliability import Reliability, reliability
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array, NodeGraph
from taamctl.datasets import _imported
from taamctl.runtime import remote_files


@dataclass(frozen=True)
class ClassScore:
    """One class of the graph.

    Attributes:
        known: the bank knows it. nodes: labelled so.
        right: answered so, and not called unknown. unknown: called unknown.
        taken_for: the class that most of the others were answered with; empty where all are right
            or unknown.
    """

    name: str
    known: bool
    nodes: int
    right: int
    unknown: int
    taken_for: str


@dataclass(frozen=True)
class Score:
    """Answers held against labels; shares are fractions, None where there is no such node.

    Attributes:
        classes: those of the graph that have nodes, in its order.
        labelled: nodes with a label. unlabelled: nodes without, which count nowhere.
        accuracy: share of the nodes of known classes that are answered right.
        balanced: mean of that share over the known classes.
        unknown_known: share of the nodes of known classes that are called unknown.
        unknown_new: share of the nodes of other classes that are called unknown, as they should.
        reliability: of probabilities and sets, where the answers hold probabilities.
    """

    classes: tuple[ClassScore, ...]
    labelled: int
    unlabelled: int
    accuracy: float | None
    balanced: float | None
    unknown_known: float | None
    unknown_new: float | None
    reliability: Reliability | None = None


def score(answers: Answers, graph: NodeGraph | Source | str | Path) -> Score:
    """Hold answers against the labels of the graph that was asked about; classes meet by name.

    Args:
        answers: of `Bank.predict` on this graph.
        graph: the same graph, in memory or as a file.

    Raises:
        TaamctlError: the graph has no label, or another number of nodes.
    """
    labels, names = _labels(graph)
    if len(labels) != len(answers.label):
        raise TaamctlError(
            f"{len(answers.label):,} answers for a graph of {len(labels):,} nodes",
            "score the graph that was asked about",
        )
    if not (labels >= 0).any():
        raise TaamctlError(
            "nothing to score (--score): no node of the graph has a label",
            "import it with its labels: --label",
        )
    found = [_of_class(answers, labels == c, names[c]) for c in np.unique(labels[labels >= 0])]
    known = [each for each in found if each.known]
    new = [each for each in found if not each.known]
    return Score(
        classes=tuple(found),
        labelled=int((labels >= 0).sum()),
        unlabelled=int((labels < 0).sum()),
        accuracy=_share(sum(c.right for c in known), known),
        balanced=_mean([c.right / c.nodes for c in known]),
        unknown_known=_share(sum(c.unknown for c in known), known),
        unknown_new=_share(sum(c.unknown for c in new), new),
        reliability=reliability(answers, _of_bank(answers, labels, names)),
    )


def _of_bank(answers: Answers, labels: Array, names: Sequence[str]) -> Array:
    """Return the label of every node as a position in the bank's classes, [N]; -1: none."""
    place = {name: at for at, name in enumerate(answers.class_names)}
    table = np.array([*(place.get(name, -1) for name in names), -1])
    return np.asarray(table[np.where(labels >= 0, labels, len(names))])


def _labels(graph: NodeGraph | Source | str | Path) -> tuple[Array, Sequence[str]]:
    if isinstance(graph, (str, Path)):
        with _imported.opened(remote_files.local(graph)) as file:
            return file.read("labels"), file.read("classes/name").tolist()
    if isinstance(graph, NodeGraph):
        return graph.labels, graph.class_names
    whole = graph.graph  # its last nodes are neighbours of the others and are not answered
    return whole.labels[: len(whole.labels) - graph.context], whole.class_names


def _of_class(answers: Answers, mine: Array, name: str) -> ClassScore:
    said = np.array(answers.names)[mine]
    unknown = answers.unknown[mine]
    right = (said == name) & ~unknown
    others, counts = np.unique(said[(said != name) & ~unknown], return_counts=True)
    most = ""
    if len(others):
        most = str(others[counts.argmax()])
    return ClassScore(
        name=name,
        known=name in answers.class_names,
        nodes=int(mine.sum()),
        right=int(right.sum()),
        unknown=int(unknown.sum()),
        taken_for=most,
    )


def _share(count: int, classes: Sequence[ClassScore]) -> float | None:
    return _mean([count / sum(c.nodes for c in classes)] if classes else [])


def _mean(values: Sequence[float]) -> float | None:
    return sum(values) / len(values) if values else None
