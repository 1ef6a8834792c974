"""A graph as dgl.save_graphs writes it; names stand among the labels of the file."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.exporting import named_arrays
from taamctl.exporting.whole import Plan, Whole
from taamctl.graph.dgl_adapter import save_graph


def plan(whole: Whole) -> Plan:
    """Return how to write NAME.bin."""
    notes: tuple[str, ...] = ()
    if isinstance(whole.features, CSR):
        notes = ("DGL keeps no sparse features: they are written dense",)
    if named_arrays.names(whole):
        notes += ("DGL keeps no text: names are JSON in bytes among the labels of the file",)
    return Plan({".bin": lambda path: _write(path, whole)}, named_arrays.options(whole), notes)


def _write(path: Path, whole: Whole) -> None:
    ends = (whole.source, whole.target)
    save_graph(path, len(whole.ids), ends, data_of(whole), named_arrays.names(whole))


def data_of(whole: Whole) -> dict[str, Array]:
    """Return what stands at the nodes, features dense as `x`."""
    return {"x": np.concatenate(list(whole.blocks())), **named_arrays.of_nodes(whole)}
