"""What `taamctl plan` says of twelve generated graphs of different shapes beside what runs take:
`python tests/benchmarks/estimates.py [--graph NAME]... [--method NAME]... [--threads N] [--full]
[--into FILE]`.

For train, infer and eval of every method: seconds said and taken, and their ratio (said / taken),
in CPU seconds of all threads, which hardly change with what else the machine does; the last lines
count how many ratios lie within a factor of 2, and name the others. Stages where both are below
FLOOR seconds are named apart: opening files and the grain of the clock decide there. With `--into`
every line is kept, what is in the file already is not measured again, and the count is of all that
is in it, so graphs can be measured one by one, or several at once. Never part of a build.

Graphs have a quarter of their nodes, trainings a part of their steps, and regressions half their
width, so that all of it takes some minutes: what is said follows from the same measurements.
`--full` runs the published length, which takes hours: name some graphs and methods.
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
FLOOR = 0.1  # seconds of a stage below which its price is about files and the clock
FEWER = 4  # times fewer nodes than a shape has, without --full
# What is repeated, as parameters -> how often, and how wide regressions are, without --full.
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
    "methods.analytic.width": 700,
    "methods.analytic.widest": 700,
    "lens.router.width": 700,
    "lens.router.widest": 700,
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


class Line(NamedTuple):
    """A stage of a run: CPU seconds said and taken."""

    graph: str
    method: str
    stage: str
    said: float
    taken: float

    @property
    def ratio(self) -> float:
        """Return how many times what was taken was said."""
        return self.said / max(self.taken, LEAST)

    @property
    def right(self) -> bool:
        """Tell whether the price is within the margin."""
        return 1 / MARGIN <= self.ratio <= MARGIN

    @property
    def short(self) -> bool:
        """Tell whether both are too short to say much."""
        return max(self.said, self.taken) < FLOOR

    def __str__(self) -> str:
        """Return it as it is printed and kept."""
        names = f"{self.graph:8} {self.method:14} {self.stage:6}"
        return f"{names} {self.said:9.3f} {self.taken:9.3f} {self.ratio:6.2f}"


def kept(file: Path | None) -> list[Line]:
    """Return the lines of a file, where it is there."""
    if file is None or not file.is_file():
        return []
    rows = [line.split() for line in file.read_text(encoding="utf-8").splitlines()]
    return [Line(*names, float(a), float(b)) for *names, a, b, _ in rows]


def summary(lines: list[Line]) -> Iterator[str]:
    """Yield how many prices of every stage are right, and which are not."""
    for stage in dict.fromkeys(line.stage for line in lines):
        found = [line for line in lines if line.stage == stage]
        right = sum(line.right for line in found)
        yield f"{stage}: {right} of {len(found)} within a factor of {MARGIN}"
        for short, words in ((False, "outside"), (True, f"outside, below {FLOOR} s")):
            names = [
                f"{line.graph} {line.method} {line.ratio:.2f}"
                for line in found
                if not line.right and line.short == short
            ]
            yield f"  {len(names)} {words}: {', '.join(names) or 'none'}"


def main() -> None:
    """Print a line per graph, method and stage, and how many are right."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--graph", action="append", choices=SHAPES)
    parser.add_argument("--method", action="append")
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--full", action="store_true", help="whole graphs, published length")
    parser.add_argument("--into", type=Path, help="a file of lines, which grows")
    asked = parser.parse_args()
    overrides = [f"train.threads={asked.threads}"]
    if not asked.full:
        overrides += [f"{name}={count}" for name, count in SHORTER.items()]
    into = asked.into.absolute() if asked.into else None
    lines = kept(into)
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for graph in asked.graph or SHAPES:
            write(graph, 1 if asked.full else FEWER)
            for method in asked.method or registry.builtin("taamctl.methods"):
                if any(line[:2] == (graph, method) for line in kept(into)):
                    continue
                found = [Line(graph, method, *rest) for rest in compared(graph, method, overrides)]
                lines += found
                text = "".join(f"{line}\n" for line in found)
                print(text, end="", flush=True)
                if into is not None:
                    with into.open("a", encoding="utf-8") as file:
                        file.write(text)
    print("\n".join(summary(kept(into) or lines)))


if __name__ == "__main__":
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    main()
