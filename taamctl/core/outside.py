"""Edges that lead from a graph to nodes of another one."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from taamctl.core.errors import TaamctlError


@dataclass(frozen=True)
class Outside:
    """Edges between nodes of a graph and nodes that stand in another one.

    Attributes:
        row: [K] int64, the node of the graph.
        name: [K] text, the name of the other node.
        into: [K] bool, whether the edge ends at the node of the graph; else it begins there.
    """

    row: NDArray[np.int64]
    name: NDArray[np.object_]
    into: NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.row)

    def check(self, graph: str, nodes: int) -> None:
        """Refuse edges that do not fit a graph.

        Args:
            graph: its name, for messages. nodes: N.

        Raises:
            TaamctlError: lists of different lengths, or a row that the graph lacks.
        """
        lengths = {len(self.row), len(self.name), len(self.into)}
        rows = self.row
        if len(lengths) > 1 or (len(rows) and not 0 <= rows.min() <= rows.max() < nodes):
            raise TaamctlError(
                f"{graph}: edges to nodes of another graph lie outside rows 0..{nodes - 1}",
                "import the graph again",
            )
