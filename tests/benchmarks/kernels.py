"""Kernels: one propagation step with every backend; class means of random codes; a graph prompt
before propagation.
"""

from __future__ import annotations

import warnings

import numpy as np
import torch
from timing import best

from taamctl.core.errors import TaamctlError
from taamctl.graph.canonical import adjacency_from_edges, symmetrise
from taamctl.learning.kernels import condense
from taamctl.models.backbones import HIDDEN
from taamctl.propagation import group_graph
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import Operator, build


def random_operator(nodes: int, edges: int) -> Operator:
    """Return S of a random graph."""
    rng = np.random.default_rng(0)
    adjacency, _ = adjacency_from_edges(
        rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), nodes, "bench"
    )
    return build(symmetrise(adjacency), "add")


def propagation(nodes: int = 100_000, edges: int = 1_000_000, width: int = 128) -> dict[str, float]:
    """Time one step S Z with every backend that is installed, and with torch's own CSR product."""
    operator, z = (
        random_operator(nodes, edges),
        np.random.default_rng(0).random((nodes, width), dtype=np.float32),
    )
    steps = {}
    for name, make in BACKENDS.items():
        try:
            steps[name] = make(operator)
        except TaamctlError as error:
            print(f"  {name}: {error.message}")
    a, dense = operator.adjacency, torch.from_numpy(z)
    warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
    csr = torch.sparse_csr_tensor(
        torch.from_numpy(a.indptr),
        torch.from_numpy(a.indices.astype(np.int64)),
        torch.from_numpy(operator.values()),
        size=a.shape,
    )
    return best(
        {
            **{name: (lambda s=s: s(z)) for name, s in steps.items()},
            "torch CSR @ dense": lambda: csr @ dense,
        },
        5,
    )


def condensing(nodes: int = 1_200, features: int = 745, width: int = 512) -> dict[str, float]:
    """Time the class means of one random encoder, fused, written out, and as the bare product."""
    h, w, sizes = (
        torch.rand(nodes, features),
        torch.randn(width, features),
        [nodes // 3, nodes - nodes // 3],
    )
    return best(
        {
            "product": lambda: h @ w.T,
            "fused": lambda: condense._class_means(w, h, sizes),
            "written out": lambda: [e.mean(0) for e in torch.split(condense._encode(w, h), sizes)],
        },
        30,
    )


def prompting(
    nodes: int = 4_000, edges: int = 60_000, features: int = 745, tokens: int = 3
) -> dict[str, float]:
    """Time a forward and backward pass of a prompt before two hops: propagating N x P weights,
    or N x F prompted features.
    """
    spread = group_graph.Propagation(random_operator(nodes, edges).scipy(), 2, torch.device("cpu"))
    x, w1, outer = (
        torch.rand(nodes, features),
        torch.randn(HIDDEN, features),
        torch.randn(nodes, HIDDEN),
    )
    base = spread(x) @ w1.T
    weight, prompt = (torch.randn(tokens, features, requires_grad=True) for _ in range(2))

    def shares() -> torch.Tensor:
        return torch.softmax(x @ weight.T, dim=1)

    return best(
        {
            "N x P": lambda: (base + spread(shares()) @ (prompt @ w1.T)).backward(outer),
            "N x F": lambda: (spread(x + shares() @ prompt) @ w1.T).backward(outer),
        },
        10,
    )
