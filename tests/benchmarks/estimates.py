"""What `taamctl plan` says of twelve generated graphs of different shapes beside what runs take:
`python tests/benchmarks/estimates.py [--graph NAME]... [--method NAME]... [--threads N] [--full]`.

For train, infer and eval of every method: seconds said and taken, and their ratio (said / taken),
in CPU seconds of all threads, which hardly change with what else the machine does; the last lines
count how many ratios lie within a factor of 2, and name the others. Never part of a build.

Graphs have a quarter of their nodes, and trainings a part of their steps, so that all of them take
some minutes: what is said follows from the same measurements. `--full` runs the published length,
which takes hours: name some graphs and methods.
"""

from __future__ import annotations

import argparse
import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import numpy as np

from taamctl.cli.common import make_context
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core import registry
from taamctl.importing.import_graph import import_graph
from taamctl.planning import costs, counts, plan
from taamctl.planning.rehearsal import MARGIN
from taamctl.runtime.job import Context
from taamctl.runtime.provenance import sidecar_of
from taamctl.store.atomic_files import read_json


class Shape(NamedTuple):
    """A graph: nodes, edges per node, features, classes, share of features that is not 0."""

    nodes: int
    degree: int
    features: int
    classes: int
    filled: float


LEAST = 0.01  # seconds: the clock of a processor tells no less
FEWER = 4  # times fewer nodes than a shape has, without --full
# What is repeated, as parameters -> how often without --full.
SHORTER = {
    "train.epochs": 60,
    "methods.cat.encoders": 60,
    "methods.cat.epochs": 60,
    "methods.puma.encoders": 10,
    "methods.puma.updates": 4,
    "methods.puma.epochs": 60,
    "methods.delome.iterations": 40,
    "methods.tpp.pretrain_epochs": 20,
    "methods.gpf.pretrain_epochs": 20,
}
SHAPES = {
    "small": Shape(600, 4, 50, 6, 0.1),
    "words": Shape(2000, 4, 1000, 7, 0.02),
    "dense": Shape(4000, 6, 100, 10, 1.0),
    "many": Shape(3000, 8, 60, 40, 1.0),
    "wide": Shape(800, 4, 3000, 4, 0.05),
    "long": Shape(12_000, 10, 32, 8, 1.0),
    "two": Shape(1500, 3, 200, 4, 1.0),
    "deep": Shape(5000, 30, 64, 6, 1.0),
    "bag": Shape(3000, 3, 2500, 12, 0.01),
    "thin": Shape(20_000, 6, 8, 10, 1.0),
    "flat": Shape(2500, 5, 400, 20, 0.3),
    "big": Shape(15_000, 12, 200, 16, 1.0),
}


def write(name: str, fewer: int) -> None:
    """Write a graph of a shape into data/ of the working folder, of so many times fewer nodes."""
    shape = SHAPES[name]
    rng = np.random.default_rng(list(SHAPES).index(name))
    c = shape.classes
    n = max(20 * c, shape.nodes // fewer)
    y = np.arange(n) % c
    x = rng.standard_normal((n, shape.features)) + rng.standard_normal((c, shape.features))[y] / 2
    if shape.filled < 1:
        x = np.abs(x) * (rng.random(x.shape) < shape.filled)
    source = rng.integers(0, n, n * shape.degree // 2)
    target = (source + c * rng.integers(0, n // c, len(source))) % n
    apart = rng.random(len(source)) < 0.2
    target[apart] = rng.integers(0, n, int(apart.sum()))
    ends = np.stack([source, target])
    np.savez(f"{name}.npz", x=x.astype(np.float32), y=y, edge_index=ends)
    import_graph(name, [Path(f"{name}.npz")], Path("data"), options={})


def taken(context: Context, stage: str, graph: str, method: str) -> float:
    """Return the CPU seconds of a stage, from its sidecar."""
    file = context.layout.file(stage, graph, method, 1)
    return float(read_json(sidecar_of(file))["cost"]["cpu_s"])


def compared(graph: str, method: str, overrides: list[str]) -> Iterator[tuple[str, float, float]]:
    """Yield stage, CPU seconds said, CPU seconds taken.

    Args:
        overrides: parameters, as `section.key=value`.
    """
    from taamctl.stages import eval as eval_stage
    from taamctl.stages import infer, precompute, split, train

    settings = Settings(overrides=overrides)
    context = make_context(
        Grid([graph], [method], [1]), settings, Writing(quiet=True), check_methods=True
    )
    split.run(context, graph)
    precompute.run(context, graph)
    work = plan.workload(context)
    file = context.layout.file("split", graph)
    exact = counts.exact(counts.of_dataset(context, graph), file, work.hops)
    said = plan.rehearse(context, exact, "cpu", graph)[method]
    assert not isinstance(said, str), said
    train.run(context, graph, method, 1)
    infer.run(context, graph, method, 1)
    eval_stage.run(context, graph, method, 1)
    yield "train", said.train.cpu, taken(context, "train", graph, method)
    yield "infer", said.infer.cpu, taken(context, "infer", graph, method)
    yield "eval", costs.evaluate(exact).seconds, taken(context, "eval", graph, method)


def main() -> None:
    """Print a line per graph, method and stage, and how many are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", action="append", choices=SHAPES)
    parser.add_argument("--method", action="append")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="whole graphs, published length")
    asked = parser.parse_args()
    overrides = [f"train.threads={asked.threads}"]
    if not asked.full:
        overrides += [f"{name}={count}" for name, count in SHORTER.items()]
    ratios: dict[str, dict[str, float]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for graph in asked.graph or SHAPES:
            write(graph, 1 if asked.full else FEWER)
            for method in asked.method or registry.builtin("taamctl.methods"):
                for stage, said, real in compared(graph, method, overrides):
                    ratio = said / max(real, LEAST)
                    ratios.setdefault(stage, {})[f"{graph} {method}"] = ratio
                    print(
                        f"{graph:8} {method:14} {stage:6} {said:9.2f} {real:9.2f} {ratio:6.2f}",
                        flush=True,
                    )
    for stage, found in ratios.items():
        outside = {n: r for n, r in found.items() if not 1 / MARGIN <= r <= MARGIN}
        named = ", ".join(f"{name} {ratio:.2f}" for name, ratio in outside.items())
        print(f"{stage}: {len(found) - len(outside)} of {len(found)} within a factor of {MARGIN}")
        print(f"  outside: {named or 'none'}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
