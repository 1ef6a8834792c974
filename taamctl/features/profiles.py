"""Graph-level profiles for task-ID inference, by propagating vectors instead of features.

mean(S^j X) = (1/N) ((S^T)^j 1)^T X, so a mean costs O(j E + N F) instead of O(j E F).
"""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from taamctl.core.seeding import numpy_generator
from taamctl.core.types import CSR, Array
from taamctl.features.operator import Operator, build
from taamctl.graph.canonical import to_scipy


def spread(operator: Operator, hops: int) -> Array:
    """Return S^hops 1 as [N] float64."""
    s, v = operator.scipy(), np.ones(operator.adjacency.shape[0])
    for _ in range(hops):
        v = s @ v
    return np.asarray(v)


def hop_means(operator: Operator, features: Array | CSR, offset: Array, max_hop: int) -> Array:
    """Return the mean over every group's nodes of S^j X, j = 0..max_hop, as [G, max_hop + 1, F] float64."""
    st = operator.scipy().T.tocsr()
    v = np.ones((operator.adjacency.shape[0], max_hop + 1))
    for j in range(1, max_hop + 1):
        v[:, j] = st @ v[:, j - 1]
    return _weighted_means(v, features, offset)


def ls_means(edges: CSR, self_loops: str, features: Array | CSR, offset: Array, *, hops: int, reconnect: bool, seed: int) -> Array:
    """Return every group's Laplacian-smoothing profile as [G, 2, F] float64: with the trailing D^-1/2, and without.

    G' = G plus, for every node without an edge, one edge pair to a random connected node of its group (none where there is none);
    Z = D'^-1/2 S'^hops X; profile = mean over nodes.

    Source: TPP (2024); the trailing D^-1/2 makes the profile's length depend on degrees, which an inductive split changes.
    """
    joined = _reconnect(edges, offset, seed) if reconnect else edges
    operator = build(joined, self_loops)
    st = operator.scipy().T.tocsr()
    v = np.stack([operator.inverse_root, np.ones(edges.shape[0])], axis=1)
    for _ in range(hops):
        v = st @ v
    return _weighted_means(v, features, offset)


def _weighted_means(v: Array, features: Array | CSR, offset: Array) -> Array:
    """Return v_g^T X_g / N_g for every group g."""
    out = np.zeros((len(offset) - 1, v.shape[1], features.shape[1]))
    for g, (low, high) in enumerate(pairwise(offset)):
        if high > low:
            x = to_scipy(features.rows(low, high), np.float64) if isinstance(features, CSR) else features[low:high].astype(np.float64)
            out[g] = np.asarray((x.T @ v[low:high]).T) / (high - low)
    return out


def _reconnect(edges: CSR, offset: Array, seed: int) -> CSR:
    """Tie every node whose only in-edge is a self-loop to a random connected node of its group, in both directions."""
    from taamctl.graph.canonical import adjacency_from_edges

    n = edges.shape[0]
    rows = np.repeat(np.arange(n, dtype=np.int64), np.diff(edges.indptr))
    proper = np.bincount(rows[rows != edges.indices], minlength=n) > 0
    sources, targets = [edges.indices.astype(np.int64)], [rows]
    for g, (low, high) in enumerate(pairwise(offset)):
        connected = np.flatnonzero(proper[low:high]) + low
        alone = np.flatnonzero(~proper[low:high]) + low
        if len(connected) and len(alone):
            partner = numpy_generator(seed, "ls_reconnect", g).choice(connected, len(alone))
            sources += [partner, alone]
            targets += [alone, partner]
    joined, _ = adjacency_from_edges(np.concatenate(sources), np.concatenate(targets), n, "reconnected graph")
    return joined
