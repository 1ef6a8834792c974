"""One training step of TAAM: the sweep, plain formulations, and the products that no formulation of
a dense H avoids. One thread.

Shapes are those of a task of Photo, Computer and Citeseer, values are random: a step costs the same
whatever they are.
"""

from __future__ import annotations

import time
import warnings

import torch
from kernels import random_operator
from plain import loss, propagate
from timing import Work, best

from taamctl.core.seeding import torch_generator
from taamctl.models import modulators, sweep
from taamctl.models.backbones import HIDDEN

SHAPES = {
    "photo": (1_147, 745, 8, 1.0, 26_000),
    "computer": (1_644, 767, 10, 1.0, 59_000),
    "citeseer": (664, 3_703, 6, 0.026, 1_300),
}


def _inputs(nodes: int, features: int, classes: int, density: float) -> dict[str, torch.Tensor]:
    g = torch.Generator().manual_seed(0)
    h = torch.rand(nodes, features, generator=g)
    if density < 1:
        h *= torch.rand(nodes, features, generator=g) < density
    return {
        "h": h,
        "w1": torch.randn(HIDDEN, features, generator=g) / 16,
        "w2": torch.randn(HIDDEN, HIDDEN, generator=g) / 16,
        "head": torch.randn(classes, HIDDEN, generator=g) / 16,
        "y": torch.randint(0, classes, (nodes,), generator=g),
        "weights": torch.full((nodes,), 1 / nodes),
    }


def _sweep(
    p: dict[str, torch.Tensor], modulator: modulators.Weights, low: torch.dtype | None = None
) -> Work:
    inputs = sweep.prepare(p["h"], sweep.base_of(p["h"], p["w1"], map), p["w1"], map, low=low)
    targets, bias = sweep.Targets(p["y"], p["weights"]), torch.zeros(len(p["head"]))

    def step() -> None:
        sweep.weighted_loss(
            inputs, targets, modulators.terms(modulator), p["head"] @ p["w2"], bias, map
        ).backward()

    return {"sweep" if low is None else "sweep, bfloat16": step}


def steps(name: str) -> dict[str, float]:
    """Return CPU seconds of one step at the shape of a task of a data set."""
    nodes, features, classes, density, edges = SHAPES[name]
    p = _inputs(nodes, features, classes, density)
    drawn = modulators.draw_low_rank(features, 6, 2, 4, torch_generator(0, "bench"))
    modulator = {n: w.requires_grad_() for n, w in drawn.items()}
    loose = {n: p[n].clone().requires_grad_() for n in ("w1", "w2")}
    operator, outer = random_operator(nodes, edges), torch.randn(nodes, HIDDEN)
    warnings.filterwarnings("ignore", message="Sparse (CSR|invariant)")
    s = torch.sparse_csr_tensor(
        torch.from_numpy(operator.adjacency.indptr),
        torch.from_numpy(operator.adjacency.indices.astype("int64")),
        torch.from_numpy(operator.values()),
        size=operator.adjacency.shape,
    )

    def plain(h: torch.Tensor, w1: torch.Tensor, w2: torch.Tensor) -> None:
        loss(modulator, h, w1, w2, p["head"], p["y"], p["weights"]).backward()

    torch.set_num_threads(1)
    work: Work = {"products": lambda: (p["h"] @ p["w1"].T, outer @ p["w1"]), **_sweep(p, modulator)}
    if density == 1:
        work |= _sweep(p, modulator, torch.bfloat16)
    work |= {
        "plain, H cached": lambda: plain(p["h"], p["w1"], p["w2"]),
        "plain, propagating": lambda: plain(propagate(s, p["h"]), loose["w1"], loose["w2"]),
    }
    return best(work, 15, time.process_time)


def crossover(nodes: int = 800, features: int = 2_000) -> dict[str, float]:
    """Return CPU seconds of a step with sparse products over those with dense ones, by density
    of H: below 1 sparse wins.
    """
    torch.set_num_threads(1)
    out, rule = {}, sweep.SPARSE
    for density in (0.02, 0.05, 0.1, 0.15, 0.2, 0.3):
        p = _inputs(nodes, features, 6, density)
        modulator = {
            n: w.requires_grad_()
            for n, w in modulators.draw_low_rank(
                features, 6, 2, 4, torch_generator(0, "bench")
            ).items()
        }
        work = {}
        for kind, threshold in (("sparse", 2.0), ("dense", 0.0)):
            sweep.SPARSE = threshold
            work[kind] = _sweep(p, modulator)["sweep"]
        seconds = best(work, 10, time.process_time)
        out[f"{density:.0%}"] = seconds["sparse"] / seconds["dense"]
    sweep.SPARSE = rule
    return out
