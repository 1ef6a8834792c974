"""A bank's features are matched by name: any order gives the same answers, other names are
refused, missing names are told.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from taamctl.bank import add, store
from taamctl.bank.bank import load_bank
from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source, from_file
from taamctl.bank.predict_options import PredictOptions
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.runtime.provenance import sidecar_of

NAMES = tuple(f"word {j}" for j in range(12))


def named(graph: NodeGraph, order: Any = None, names: tuple[str, ...] = NAMES) -> NodeGraph:
    """Return a graph with named features, in another order where one is given."""
    order = np.arange(12) if order is None else np.asarray(order)
    x = graph.features
    moved = (
        from_scipy(to_scipy(x)[:, order])
        if isinstance(x, CSR)
        else np.ascontiguousarray(x[:, order])
    )
    return replace(graph, features=moved, feature_names=tuple(names[j] for j in order))


@pytest.fixture
def taught(tmp_path: Path, config: Callable[..., Config], graph: Callable[..., NodeGraph]) -> Path:
    """Return a bank whose features have names."""
    folder = tmp_path / "named"
    store.create(folder, config())
    add.add(folder, Source(named(graph(("a", "b"), seed=1))))
    add.add(folder, Source(named(graph(("c", "d"), seed=2))))
    return folder


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("way", ["memory", "file", "limited"])
def test_any_order_of_the_columns_gives_the_same_answers(
    way: str, sparse: bool, seed: int, taught: Path, tmp_path: Path, graph: Callable[..., NodeGraph]
) -> None:
    asked = graph(("a", "b", "c", "d"), seed=9, sparse=sparse)
    order = np.random.default_rng(seed).permutation(12)
    made = []
    for number, one in enumerate((named(asked), named(asked, order))):
        path = tmp_path / f"asked{number}.h5"
        _imported.write(path, one, {})
        bank = load_bank(taught)
        options = (
            PredictOptions("router", limit=1 << 33, scratch=tmp_path) if way == "limited" else None
        )
        made.append(bank.predict(one if way == "memory" else path, options=options))
    assert made[0].label.tolist() == made[1].label.tolist()
    assert np.array_equal(made[0].confidence, made[1].confidence) and np.array_equal(
        made[0].novelty, made[1].novelty
    )
    assert not made[1].notes


@pytest.mark.parametrize("sparse", [False, True])
def test_a_task_learned_from_columns_in_another_order_is_the_same(
    sparse: bool, tmp_path: Path, config: Callable[..., Config], graph: Callable[..., NodeGraph]
) -> None:
    files = []
    for name, order in (("plain", None), ("moved", np.arange(12)[::-1])):
        folder = tmp_path / name
        store.create(folder, config())
        add.add(folder, Source(named(graph(("a", "b"), seed=1, sparse=sparse))))
        add.add(folder, Source(named(graph(("c", "d"), seed=2, sparse=sparse), order)))
        files.append({p.relative_to(folder): p.read_bytes() for p in sorted(folder.rglob("*.h5"))})
    assert files[0] == files[1]


def test_missing_and_surplus_features_are_refused_by_name(
    taught: Path, graph: Callable[..., NodeGraph]
) -> None:
    other = named(graph(("a", "b"), seed=3), names=("x0", "word 1", *NAMES[2:-1], "x11"))
    message = re.escape(
        "has other features than the bank: it lacks 'word 0', 'word 11'; the bank does not know "
        "'x0', 'x11'"
    )
    with pytest.raises(TaamctlError, match=message) as error:
        load_bank(taught).predict(other)
    assert "--ignore" in error.value.hint
    narrow = graph(("e", "f"), seed=3, features=11)
    with pytest.raises(TaamctlError, match=r"it lacks 'word 11'$"):
        add.add(taught, Source(replace(narrow, feature_names=NAMES[:11])))
    wide = graph(("e", "f"), seed=3, features=13)
    with pytest.raises(TaamctlError, match=r"the bank does not know 'new'$"):
        add.add(taught, Source(replace(wide, feature_names=(*NAMES, "new"))))


def test_where_one_side_has_no_names_it_is_said(
    taught: Path, bank: Path, graph: Callable[..., NodeGraph]
) -> None:
    asked = graph(("a", "b"), seed=3)
    ends = ": whether they stand in the bank's order cannot be checked"
    assert load_bank(taught).predict(asked).notes == (
        f"the graph does not keep the features' names{ends}",
    )
    assert load_bank(bank).predict(named(asked)).notes == (
        f"the bank does not keep the features' names{ends}",
    )
    assert load_bank(bank).predict(asked).notes == (), "arrays have no names"
    heard: list[str] = []
    add.add(bank, Source(named(graph(("e", "f"), seed=4))), tell=heard.append)
    assert f"note: the bank does not keep the features' names{ends}" in heard


def test_a_graph_from_before_names_were_kept_says_so(
    bank: Path, tmp_path: Path, graph: Callable[..., NodeGraph]
) -> None:
    path = tmp_path / "old.h5"
    _imported.write(path, graph(("a", "b"), seed=3), {})
    assert load_bank(bank).predict(path).notes == ()
    with h5py.File(path, "r+") as file:
        del file.attrs["features_named"]  # as version 1 was at first
        file.attrs["schema_version"] = 1
    sidecar_of(path).unlink()  # nor were there records of graphs
    said = (
        "neither the bank nor the graph keeps the features' names: whether they stand in the "
        "bank's order cannot be checked"
    )
    assert load_bank(bank).predict(path).notes == (said,)
    assert from_file(path).before_names


def test_a_file_gives_back_the_names(tmp_path: Path, graph: Callable[..., NodeGraph]) -> None:
    made = named(graph(("a", "b")))
    _imported.write(tmp_path / "g.h5", made, {})
    assert _imported.read(tmp_path / "g.h5").feature_names == NAMES


@pytest.mark.parametrize("names", [NAMES[:11], (*NAMES[:11], NAMES[0])])
def test_names_that_are_not_one_for_each_feature_are_refused(
    names: tuple[str, ...], graph: Callable[..., NodeGraph]
) -> None:
    with pytest.raises(TaamctlError, match="names for 12 features, each of which has its own"):
        replace(graph(("a", "b")), feature_names=names)
