"""Ratios measured side by side in one run: `python tests/benchmarks/bench.py [--json FILE]`. Never part of a build.

* propagation: one step S Z with every backend, against the fastest;
* training: an epoch of TAAM's fused product against the plain formulation (modulate, then multiply; autograd keeps N x F arrays) and
  against the matrix products that no formulation avoids (4 N F 256 floating-point operations);
* condensing: class means of normalised random codes, fused against written out, against the bare product;
* prompting: an epoch of a graph prompt that propagates its N x P weights, against propagating the N x F prompted features.
"""

from __future__ import annotations

import argparse
import json
import platform
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import torch_generator
from taamctl.features.backends import BACKENDS
from taamctl.features.operator import build
from taamctl.graph.canonical import adjacency_from_edges, symmetrise
from taamctl.learning import condense, graph
from taamctl.models import modulators
from taamctl.models.backbones import HIDDEN


def best(work: dict[str, Callable[[], object]], rounds: int) -> dict[str, float]:
    """Return the best time of each candidate in seconds, rounds interleaved so that a busy moment hits all of them."""
    seconds = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, run in work.items():
            began = time.perf_counter()
            run()
            seconds[name] = min(seconds[name], time.perf_counter() - began)
    return seconds


def propagation(nodes: int = 100_000, edges: int = 1_000_000, width: int = 128) -> dict[str, float]:
    """Time one propagation step with every backend that is installed."""
    rng = np.random.default_rng(0)
    adjacency, _ = adjacency_from_edges(rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), nodes, "bench")
    operator, z = build(symmetrise(adjacency), "add"), rng.random((nodes, width), dtype=np.float32)
    steps = {}
    for name, make in BACKENDS.items():
        try:
            steps[name] = make(operator)
        except TaamctlError as error:
            print(f"  {name}: {error.message}")
    return best({name: (lambda s=s: s(z)) for name, s in steps.items()}, 5)


def training(nodes: int = 4_000, features: int = 1_024) -> dict[str, float]:
    """Time one forward and backward pass of a modulated layer, fused, plain, and as the bare products."""
    h = torch.rand(nodes, features)
    w1, outer = torch.randn(HIDDEN, features), torch.randn(nodes, HIDDEN)
    ln, base = modulators.normalised(h), h @ w1.T
    drawn = modulators.draw_low_rank(features, 6, 2, 4, torch_generator(0, "bench"))
    weights = {n: w.requires_grad_() for n, w in drawn.items()}
    return best({"products": lambda: (h @ w1.T, outer @ w1),
                 "fused": lambda: modulators.modulated_product(weights, h, ln, base, w1).backward(outer),
                 "plain": lambda: (modulators.modulate(weights, h) @ w1.T).backward(outer)}, 15)


def condensing(nodes: int = 1_200, features: int = 745, width: int = 512) -> dict[str, float]:
    """Time the class means of one random encoder, fused, written out, and as the bare product."""
    h, w, sizes = torch.rand(nodes, features), torch.randn(width, features), [nodes // 3, nodes - nodes // 3]
    return best({"product": lambda: h @ w.T, "fused": lambda: condense._class_means(w, h, sizes),
                 "written out": lambda: [e.mean(0) for e in torch.split(condense._encode(w, h), sizes)]}, 30)


def prompting(nodes: int = 4_000, edges: int = 60_000, features: int = 745, tokens: int = 3) -> dict[str, float]:
    """Time a forward and backward pass of a prompt before two hops of propagation."""
    rng = np.random.default_rng(0)
    adjacency, _ = adjacency_from_edges(rng.integers(0, nodes, edges), rng.integers(0, nodes, edges), nodes, "bench")
    spread = graph.Propagation(build(symmetrise(adjacency), "add").scipy(), 2, torch.device("cpu"))
    x, w1, outer = torch.rand(nodes, features), torch.randn(HIDDEN, features), torch.randn(nodes, HIDDEN)
    base = spread(x) @ w1.T
    weight, prompt = (torch.randn(tokens, features, requires_grad=True) for _ in range(2))

    def shares() -> torch.Tensor:
        return torch.softmax(x @ weight.T, dim=1)

    return best({"N x P": lambda: (base + spread(shares()) @ (prompt @ w1.T)).backward(outer),
                 "N x F": lambda: (spread(x + shares() @ prompt) @ w1.T).backward(outer)}, 10)


def main() -> None:
    """Measure, print ratios, and write them where asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--json", type=Path, help="write the result here, to compare a later run with")
    parser.add_argument("--threads", type=int, default=2)
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    result: dict[str, object] = {"machine": platform.platform(), "processor": platform.processor(), "threads": arguments.threads}
    for name, reference, measure in (("propagation", None, propagation), ("training", "products", training),
                                     ("condensing", "product", condensing), ("prompting", None, prompting)):
        seconds = measure()
        base = seconds[reference] if reference else min(seconds.values())
        result[name] = {k: {"seconds": round(v, 5), "ratio": round(v / base, 2)} for k, v in seconds.items()}
        print(f"{name} (1.00 = {reference or 'the fastest'})")
        for key, value in sorted(seconds.items(), key=lambda kv: kv[1]):
            print(f"  {key:12s} {value * 1000:9.2f} ms   {value / base:.2f}")
    if arguments.json:
        arguments.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
