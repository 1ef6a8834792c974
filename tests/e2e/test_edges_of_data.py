"""Graphs at the edges of what data can be, through all stages: a result without NaN and without a
warning, or a refusal that says what to do.
"""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from taamctl.cli import common
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.pipeline import walk
from taamctl.report import collect

METHODS = ("finetune", "linear_probe", "taam", "analytic")
FAST = ("train.epochs=2", "train.threads=1", "train.device=cpu", "methods.analytic.width=64")
SET = (*FAST, "report.pictures=false", "split.odd_class=merge_into_last")


def graph(
    sizes: tuple[int, ...],
    scale: float = 1.0,
    linked: bool = True,
    part: Callable[[np.ndarray], np.ndarray] | None = None,
) -> NodeGraph:
    rng = np.random.default_rng(len(sizes))
    y = np.repeat(np.arange(len(sizes)), sizes)
    ends = rng.integers(0, len(y), (2, 3 * len(y) if linked else 0))
    ends = ends[:, ends[0] != ends[1]]
    adjacency, _ = adjacency_from_edges(ends[0], ends[1], len(y), "g")
    x = (scale * (rng.random((len(y), 5)) + np.eye(5)[y % 5])).astype(np.float32)
    given = Given(part=None if part is None else part(y).astype(np.int8))
    names = tuple(f"class {k}" for k in range(len(sizes)))
    return NodeGraph("g", adjacency, x, y.astype(np.int64), names, (), given)


def no_test_nodes(y: np.ndarray) -> np.ndarray:
    """Give class 0 neither val nor test nodes, and class 1 no test nodes."""
    part = np.arange(len(y)) % 3
    part[y == 0] = 0
    part[(y == 1) & (part == 2)] = 1
    return part


GRAPHS: dict[str, NodeGraph] = {
    "features that are all 0": graph((12, 12, 12, 12), scale=0.0),
    "isolated nodes": graph((12, 12, 12, 12), linked=False),
    "one task": graph((12, 12)),
    "small classes": graph((3, 2, 2, 3, 3, 2)),
    "classes without val or test nodes": graph((12, 12, 12, 12), part=no_test_nodes),
    "features of 1e30": graph((12, 12, 12, 12), scale=1e30),
    "a class of one node": graph((1, 12, 12, 12)),
}


def numbers(value: object) -> list[float]:
    if isinstance(value, dict):
        return [n for item in value.values() for n in numbers(item)]
    if isinstance(value, list):
        return [n for item in value for n in numbers(item)]
    return [value] if isinstance(value, float) else []


@pytest.mark.parametrize("kind", GRAPHS)
def test_all_stages_have_a_result_or_refuse(
    kind: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    _imported.write(Path("data/g.h5"), GRAPHS[kind], {})
    settings = RawSettings(overrides=list(SET), outputs=Path("outputs"))
    refused = []
    for method in METHODS:
        grid = Grid(["g"], [method], [1])
        context = common.make_context(grid, settings, Writing(quiet=True), check_methods=True)
        with warnings.catch_warnings():
            warnings.simplefilter("error", RuntimeWarning)
            try:
                walk.whole(context)
            except TaamctlError as error:
                refused.append(error)
    assert all(error.hint for error in refused)
    found = collect.evaluations(
        common.make_context(Grid(["g"], list(METHODS), [1]), settings, Writing(quiet=True)).layout
    )
    assert len(found) + len(refused) == len(METHODS)
    for file in found:
        assert all(math.isfinite(n) for n in numbers(json.loads(file.read_text())))
    if kind != "features of 1e30":
        assert not refused, [error.message for error in refused]
