"""Edges of a folder that OGB writes: two rows, or refused."""

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing import reader_ogb


@pytest.mark.parametrize("shape", [(1, 4), (3, 4), (4,), (2, 2, 2), ()])
def test_edges_of_another_shape_are_refused(shape: tuple[int, ...]) -> None:
    with pytest.raises(TaamctlError, match=r"raw: edges of shape \(.*\), not \[2, edges\]"):
        reader_ogb._ends(np.zeros(shape, np.int64), "raw")


def test_both_ends_are_taken() -> None:
    for edges in (np.arange(8).reshape(2, 4), np.zeros((2, 0), np.int64)):
        assert np.array_equal(np.stack(reader_ogb._ends(edges, "raw")), edges)
