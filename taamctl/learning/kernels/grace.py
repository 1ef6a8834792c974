"""GRACE-style contrastive pre-training of the backbone on one training graph: two views of a
node attract, all others repel.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from taamctl.core.late_torch import functional, torch
from taamctl.core.progress import Progress
from taamctl.learning.kernels.adam import Adam
from taamctl.models.backbones import HIDDEN, SLOPE, FrozenBackbone
from taamctl.models.initialise import linear, uniform
from taamctl.propagation import group_graph

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

TEMPERATURE = 0.5
PROJECTED = 512
LR = 1e-3
WEIGHT_DECAY = 1e-5
CHUNK = 2000  # rows of the similarity matrix held at once, where that is no more than
HELD = 1 << 27  # similarities at once


def rows_at_once(nodes: int) -> int:
    """Return how many rows of [N, 2 N] similarities are made at once."""
    return max(1, min(CHUNK, HELD // (2 * max(nodes, 1))))


def contrastive_loss(u: torch.Tensor, v: torch.Tensor, chunk: int = 0) -> torch.Tensor:
    """Return the mean over nodes and both directions of

    -log( e^{s(u_i,v_i)/t} / (sum_{j != i} e^{s(u_i,u_j)/t} + sum_j e^{s(u_i,v_j)/t}) ), s the
    cosine.

    Similarities are made a chunk of rows at a time and made again in the backward pass, so no [N,
    N] array is kept.

    Args:
        u, v: [N, P] projections of the two views.
        chunk: rows; 0: as many as `rows_at_once` says.

    Source: Zhu et al. (2020), Eq. 1.
    """
    chunk = chunk or rows_at_once(len(u))
    u = functional.normalize(u, dim=1)
    v = functional.normalize(v, dim=1)
    return (_one_way(u, v, chunk) + _one_way(v, u, chunk)) / 2


def _one_way(u: torch.Tensor, v: torch.Tensor, chunk: int) -> torch.Tensor:
    if len(u) <= chunk:
        return _rows(u, v, 0, chunk) / len(u)
    from torch.utils.checkpoint import checkpoint

    total = torch.zeros((), device=u.device)
    for low in range(0, len(u), chunk):
        total = total + checkpoint(_rows, u, v, low, chunk, use_reentrant=False)
    return total / len(u)


def _rows(u: torch.Tensor, v: torch.Tensor, low: int, chunk: int) -> torch.Tensor:
    block = u[low : low + chunk]
    own = torch.arange(low, low + len(block), device=u.device)[:, None]
    across = block @ v.T / TEMPERATURE
    inside = (block @ u.T / TEMPERATURE).scatter(1, own, float("-inf"))
    repelled = torch.logsumexp(torch.cat([inside, across], dim=1), dim=1)
    return (repelled - across.gather(1, own)[:, 0]).sum()


def drop_edges(edges: csr_matrix, share: float, generator: torch.Generator) -> csr_matrix:
    """Return the edges (with self-loops) without a random share of those that are no self-loop."""
    import scipy.sparse as sp

    coo = edges.tocoo()
    keep = (coo.row == coo.col) | (torch.rand(coo.nnz, generator=generator).numpy() >= share)
    return sp.csr_matrix((coo.data[keep], (coo.row[keep], coo.col[keep])), shape=edges.shape)


def pretrain(
    backbone: FrozenBackbone,
    h: torch.Tensor,
    x: torch.Tensor,
    edges: csr_matrix,
    hops: int,
    *,
    epochs: int,
    drop_edge: float,
    drop_feature: float,
    generator: torch.Generator,
    progress: Progress,
) -> FrozenBackbone:
    """Return the backbone after pre-training on one graph.

    View 1 is the graph as it is; view 2 lacks a share of the edges and has a share of the feature
    columns zeroed. A mask on columns commutes with propagation, so only the dropped edges need a
    new one.

    Args:
        backbone: where training starts.
        h: [N, F] = S^hops X. x: [N, F], raw X. edges: with self-loops.
        drop_edge, drop_feature: shares in [0, 1).

    Source: TPP (2024), after GRACE (Zhu et al., 2020): projector 256 -> 512 -> 256 with ELU, Adam
    1e-3 with weight decay 1e-5.
    """
    device = h.device
    projector = [
        linear(PROJECTED, HIDDEN, generator),
        uniform((PROJECTED,), HIDDEN**-0.5, generator),
        linear(HIDDEN, PROJECTED, generator),
        uniform((HIDDEN,), PROJECTED**-0.5, generator),
    ]
    w1, w2, *projector = (
        w.to(device).clone().requires_grad_() for w in (backbone.w1, backbone.w2, *projector)
    )
    optimiser = Adam([w1, w2, *projector], lr=LR, weight_decay=WEIGHT_DECAY)

    def project(z: torch.Tensor) -> torch.Tensor:
        hidden = functional.leaky_relu(functional.linear(z, w1), SLOPE) @ w2.T
        up = functional.elu(functional.linear(hidden, *projector[:2]))
        return functional.linear(up, *projector[2:])

    for _ in range(epochs):
        kept_edges = drop_edges(edges, drop_edge, generator)
        spread = group_graph.Propagation(group_graph.normalised(kept_edges), hops, device)
        kept = (torch.rand(h.shape[1], generator=generator) >= drop_feature).to(device)
        second = torch.zeros_like(h)
        second[:, kept] = spread(x[:, kept])
        value = contrastive_loss(project(h), project(second))
        optimiser.zero_grad()
        value.backward()  # type: ignore[no-untyped-call]
        optimiser.step()
        progress.advance()
    return FrozenBackbone(w1.detach(), w2.detach())
