"""What `taamctl plan` says of twelve generated graphs of different shapes beside what runs take:
`python tests/benchmarks/estimates.py [--graph NAME]... [--method NAME]... [--threads N]`.

For train, infer and eval of every method: seconds said and taken, and their ratio (said / taken),
in CPU seconds of all threads, which hardly change with what else the machine does; the last lines
count how many ratios lie within a factor of 2. Never part of a build. Runs of the published length
on all graphs take hours: name some.
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
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params.train_params import TrainParams
from taamctl.planning import costs, counts, plan
from taamctl.planning.rehearsal import MARGIN, Rehearsal
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


def write(name: str) -> None:
    """Write a graph of a shape into data/ of the working folder."""
    shape = SHAPES[name]
    rng = np.random.default_rng(list(SHAPES).index(name))
    n, c = shape.nodes, shape.classes
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


def compared(graph: str, method: str, threads: int) -> Iterator[tuple[str, float, float]]:
    """Yield stage, CPU seconds said, CPU seconds taken."""
    from taamctl.stages import eval as eval_stage
    from taamctl.stages import infer, precompute, split, train

    settings = Settings(overrides=[f"train.threads={threads}"])
    context = make_context(
        Grid([graph], [method], [1]), settings, Writing(quiet=True), check_methods=True
    )
    split.run(context, graph)
    precompute.run(context, graph)
    work = plan.workload(context)
    file = context.layout.file("split", graph)
    exact = counts.exact(counts.of_dataset(context, graph), file, work.hops)
    own = context.params.plugin("methods", method, registry.method_params(method))
    params = context.params.section(TrainParams)
    said = Rehearsal(method_class(method), own, params, exact, work.hops).run()
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
    asked = parser.parse_args()
    ratios: dict[str, list[float]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for graph in asked.graph or SHAPES:
            write(graph)
            for method in asked.method or registry.builtin("taamctl.methods"):
                for stage, said, real in compared(graph, method, asked.threads):
                    ratio = said / max(real, 0.01)
                    ratios.setdefault(stage, []).append(ratio)
                    print(
                        f"{graph:8} {method:14} {stage:6} {said:9.2f} {real:9.2f} {ratio:6.2f}",
                        flush=True,
                    )
    for stage, found in ratios.items():
        within = sum(1 / MARGIN <= ratio <= MARGIN for ratio in found)
        print(f"{stage}: {within} of {len(found)} within a factor of {MARGIN}", end="")
        print(f", {min(found):.2f} to {max(found):.2f}")


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
