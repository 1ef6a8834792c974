"""The parts of a sparse matrix in an .npz: whatever type they have, they are read or refused."""

from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.importing import importers

TYPES = ("U3", "S2", "c16", "M8[s]", "m8[s]", [("a", "<f8")], "V4", "f8", "?", "i2", "u8")
PARTS = ("data", "indices", "indptr", "shape")


@pytest.mark.parametrize("prefix", ["adj", "attr"])
@pytest.mark.parametrize("part", PARTS)
def test_parts_of_any_type_are_read_or_refused(tmp_path: Path, prefix: str, part: str) -> None:
    edges = sp.csr_matrix(np.ones((4, 4)) - np.eye(4))
    arrays = {"labels": np.array([0, 1, 0, 1])}
    for name, matrix in (("adj", edges), ("attr", sp.csr_matrix(np.eye(4)))):
        values = (matrix.data, matrix.indices, matrix.indptr, np.array(matrix.shape))
        arrays |= {f"{name}_{each}": v for each, v in zip(PARTS, values, strict=True)}
    right = arrays[f"{prefix}_{part}"]
    numbers = {"data": ("f8", "?", "i2", "u8")}.get(part, ("i2", "u8"))
    for kind in TYPES:
        wrong = np.zeros(right.shape, kind)
        if wrong.dtype.kind in "biufc":
            wrong[...] = right
        path = tmp_path / "graph.npz"
        np.savez(path, **{**arrays, f"{prefix}_{part}": wrong})
        if kind in numbers:
            assert len(importers.read("own", [path], kind="npz").labels) == 4
            continue
        with pytest.raises(TaamctlError, match=rf"{prefix}_{part} holds .*, no (whole )?numbers"):
            importers.read("own", [path], kind="npz")
