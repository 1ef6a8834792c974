"""AA against memory of the closed-form learner on graphs that mix all tasks, one decision per node.

    python tests/benchmarks/router_memory.py --dataset photo [--dataset ...] [--outputs DIR]
    [--data-root DIR] [--json FILE]

Needs `taamctl precompute` of the data sets below DIR (it makes what is missing). Per data set: the
whole Gram matrix of the raw width and filled up with random ReLU features, random projections,
leading directions with the diagonal, the diagonal alone; each with AA on val and test under the
mixed and the grouped protocol, and the words it keeps from task to task, in millions. The ridge is
chosen from the sums.
"""

from __future__ import annotations

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from taamctl.stages import precompute, split

from taamctl.cli import common
from taamctl.cli.shared_options import Grid, RawSettings, Writing
from taamctl.evaluation import matrix
from taamctl.learning.kernels import ridge
from taamctl.params.train_params import LensParams, RidgeParams
from taamctl.pipeline import lens_run as lens
from taamctl.propagation import group_graph
from taamctl.store.feature_store import FeatureStore

WIDTHS = (64, 128, 256, 512, 1024, 2048)
RANKS = (0, 16, 64, 256)


def readings(base: RidgeParams, features: int) -> dict[str, tuple[RidgeParams, int | None]]:
    """Return name -> (parameters, rank): what is measured."""
    plain = replace(base, width=1, widest=10**6)
    out: dict[str, tuple[RidgeParams, int | None]] = {
        "default": (base, None),
        "no fill": (plain, None),
    }
    out |= {
        f"projected to {w}": (replace(base, width=1, widest=w), None)
        for w in WIDTHS
        if w < features
    }
    out |= {
        f"filled up to {w}": (replace(base, width=w), None) for w in (1024, 2048) if w > features
    }
    return out | {f"rank {r}" if r else "diagonal": (plain, r) for r in RANKS if r < features}


def measure(
    bench: lens.LensInputs, store: FeatureStore, params: RidgeParams, rank: int | None, seed: int
) -> dict[str, Any]:
    """Learn task after task, squeezing where asked, and predict every scene."""
    lift, total = ridge.Lift.draw(store.info.num_features, params, seed), None
    for k in range(store.info.num_tasks):
        data = store.task(k, lens.NEEDS)
        mine = ridge.collect(
            group_graph.hop_rows(data.h, data.extras, params.hops, store.info.hops),
            data.y - data.task.low,
            data.task.high - data.task.low,
            lift,
            params,
        )
        total = mine if total is None else total.joined(mine)
        if rank is not None:
            total = replace(total, gram=ridge.unsqueeze(*ridge.squeeze(total.gram, rank)))
    weight, strength = ridge.solve(total, params)
    row: dict[str, Any] = {
        "words": ridge.memory_words(store.info.num_features, store.info.num_classes, params, rank),
        "ridge": strength,
    }
    for scene in bench.query_sets:
        predicted = np.concatenate(
            [
                (
                    lift.profile(
                        group_graph.hop_rows(q.h, q.extras, params.hops, store.info.hops),
                        params.hops,
                    )
                    @ weight
                )
                .argmax(1)
                .numpy()
                for q in scene.queries
            ]
        )
        row[f"{scene.protocol} {scene.part}"] = matrix.average_over_tasks(
            scene.y, scene.task, predicted, np.array(store.info.bounds)
        )[0]
    return row


def main() -> None:
    """Print one table per data set."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--dataset", action="append", required=True)
    parser.add_argument("--outputs", type=Path, default=Path("outputs"))
    parser.add_argument("--data-root", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--json", type=Path)
    asked = parser.parse_args()
    context = common.make_context(
        Grid(asked.dataset),
        RawSettings(outputs=asked.outputs, data_root=asked.data_root),
        Writing(),
    )
    everything: dict[str, dict[str, Any]] = {}
    for dataset in asked.dataset:
        split.run(context, dataset)
        path = precompute.run(context, dataset).path
        bench = lens.LensInputs(context, dataset)
        print(
            f"{dataset:18s} {'M words':>8s} {'ridge':>6s}{'mixed test':>11s}  {'mixed val':>11s}  "
            f"{'grouped test':>11s}"
        )
        with FeatureStore(path, context.layout.command("precompute", dataset)) as store:
            for name, (params, rank) in readings(
                context.params.section(LensParams).router, store.info.num_features
            ).items():
                row = measure(bench, store, params, rank, asked.seed)
                everything.setdefault(dataset, {})[name] = row
                shown = "  ".join(
                    f"{100 * row[key]:11.1f}" for key in ("mixed test", "mixed val", "grouped test")
                )
                print(
                    f"  {name:16s} {row['words'] / 1e6:8.3f} {row['ridge']:6.2f}{shown}", flush=True
                )
    if asked.json:
        asked.json.write_text(json.dumps(everything, indent=1) + "\n")


if __name__ == "__main__":
    main()
