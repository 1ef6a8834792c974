"""Which nodes a bank has seen, without their names: a keyed hash per node, and enough to tell
whether a row that is given again is the row that was learned.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array, NodeGraph
from taamctl.learning.kernels import ridge

SALT = 16  # bytes
KEY = 16  # bytes of a node's hash
CHECKS = 5  # numbers that tell a row: four projections, and the lengths of its hops
SAME = 1e-6  # by which the same row may differ: its features are float32
TRAIN, VAL = 0, 1


@dataclass(frozen=True)
class NodeRecord:
    """The nodes of one task, sorted by their keys.

    Attributes:
        key: [V, 16] uint8, keyed hash of the name. label: [V] int64, class of the task from 0.
        part: [V] int64, 0 = train, 1 = val.
        check: [V, 5] float64, of a training node's hops; 0 for others.
        links: [V] int64, edges at a training node among the task's; 0 for others.
    """

    key: Array
    label: Array
    part: Array
    check: Array
    links: Array

    def places(self, keys: Array) -> Array:
        """Return the rows of some of its keys, [K] int64."""
        return np.searchsorted(_flat(self.key), _flat(keys))

    def take(self, rows: Array) -> NodeRecord:
        """Return some rows, [K] int64 or [V] bool, in the order of their keys."""
        kept = (self.key, self.label, self.part, self.check, self.links)
        return ordered(*(array[rows] for array in kept))

    def joined(self, other: NodeRecord) -> NodeRecord:
        """Return the nodes of both."""
        pairs = (
            (self.key, other.key),
            (self.label, other.label),
            (self.part, other.part),
            (self.check, other.check),
            (self.links, other.links),
        )
        return ordered(*(np.concatenate(pair) for pair in pairs))


class KeyIndex:
    """The keys of a graph's nodes, [N, 16] uint8, to look nodes up by."""

    def __init__(self, keys: Array) -> None:
        self._order = np.argsort(_flat(keys))
        self._sorted = _flat(keys)[self._order]

    def rows(self, keys: Array) -> Array:
        """Return the node of every key, [K] int64; -1 where the graph has none."""
        wanted = _flat(keys)
        at = np.minimum(np.searchsorted(self._sorted, wanted), max(len(self._sorted) - 1, 0))
        return np.where(self._sorted[at] == wanted, self._order[at], -1)


def _flat(keys: Array) -> Array:
    """Return every key as one text of bytes, [N], in the order of their bytes."""
    return np.ascontiguousarray(keys, np.uint8).reshape(-1, KEY).view(f"S{KEY}")[:, 0]


def ordered(key: Array, label: Array, part: Array, check: Array, links: Array) -> NodeRecord:
    """Return a record in the order of its keys, which tells nothing of when a node came."""
    order = np.lexsort(key.T[::-1])
    return NodeRecord(key[order], label[order], part[order], check[order], links[order])


def names_of(graph: NodeGraph) -> list[str]:
    """Return the names of a graph's nodes; their numbers where it has none."""
    if graph.given.node_id is None:
        return [str(row) for row in range(graph.num_nodes)]
    return [str(name) for name in graph.given.node_id.tolist()]


def keys_of(names: Sequence[str], salt: Array) -> Array:
    """Return the keyed hash of every name, [N, 16] uint8."""
    secret = salt.tobytes()
    found = b"".join(
        hashlib.blake2b(name.encode(), key=secret, digest_size=KEY).digest() for name in names
    )
    return np.frombuffer(found, np.uint8).reshape(-1, KEY)


def drawn_for_val(names: Sequence[str], seed: int, share: float) -> Array:
    """Return which nodes are for validation, [N] bool: by the seed and their names alone, so that
    it is the same in whatever batch they come.
    """
    drawn = [hashlib.sha256(f"{seed}\n{name}".encode()).digest()[:8] for name in names]
    return np.array([int.from_bytes(d, "little") < share * 2.0**64 for d in drawn], bool)


def checks_of(hops: ridge.Hops, salt: Array) -> Array:
    """Return the numbers that tell a row, [N, 5] float64.

    Args:
        hops: j -> S^j X of the router's hops, [N, F] float64.
    """
    seed = int.from_bytes(salt.tobytes()[:8], "little")
    first = next(iter(hops.values()))
    found = np.zeros((len(first), CHECKS))
    for j, x in sorted(hops.items()):
        draws = numpy_generator(seed, "bank/check", j).standard_normal((x.shape[1], CHECKS - 1))
        length = x.norm(dim=1).numpy()
        unit = torch.nn.functional.normalize(x, dim=1)
        found[:, :-1] += (unit @ torch.from_numpy(draws)).numpy()
        found[:, -1] += (j + 1) * np.log(np.maximum(length, 1e-30))
    return found
