"""The profile of every node, as far as routing needs it: its products with the prototypes.

A graph's profile is the mean of its nodes' profiles, and every metric compares through the product
of that mean with each prototype. So the products of all nodes, [N, T], say how any set of them
would be routed, without their profiles, [N, D].
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.types import CSR, Array
from taamctl.learning.routing.task_id import amp_weights
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.train_params import InferParams
from taamctl.propagation import group_graph
from taamctl.propagation.operator import NO_PAIRS, Operator
from taamctl.propagation.powers import powers
from taamctl.propagation.reconnection import reconnected

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix


@dataclass(frozen=True)
class Nodes:
    """The nodes of one query graph.

    Attributes:
        x: [N, F] raw features, normalised as `precompute` has it; sparse or dense.
        operator: S of the graph.
        pairs: entries that the graph of the LS profile has besides.
    """

    x: csr_matrix | Array
    operator: Operator
    pairs: tuple[Array, Array]


def nodes_of(
    extras: Mapping[str, Array], num_features: int, group: int, params: PrecomputeParams
) -> Nodes:
    """Return the nodes of a stored query graph.

    Args:
        extras: `x` and `edges` of the query graph. group: its number among all (task, part).
    """
    import scipy.sparse as sp

    values = (extras["x_data"], extras["x_indices"], extras["x_indptr"])
    x = sp.csr_matrix(values, shape=(len(extras["x_indptr"]) - 1, num_features))
    edges = group_graph.adjacency(extras)
    n = edges.shape[0]
    joined = CSR(
        edges.indptr.astype(np.int64),
        edges.indices.astype(np.int32),
        edges.data.astype(np.float32),
        (n, n),
    )
    degree = np.maximum(np.asarray(edges.sum(1)).ravel(), 1.0)
    return tied(x, Operator(joined, degree), group, params)


def tied(x: csr_matrix | Array, operator: Operator, group: int, params: PrecomputeParams) -> Nodes:
    """Return the nodes of a graph with the ties of its LS profile."""
    pairs = NO_PAIRS
    if params.ls_reconnect:
        pairs = reconnected(operator, 0, len(operator.degree), group, params.ls_seed)
    return Nodes(x, operator, pairs)


def products(nodes: Nodes, prototypes: Array, infer: InferParams, ls_hops: int) -> Array:
    """Return every node's product with every prototype, [N, T] float64; its mean over all nodes is
    that of the graph's profile.

    Args:
        prototypes: [T, D] float64, by `infer.profile`; a prototype that is not known is NaN.
        ls_hops: smoothing steps of the LS profile.
    """
    width = nodes.x.shape[1]
    blocks = prototypes.reshape(len(prototypes), -1, width)  # [T, levels, F]
    flat = np.ascontiguousarray(blocks.transpose(1, 0, 2).reshape(-1, width).T)
    raw = np.asarray(nodes.x @ flat).astype(np.float64)
    if infer.profile == "mean":
        return raw
    if infer.profile == "ls":
        return _smoothed(nodes, raw, ls_hops, infer.ls_trailing_norm)
    return _mixed(nodes, raw.reshape(len(raw), -1, len(prototypes)), infer)


def _mixed(nodes: Nodes, raw: Array, infer: InferParams) -> Array:
    """Return the sum over AMP levels of their mix of hops, [N, T].

    Args:
        raw: [N, levels, T] products of the raw features with the blocks of the prototypes.
    """
    mixes = [amp_weights(level, infer.alpha) for level in sorted(infer.hops)]
    weights = np.zeros((max(infer.hops) + 1, len(mixes)))
    for at, mix in enumerate(mixes):
        weights[: len(mix), at] = mix
    shape = raw.shape
    steps = powers(nodes.operator.times, raw.reshape(len(raw), -1), len(weights) - 1)
    found = np.zeros((shape[0], shape[2]))
    for weight, hop in zip(weights, steps, strict=True):
        found += np.einsum("nlt,l->nt", hop.reshape(shape), weight)
    return found


def _smoothed(nodes: Nodes, raw: Array, hops: int, trailing: bool) -> Array:
    """Return D'^-1/2 S'^hops of the products, or without the factor, on the reconnected graph."""
    plain = nodes.operator
    more = np.bincount(nodes.pairs[0], minlength=len(plain.degree))
    joined = Operator(plain.adjacency, plain.degree + more)
    smooth = raw
    for _ in range(hops):
        smooth = joined.times(smooth, pairs=nodes.pairs)
    return smooth * joined.inverse_root[:, None] if trailing else smooth


def scores(products: Array, prototypes: Array, metric: str) -> Array:
    """Return scores [..., K] of which the largest names the nearest of K prototypes, from products
    with them. A score is the same for all units up to a constant of the unit, and the mean of its
    nodes' scores.

    Args:
        products: [..., K] of profiles with the prototypes. prototypes: [K, D].
        metric: `cosine`, `euclid` or `centred`.
    """
    if metric == "euclid":
        return np.asarray(products - 0.5 * (prototypes**2).sum(1))
    if metric == "cosine":
        return _per_length(products, np.linalg.norm(prototypes, axis=1))
    centre = prototypes.mean(0)
    apart = prototypes - centre
    moved = products - products.mean(-1, keepdims=True) - apart @ centre
    return _per_length(moved, np.linalg.norm(apart, axis=1))


def _per_length(products: Array, lengths: Array) -> Array:
    """Return products over lengths; a prototype without a length is the last that is chosen."""
    lowest = np.full(products.shape, -np.inf)
    return np.asarray(np.divide(products, lengths, out=lowest, where=lengths > 0))
