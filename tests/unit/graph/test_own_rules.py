"""What every importer shares: rules on labels and tasks that no format can bend."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing.assembly import assemble
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph


def raw(labels: list[object], **more: object) -> RawGraph:
    n = len(labels)
    return RawGraph(
        "here.csv", np.arange(n - 1), np.arange(1, n), np.ones((n, 2), np.float32), labels, **more
    )  # type: ignore[arg-type]


def test_minus_one_is_unlabelled_and_other_negative_numbers_are_refused() -> None:
    assert assemble("g", raw([0, -1, 5])).labels.tolist() == [0, -1, 1]
    with pytest.raises(TaamctlError, match="here.csv: label -3 at row 2 is negative") as caught:
        assemble("g", raw([0, -1, -3]))
    assert "-1 means unlabelled" in caught.value.hint


def test_named_tasks_arrive_in_natural_order() -> None:
    tasks = {"a": "session 10", "b": "session 2", "c": "session 1"}
    made = assemble("g", raw(["a", "b", "c"], tasks=tasks))
    assert made.given.arrival is not None
    assert dict(zip(made.class_names, made.given.arrival.tolist(), strict=True)) == {
        "a": 2,
        "b": 1,
        "c": 0,
    }


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("named", [True, False])
def test_edges_to_nodes_that_are_not_there_are_refused_or_counted(seed: int, named: bool) -> None:
    rng = np.random.default_rng(seed)
    n = 12
    source, target = rng.integers(0, n + 8, (2, 60))
    ids = np.array([f"n{i}" for i in range(n + 8)], object)
    bad = (source >= n) | (target >= n)
    given = dataclasses.replace(
        raw(["a", "b"] * 6),
        source=ids[source] if named else source,
        target=ids[target] if named else target,
        node_id=ids[:n] if named else None,
    )
    with pytest.raises(TaamctlError) as caught:
        assemble("g", given)
    assert "--bad-edges drop" in caught.value.hint
    made = assemble("g", given, ImportOptions(bad_edges="drop"))
    assert made.adjacency.nnz == len(set(zip(source[~bad], target[~bad], strict=True)))
    assert any(f"{bad.sum()} of 60 edges left out, to " in note for note in made.notes)


def test_where_every_edge_is_bad_none_is_dropped() -> None:
    given = dataclasses.replace(raw(["a", "b", "c"]), source=np.array([7]), target=np.array([0]))
    with pytest.raises(TaamctlError, match="1 edges name others"):
        assemble("g", given, ImportOptions(bad_edges="drop"))
