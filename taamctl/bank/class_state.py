"""What a bank with exact sums keeps of a task beside everything else: sums per class, the sum of
its hop features, and the record of its nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from taamctl.bank.node_record import NodeRecord
from taamctl.core.types import Array
from taamctl.learning.kernels.class_sums import ClassSums
from taamctl.store import artefact_writer, artefacts


@dataclass(frozen=True)
class ClassState:
    """The exact part of a task.

    Attributes:
        sums: of its classes. record: of its nodes.
        hop_sum: [J, F] float64, sum of S^j X over `hop_nodes` training nodes: the prototype is
            their mean. It lacks nodes that came with edges to old ones while some of the task's
            nodes were not at hand.
    """

    sums: ClassSums
    record: NodeRecord
    hop_sum: Array
    hop_nodes: int

    @property
    def hop_mean(self) -> Array:
        """Return the mean that prototypes follow from, [J, F] float32; no row where it was taken
        away.
        """
        if not self.hop_nodes:
            return np.zeros((0, self.hop_sum.shape[1]), np.float32)
        return (self.hop_sum / self.hop_nodes).astype(np.float32)

    def arrays(self) -> Iterator[tuple[str, object]]:
        """Yield the arrays of a task's file."""
        yield "exact/gram", self.sums.gram
        yield "exact/cross", self.sums.cross
        yield "exact/nodes", self.sums.nodes
        yield "exact/hop_sum", self.hop_sum
        yield "exact/hop_nodes", (self.hop_nodes,)
        yield "known/key", self.record.key
        yield "known/class", self.record.label
        yield "known/part", self.record.part
        yield "known/check", self.record.check
        yield "known/links", self.record.links


def read_record(file: artefacts.Artefact) -> NodeRecord:
    """Read the record of a task's nodes."""
    return NodeRecord(
        file.read("known/key"),
        file.read("known/class"),
        file.read("known/part"),
        file.read("known/check"),
        file.read("known/links"),
    )


def read_sums(file: artefacts.Artefact) -> ClassSums:
    """Read the exact sums of a task."""
    return ClassSums(file.read("exact/gram"), file.read("exact/cross"), file.read("exact/nodes"))


def read_state(file: artefacts.Artefact) -> ClassState:
    """Read the exact part of a task."""
    return ClassState(
        read_sums(file),
        read_record(file),
        file.read("exact/hop_sum"),
        int(file.read("exact/hop_nodes")[0]),
    )


def put_state(writer: artefact_writer.Writer, state: ClassState) -> None:
    """Write the exact part of a task."""
    for name, value in state.arrays():
        writer.put(name, value)
