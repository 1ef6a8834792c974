"""AA against memory of the closed-form learner on graphs that mix all tasks, one decision per node.

    python tests/benchmarks/router_memory.py --dataset photo [--dataset ...] [--outputs DIR]
    [--data-root DIR] [--seed 1] [--set split.seed=42] [--json FILE] [--figure FILE]

Makes the split and the features of the data sets below DIR where they are missing. Per data set:
`methods.analytic` as it is, with other numbers of directions, with and without random features,
with the whole Gram matrix, and projected at random; each with AA on val and test under the mixed
and the grouped protocol, and the words it keeps from task to task, in millions. The ridge is chosen
from the sums. The figure is the whole curve, a panel per data set.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import reduce
from pathlib import Path
from typing import Any

import numpy as np
from taamctl.stages import precompute, split

from taamctl.cli import common
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.evaluation import matrix
from taamctl.learning.kernels import ridge, squeezed
from taamctl.methods import analytic
from taamctl.pipeline import lens_run as lens
from taamctl.propagation import group_graph
from taamctl.store.feature_store import FeatureStore

WIDTHS = (128, 256, 512, 1024, 2048)
RANKS = (0, 4, 8, 16, 32, 64, 128)
LINES = {  # of the figure: start of a reading's name -> what it is called
    "filled rank": "directions, filled up",
    "rank": "directions",
    "projected": "projected, whole Gram matrix",
}


def readings(base: analytic.Params, features: int) -> dict[str, analytic.Params]:
    """Return name -> parameters: what is measured."""
    plain = replace(base, width=1, widest=10**6)
    out = {"default": base, "no fill": replace(plain, rank=None)}
    if base.width > features:
        out["filled"] = replace(base, rank=None)
        out |= {f"filled rank {r}": replace(base, rank=r) for r in RANKS}
    out |= {
        f"projected to {w}": replace(base, width=1, widest=w, rank=None)
        for w in WIDTHS
        if w < features
    }
    return out | {f"rank {r}" if r else "diagonal": replace(plain, rank=r) for r in RANKS}


class Measured:
    """One data set: sums of its tasks, made once for every kind of profile."""

    def __init__(self, bench: lens.LensInputs, store: FeatureStore, seed: int) -> None:
        self.bench, self.info, self.seed = bench, store.info, seed
        self.data = [store.task(k, lens.NEEDS) for k in range(self.info.num_tasks)]
        self.found: dict[tuple[int, float], list[ridge.Sums]] = {}

    def lift(self, params: analytic.Params) -> ridge.Lift:
        """Return what makes profiles."""
        drawn = ridge.Lift.draw(self.info.num_features, params, self.seed)
        if self.rank(params) is None:
            return drawn
        return replace(drawn, weight=params.random_weight)

    def rank(self, params: analytic.Params) -> int | None:
        """Return how many directions are kept; None for the whole Gram matrix."""
        width = params.profile_width(self.info.num_features)
        return squeezed.kept_rank(width, params.rank, self.info.num_tasks)

    def sums(self, params: analytic.Params) -> list[ridge.Sums]:
        """Return every task's sums."""
        key = (params.profile_width(self.info.num_features), self.lift(params).weight)
        if key not in self.found:
            self.found = {key: [self._collected(data, params) for data in self.data]}
        return self.found[key]

    def _collected(self, data: Any, params: analytic.Params) -> ridge.Sums:
        hops = group_graph.hop_rows(data.h, data.extras, params.hops, self.info.hops)
        classes = data.task.high - data.task.low
        return ridge.collect(hops, data.y - data.task.low, classes, self.lift(params), params)

    def row(self, params: analytic.Params) -> dict[str, Any]:
        """Squeeze, solve and predict as the method does."""
        width = params.profile_width(self.info.num_features)
        tasks, rank, factor = self.info.num_tasks, self.rank(params), params.ridge_factor
        if rank is None:
            factor = 1.0
        kept = [squeezed.of_task(sums, rank) for sums in self.sums(params)]
        weight, strength = reduce(squeezed.Kept.joined, kept).solve(params, factor)
        words = squeezed.words(width, self.info.num_classes, params.rank, tasks)
        row: dict[str, Any] = {"words": words, "ridge": strength}
        lift, bounds = self.lift(params), np.array(self.info.bounds)
        for scene in self.bench.query_sets:
            scores = [
                lift.profile(
                    group_graph.hop_rows(q.h, q.extras, params.hops, self.info.hops), params.hops
                )
                @ weight
                for q in scene.queries
            ]
            predicted = np.concatenate([s.argmax(1).numpy() for s in scores])
            row[f"{scene.protocol} {scene.part}"] = matrix.average_over_tasks(
                scene.y, scene.task, predicted, bounds
            )[0]
        return row


def draw(found: Mapping[str, Mapping[str, Mapping[str, Any]]], path: Path) -> None:
    """Draw mixed AA against words, a panel per data set."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    figure, panels = pyplot.subplots(1, len(found), figsize=(4.2 * len(found), 3.6), squeeze=False)
    for axes, (dataset, rows) in zip(panels[0], found.items(), strict=True):
        for start, label in LINES.items():
            named = [row for name, row in rows.items() if name.startswith(start)]
            line = sorted((row["words"], 100 * row["mixed test"]) for row in named)
            if line:
                axes.plot(*zip(*line, strict=True), marker="o", markersize=3, label=label)
        for name, marker in (("no fill", "s"), ("filled", "D"), ("default", "*")):
            if name in rows:
                axes.plot(rows[name]["words"], 100 * rows[name]["mixed test"], marker, label=name)
        axes.set(title=dataset, xscale="log", xlabel="words kept", ylabel="mixed AA, %")
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(path)


def table(name: str, rows: Mapping[str, Mapping[str, Any]]) -> Sequence[str]:
    """Return a data set's lines."""
    keys = ("mixed test", "mixed val", "grouped test")
    lines = [f"{name:18s} {'M words':>8s} {'ridge':>6s} " + "  ".join(f"{k:>12s}" for k in keys)]
    for reading, row in rows.items():
        shown = "  ".join(f"{100 * row[key]:12.1f}" for key in keys)
        lines.append(f"  {reading:16s} {row['words'] / 1e6:8.3f} {row['ridge']:6.2f} {shown}")
    return lines


def main() -> None:
    """Print one table per data set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dataset", action="append", required=True)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--set", dest="settings", action="append", default=[])
    parser.add_argument("--json", type=Path)
    parser.add_argument("--figure", type=Path)
    asked = parser.parse_args()
    settings = RawSettings(
        overrides=asked.settings, outputs=asked.outputs, data_root=asked.data_root
    )
    context = common.make_context(Grid(asked.dataset), settings, Writing())
    own = context.params.plugin("methods", "analytic", analytic.Params)
    assert isinstance(own, analytic.Params)
    everything: dict[str, dict[str, Any]] = {}
    for dataset in asked.dataset:
        split.run(context, dataset)
        path = precompute.run(context, dataset).path
        bench = lens.LensInputs(context, dataset)
        with FeatureStore(path, context.layout.command("precompute", dataset)) as store:
            measured = Measured(bench, store, asked.seed)
            wanted = readings(own, store.info.num_features)
            everything[dataset] = {name: measured.row(params) for name, params in wanted.items()}
        print("\n".join(table(dataset, everything[dataset])), flush=True)
    if asked.json:
        asked.json.write_text(json.dumps(everything, indent=1) + "\n")
    if asked.figure:
        draw(everything, asked.figure)


if __name__ == "__main__":
    main()
