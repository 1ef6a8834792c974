"""Synthetic rows that stand for a class: by matching gradients (DeLoMe) or feature distributions
(CaT, PUMA).
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np

from taamctl.core.late_torch import functional, torch
from taamctl.core.progress import Progress
from taamctl.learning.kernels.adam import Adam
from taamctl.models.initialise import linear
from taamctl.models.net_input import NetInput, times_weight

Net: TypeAlias = "tuple[torch.Tensor, torch.Tensor]"


class Gradients(NamedTuple):
    """Gradients of a class's mean loss over rows x [m, F]: of W1 as the product left^T x, and of
    W2 itself.

    Attributes:
        left: [m, H]. second: [C, H].
    """

    left: torch.Tensor
    second: torch.Tensor


def net_gradients(net: Net, x: torch.Tensor | NetInput, column: int, kind: str) -> Gradients:
    """Return the gradients of a class's mean loss for W1 and W2 of f = W2 ReLU(W1 x), written as
    products.

    delta = softmax(f) - onehot (`ce`) or -onehot (`raw_nll`: the negative log-likelihood function
    applied to raw logits). Being plain products, they are differentiated once, not twice, to move
    x.

    Args:
        net: W1 [H, F], W2 [C, H]. x: [m, F]. column: the class.
    """
    w1, w2 = net
    z = times_weight(x, w1)
    a = functional.relu(z)
    active = (z > 0).to(z.dtype)
    if kind == "ce":
        target = torch.full((len(x),), column, device=z.device)
        delta = torch.softmax(a @ w2.T, dim=1) - functional.one_hot(target, len(w2))
        return Gradients((delta @ w2) * active / len(x), delta.T @ a / len(x))
    second = torch.zeros_like(w2)
    second[column] = -a.mean(0)
    return Gradients(active * (w2[column] / -len(x)), second)


def gradient_distance(
    synthetic: torch.Tensor, made: Gradients, real: torch.Tensor | NetInput, wanted: Gradients
) -> torch.Tensor:
    """Return |g_s - g_r|^2 of both weights, less what no synthetic row changes.

    A gradient by W1 is P^T x, so that <P^T x, Q^T y> = sum of (P Q^T) * (x y^T): no array of H x F
    is formed, and of rows that are mostly zero only the stored entries are touched.
    """
    own = ((made.left @ made.left.T) * (synthetic @ synthetic.T)).sum()
    shared = ((wanted.left @ made.left.T) * times_weight(real, synthetic)).sum()
    return own - 2 * shared + ((made.second - wanted.second) ** 2).sum()


def match_gradients(
    real: Sequence[torch.Tensor],
    synthetic: Sequence[torch.Tensor],
    columns: Sequence[int],
    *,
    num_classes: int,
    hidden: int,
    kind: str,
    iterations: int,
    lr: float,
    generator: torch.Generator,
    progress: Progress,
) -> None:
    """Move synthetic rows, in place, so that a fresh random net's gradients on them equal those on
    the real rows.

    Every iteration draws a net and takes one Adam step on sum_c (m_c / max m) |g_s - g_r|^2; nets
    are never trained.

    Args:
        real: per class, [N_c, F]. synthetic: per class, [m_c, F]. columns: per class, its output.
        num_classes, hidden: outputs and hidden width of the nets. kind: `ce` or `raw_nll`.

    Source: DeLoMe (2024), after gradient matching by Zhao et al. (2021).
    """
    rows = [s.requires_grad_() for s in synthetic]
    inputs = [NetInput.of(x) for x in real]
    optimiser = Adam(rows, lr=lr)
    largest = max(len(s) for s in rows)
    device = rows[0].device
    for _ in range(iterations):
        w1 = linear(hidden, rows[0].shape[1], generator).to(device)
        w2 = linear(num_classes, hidden, generator).to(device)
        total = torch.zeros((), device=device)
        for x, s, column in zip(inputs, rows, columns, strict=True):
            with torch.no_grad():
                wanted = net_gradients((w1, w2), x, column, kind)
            made = net_gradients((w1, w2), s, column, kind)
            total = total + len(s) / largest * gradient_distance(s, made, x, wanted)
        _step(optimiser, total)
        progress.advance()
    for s in rows:
        s.requires_grad_(False)


def match_means(
    real: Sequence[torch.Tensor],
    synthetic: Sequence[torch.Tensor],
    *,
    width: int,
    encoders: int,
    updates: int,
    lr: float,
    fresh_adam: bool,
    generator: np.random.Generator,
    progress: Progress,
) -> None:
    """Move synthetic rows, in place, so that random encoders give them the class means of the real
    rows.

    sum_c |mean phi(H_c) - mean phi(X_c)|^2 with phi(h) = ReLU(W h) / |ReLU(W h)|, a new W per
    encoder.

    Args:
        real: per class, [N_c, F]. synthetic: per class, [m_c, F].
        width: rows of W. encoders: how many W. updates: Adam steps per encoder.
        fresh_adam: start Adam anew with each encoder (PUMA), or keep its moments (CaT).

    Source: Liu et al., CaT (2023) and PUMA (2025), after distribution matching by Zhao and Bilen
    (2023).
    """
    rows = [s.requires_grad_() for s in synthetic]
    optimiser = Adam(rows, lr=lr)
    whole = torch.cat(list(real))
    sizes = [len(x) for x in real]
    for _ in range(encoders):
        w = _draw_encoder(width, whole.shape[1], generator).to(whole.device)
        with torch.no_grad():
            wanted = _class_means(w, whole, sizes)
        if fresh_adam:
            optimiser = Adam(rows, lr=lr)
        for _ in range(updates):
            made = torch.split(_encode(w, torch.cat(rows)), [len(s) for s in rows])
            total = torch.zeros((), device=whole.device)
            for codes, mean in zip(made, wanted, strict=True):
                total = total + ((codes.mean(0) - mean) ** 2).sum()
            _step(optimiser, total)
        progress.advance()
    for s in rows:
        s.requires_grad_(False)


def _step(optimiser: Adam, value: torch.Tensor) -> None:
    optimiser.zero_grad()
    value.backward()  # type: ignore[no-untyped-call]
    optimiser.step()


def _draw_encoder(width: int, num_features: int, generator: np.random.Generator) -> torch.Tensor:
    """Return U(+-1/sqrt(F)) of [width, F] float32.

    NumPy draws it several times faster than torch, and this runs thousands of times.
    """
    drawn = torch.from_numpy(generator.random((width, num_features), dtype=np.float32))
    return drawn.sub_(0.5).mul_(2 * num_features**-0.5)


def _class_means(w: torch.Tensor, h: torch.Tensor, sizes: list[int]) -> list[torch.Tensor]:
    """Return every class's mean of phi; E^T (1 / |E|) is the sum of normalised rows without
    writing them.
    """
    e = torch.mm(h, w.T).relu_()
    scale = 1 / e.norm(dim=1).clamp(min=1e-12)
    parts = zip(torch.split(e, sizes), torch.split(scale, sizes), sizes, strict=True)
    return [rows.T @ s / n for rows, s, n in parts]


def _encode(w: torch.Tensor, h: torch.Tensor) -> torch.Tensor:
    return functional.normalize(functional.relu(functional.linear(h, w)), dim=1)


def start_rows(rows: torch.Tensor, count: int, generator: torch.Generator) -> torch.Tensor:
    """Return `count` of a class's rows in random order, without replacement."""
    return rows[torch.randperm(len(rows), generator=generator)[:count].to(rows.device)]
