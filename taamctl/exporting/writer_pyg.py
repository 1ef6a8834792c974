"""A graph as a dict of tensors, of which PyG makes its own: Data.from_dict(torch.load(path))."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.exporting import named_arrays
from taamctl.exporting.whole import Plan, Whole

if TYPE_CHECKING:
    import torch


def plan(whole: Whole) -> Plan:
    """Return how to write NAME.pt."""
    notes: tuple[str, ...] = ()
    if isinstance(whole.features, CSR):
        notes = ("x is a sparse tensor; x.to_dense() makes it dense",)
    return Plan({".pt": lambda path: _write(path, whole)}, named_arrays.options(whole), notes)


def _write(path: Path, whole: Whole) -> None:
    import torch

    with path.open("wb") as stream:
        torch.save(tensors(whole), stream)


def tensors(whole: Whole) -> dict[str, object]:
    """Return a graph as the tensors and names that a Data of PyG holds."""
    import torch

    ends = np.stack([whole.source, whole.target])
    of_nodes = named_arrays.of_nodes(whole)
    return {
        "x": _features(whole.features),
        "edge_index": torch.from_numpy(ends),
        **{key: torch.from_numpy(np.ascontiguousarray(array)) for key, array in of_nodes.items()},
        **named_arrays.names(whole),
        "num_nodes": len(whole.ids),
    }


def _features(features: Array | CSR) -> torch.Tensor:
    import torch

    if not isinstance(features, CSR):
        return torch.from_numpy(np.ascontiguousarray(features))
    rows = np.repeat(np.arange(features.shape[0]), np.diff(features.indptr))
    places = torch.from_numpy(np.stack([rows, features.indices.astype(np.int64)]))
    values = torch.from_numpy(named_arrays.values(features))
    return torch.sparse_coo_tensor(places, values, features.shape, check_invariants=True).coalesce()
