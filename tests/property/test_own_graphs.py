"""Files as people have them are read as the graph that they mean, or refused."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

DRAWS = 300  # python tests/own_graphs.py --draws 10000 tries more


@pytest.fixture(scope="module")
def own_graphs() -> ModuleType:
    name = "taamctl_tests_own_graphs"
    path = Path(__file__).parents[1] / "own_graphs.py"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


@pytest.mark.filterwarnings("ignore:Node attribute:UserWarning")  # of networkx, on empty text
def test_no_file_is_read_as_another_graph(own_graphs: ModuleType, tmp_path: Path) -> None:
    kinds, outcomes = own_graphs.possible(), []
    for seed in range(DRAWS):
        folder = tmp_path / str(seed)
        folder.mkdir()
        outcomes.append(own_graphs.tried(seed, kinds, folder))
    assert [o for o in outcomes if o.end == "wrong"] == []
    assert sum(o.end == "read" for o in outcomes) > 0.9 * DRAWS


def test_another_graph_is_seen(own_graphs: ModuleType, tmp_path: Path) -> None:
    """The comparison tells graphs apart in each of their parts."""
    import dataclasses

    import numpy as np

    from taamctl.importing import importers

    rng = np.random.default_rng(4)
    drawn = own_graphs.npz(rng, tmp_path)
    while drawn.truth.part is None or len(set(drawn.truth.labels)) < 2:
        drawn = own_graphs.npz(rng, tmp_path)
    truth = drawn.truth
    found = importers.read("drawn", drawn.paths)
    assert own_graphs.difference(found, truth) == ""
    changes = {
        "x": truth.x[::-1],
        "labels": truth.labels[1:] + truth.labels[:1],
        "ends": truth.ends[: len(truth.ends) // 2],
        "ids": [f"other {i}" for i in range(truth.nodes)],
        "part": [*truth.part[1:], truth.part[0]],
    }
    for name, value in changes.items():
        other = dataclasses.replace(truth, **{name: value})
        assert own_graphs.difference(found, other), name
