"""What the types of the core refuse, and what a part of a matrix is."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy import sparse

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Given, NodeGraph, Task, TaskData
from taamctl.graph.canonical import from_scipy, to_scipy


def matrix(rows: int, columns: int, *, values: bool) -> CSR:
    made = sparse.random(rows, columns, 0.4, format="csr", dtype=np.float32, random_state=3)
    made.sort_indices()
    return from_scipy(made, binary=not values)


@pytest.mark.parametrize("values", [True, False])
@pytest.mark.parametrize(("low", "high"), [(0, 7), (2, 5), (6, 7), (3, 3)])
def test_rows_of_a_matrix_are_those_rows(low: int, high: int, *, values: bool) -> None:
    whole = matrix(7, 5, values=values)
    part = whole.rows(low, high)
    assert part.shape == (high - low, 5)
    assert part.indptr[0] == 0
    assert np.array_equal(to_scipy(part).toarray(), to_scipy(whole).toarray()[low:high])


@pytest.mark.parametrize("degrees", [0, 2, 4])
def test_degrees_that_are_too_few_or_too_many_are_refused(degrees: int) -> None:
    h, y = torch.zeros(3, 2), torch.zeros(3, dtype=torch.int64)
    TaskData(Task(0, 0, 2), h, y, torch.ones(3))
    with pytest.raises(TaamctlError, match="do not fit together"):
        TaskData(Task(0, 0, 2), h, y, torch.ones(degrees))


@pytest.mark.parametrize("arrival", [[0, 2], [1, 1], [-1, 0]])
def test_classes_arrive_with_tasks_from_0_without_a_gap(arrival: list[int]) -> None:
    def graph(of: list[int]) -> NodeGraph:
        given = Given(arrival=np.array(of, np.int64))
        features = np.zeros((2, 1), np.float32)
        edges = CSR(np.zeros(3, np.int64), np.zeros(0, np.int32), None, (2, 2))
        return NodeGraph("g", edges, features, np.array([0, 1]), ("a", "b"), given=given)

    graph([1, 0])
    with pytest.raises(TaamctlError, match="classes arrive with the tasks"):
        graph(arrival)
