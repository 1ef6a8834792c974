"""W1 h' of modulated features and its gradients by hand, a block of rows at a time: no N x F array
but the input is ever kept.

TAAM (2026), Eqs. 7-10, for one node, with a modulator's gamma, beta [heads, F] and W1 of the
frozen backbone:

    a = softmax(W_att h + b_att),    h' = (a gamma) * n + a beta + h,    n = LN(h)

Hence, as the frozen layer takes it, with h = s n + m (s the deviation of h over its features, m
its mean; s = 1, m = 0 where nothing is normalised),

    W1 h' = W1 h + W1 ((a gamma) * n) + a (beta W1^T),    W_att h = s (W_att n) + m sum(W_att)

W1 h does not change in training. One product with W1 forward and one backward remain; all else is
linear in N F. Where most of H is zero, n = (h - m) / s is split, and both products touch the stored
entries alone:

    W1 ((a gamma) * n) = (W1 ((a gamma) * h) - m a (gamma W1^T)) / s

W1 is frozen: nothing here differentiates it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from taamctl.core.csr import torch_csr
from taamctl.core.late_torch import functional, torch

LN_EPS = 1e-5


class Terms(NamedTuple):
    """What the layer reads of a modulator: gamma, beta and W_att [heads, F], b_att [heads]; or
    their gradients.
    """

    gamma: torch.Tensor
    beta: torch.Tensor
    watt: torch.Tensor
    bias: torch.Tensor


@dataclass(frozen=True)
class Products:
    """A modulator's terms, and what all blocks of one step share.

    Attributes:
        gamma, watt: [heads, F] for the dense products, of their dtype.
        gamma_w, beta_w: gamma W1^T and beta W1^T, [heads, 256].
        watt_sum: [heads] row sums of W_att.
    """

    terms: Terms
    gamma: torch.Tensor
    watt: torch.Tensor
    gamma_w: torch.Tensor
    beta_w: torch.Tensor
    watt_sum: torch.Tensor

    @staticmethod
    def of(terms: Terms, w1: torch.Tensor, low: torch.dtype) -> Products:
        """Multiply with W1 once per step.

        Args:
            low: dtype of the dense products.
        """
        gamma_w, beta_w = (torch.cat([terms.gamma, terms.beta]) @ w1.T).chunk(2)
        short = terms.gamma.to(low), terms.watt.to(low)
        return Products(terms, *short, gamma_w, beta_w, terms.watt.sum(1))


@dataclass
class Gradients:
    """What a block adds to the gradients: of gamma and W_att [heads, F], of gamma W1^T and beta
    W1^T [heads, 256], of b_att [heads].
    """

    gamma: torch.Tensor
    watt: torch.Tensor
    gamma_w: torch.Tensor
    beta_w: torch.Tensor
    bias: torch.Tensor

    def add(self, other: Gradients) -> None:
        """Add another block's."""
        for name, value in vars(other).items():
            getattr(self, name).add_(value)

    def of_terms(self, w1: torch.Tensor) -> Terms:
        """Return the gradients of a modulator's terms."""
        gamma, beta = (torch.cat([self.gamma_w, self.beta_w]) @ w1).chunk(2)
        return Terms(gamma.add_(self.gamma), beta, self.watt, self.bias)


class Rows(Protocol):
    """The input of a block of R nodes."""

    @property
    def base(self) -> torch.Tensor:
        """Return W1 h, [R, 256]; zeros where h' has no residual."""

    def forward(self, step: Products) -> tuple[torch.Tensor, torch.Tensor]:
        """Return W1 h' [R, 256] and the heads' weights a [R, heads]."""

    def backward(self, step: Products, upstream: torch.Tensor, a: torch.Tensor) -> Gradients:
        """Return the gradients, given that of W1 h' [R, 256]."""


@dataclass(frozen=True)
class DenseRows:
    """Nodes whose features are mostly not zero.

    Attributes:
        n: [R, F] what is scaled, float32 or bfloat16.
        scale, mean: [R, 1] with h = scale n + mean.
        base: [R, 256].
        w1: [256, F] of the dtype of n.
    """

    n: torch.Tensor
    scale: torch.Tensor
    mean: torch.Tensor
    base: torch.Tensor
    w1: torch.Tensor

    def forward(self, step: Products) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale, multiply, and shift."""
        low = self.n.dtype
        scores = self.scale * (self.n @ step.watt.T) + self.mean * step.watt_sum
        a = torch.softmax(scores.add_(step.terms.bias), dim=1)
        scaled = _mixture(a.to(low), step.gamma).mul_(self.n)
        return torch.addmm(self.base, a, step.beta_w).add_(scaled @ self.w1.T), a

    def backward(self, step: Products, upstream: torch.Tensor, a: torch.Tensor) -> Gradients:
        """Go back through the product, the scaling and the attention."""
        low = self.n.dtype
        back = (upstream.to(low) @ self.w1).mul_(self.n)
        da = (back @ step.gamma.T).to(a.dtype).addmm_(upstream, step.beta_w.T)
        ds = _through_softmax(a, da)
        watt = ((self.scale * ds).T.to(low) @ self.n).to(a.dtype) + (self.mean * ds).sum(0)[:, None]
        gamma = (a.T.to(low) @ back).to(a.dtype)
        return Gradients(gamma, watt, torch.zeros_like(step.gamma_w), a.T @ upstream, ds.sum(0))


@dataclass(frozen=True)
class SparseRows:
    """Nodes whose features are mostly zero: only the E stored entries are touched. On a CPU.

    Attributes:
        pattern: H as [R, F] CSR with 32-bit indices.
        row: [E] int32 row of every entry.
        turned: H^T as [F, R] CSR.
        order: [E] where every entry of `turned` stands in `pattern`.
        scale, mean: [R, 1] with h = scale n + mean.
        base: [R, 256].
        w1_t: W1^T, [F, 256] contiguous.
    """

    pattern: torch.Tensor
    row: torch.Tensor
    turned: torch.Tensor
    order: torch.Tensor
    scale: torch.Tensor
    mean: torch.Tensor
    base: torch.Tensor
    w1_t: torch.Tensor

    def forward(self, step: Products) -> tuple[torch.Tensor, torch.Tensor]:
        """Scale the stored entries, add up rows of W1^T, and correct for the means that LN takes
        away.
        """
        gamma, _, watt, bias = step.terms
        column = self.pattern.col_indices()
        a = torch.softmax(self.pattern @ watt.T + bias, dim=1)
        entries = torch.zeros_like(self.pattern.values())
        for m in range(len(gamma)):
            entries.addcmul_(a[:, m].index_select(0, self.row), gamma[m].index_select(0, column))
        product = functional.embedding_bag(
            column,
            self.w1_t,
            self.pattern.crow_indices(),
            mode="sum",
            include_last_offset=True,
            per_sample_weights=entries.mul_(self.pattern.values()),
        )
        product.addcmul_(self.mean, a @ step.gamma_w, value=-1)
        return product.div_(self.scale).add_(self.base).addmm_(a, step.beta_w), a

    def backward(self, step: Products, upstream: torch.Tensor, a: torch.Tensor) -> Gradients:
        """Go back at the stored entries alone."""
        back = upstream / self.scale
        sampled = torch.sparse.sampled_addmm(self.pattern, back, self.w1_t.T, beta=0.0)
        at = sampled.values().mul_(self.pattern.values())
        da = _like(self.pattern, at) @ step.terms.gamma.T
        da.addcmul_(self.mean, back @ step.gamma_w.T, value=-1).addmm_(upstream, step.beta_w.T)
        ds = _through_softmax(a, da)
        gamma = (_like(self.turned, at.index_select(0, self.order)) @ a).T
        gamma_w = -(a * self.mean).T @ back
        return Gradients(gamma, (self.turned @ ds).T, gamma_w, a.T @ upstream, ds.sum(0))


def _mixture(a: torch.Tensor, gamma: torch.Tensor) -> torch.Tensor:
    """Return a gamma, [R, F].

    As a product of matrices this takes five times as long on a CPU where F is 1,000 or more: so few
    heads are added up one by one, to the same bits where both fuse a product with its sum.
    """
    if gamma.device.type != "cpu" or gamma.dtype != torch.float32:
        return a @ gamma
    total = a[:, :1] * gamma[0]
    for m in range(1, len(gamma)):
        total.addcmul_(a[:, m : m + 1], gamma[m])
    return total


def _through_softmax(a: torch.Tensor, da: torch.Tensor) -> torch.Tensor:
    """Return the gradient of the scores whose softmax is `a`, given that of `a`."""
    return a * (da - (a * da).sum(1, keepdim=True))


def _like(matrix: torch.Tensor, values: torch.Tensor) -> torch.Tensor:
    """Return a CSR matrix of the same entries with other values."""
    return torch.sparse_csr_tensor(
        matrix.crow_indices(),
        matrix.col_indices(),
        values,
        size=matrix.shape,
        check_invariants=False,
    )


def statistics(h: torch.Tensor, normalise: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return every node's deviation and mean over its features, [N, 1] each; 1 and 0 where
    nothing is normalised.
    """
    if not normalise:
        return torch.ones_like(h[:, :1]), torch.zeros_like(h[:, :1])
    variance, mean = torch.var_mean(h, dim=1, keepdim=True, correction=0)
    return (variance + LN_EPS).sqrt_(), mean


def dense_rows(h: torch.Tensor, base: torch.Tensor, w1: torch.Tensor, normalise: bool) -> DenseRows:
    """Prepare a block of dense nodes.

    Args:
        h: [R, F]. base: [R, 256]. w1: [256, F], of the dtype that products with it shall have.
    """
    scale, mean = statistics(h, normalise)
    n = (h - mean).div_(scale) if normalise else h
    return DenseRows(n.to(w1.dtype), scale, mean, base, w1)


def sparse_rows(
    h: torch.Tensor, base: torch.Tensor, w1_t: torch.Tensor, normalise: bool
) -> SparseRows:
    """Prepare a block of mostly empty nodes.

    Args:
        h: [R, F], held dense. base: [R, 256]. w1_t: W1^T, [F, 256] contiguous.
    """
    import scipy.sparse as sp

    scale, mean = statistics(h, normalise)
    m = sp.csr_matrix(h.numpy())
    turned = sp.csr_matrix((np.arange(m.nnz), m.indices, m.indptr), shape=m.shape).tocsc()
    row = np.repeat(np.arange(len(h), dtype=np.int32), np.diff(m.indptr))
    return SparseRows(
        torch_csr(m.indptr, m.indices, m.data, m.shape),
        torch.from_numpy(row),
        torch_csr(turned.indptr, turned.indices, m.data[turned.data], m.shape[::-1]),
        torch.from_numpy(turned.data),
        scale,
        mean,
        base,
        w1_t,
    )
