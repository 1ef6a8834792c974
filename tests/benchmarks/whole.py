"""Whole processes from raw data to metrics: CPU seconds, wall seconds and peak memory of
`taamctl run`, imports included.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import torch
from timing import best

from taamctl.models.backbones import HIDDEN
from taamctl.store.feature_store import FeatureStore

# A small process of its own starts the command: a child inherits the peak memory of the one that
# starts it.
MEASURE = """
import json, os, sys, time
began = time.perf_counter()
_, status, used = os.wait4(os.posix_spawn(sys.argv[2], sys.argv[2:], dict(os.environ)), 0)
spent = [status, used.ru_utime + used.ru_stime, time.perf_counter() - began, used.ru_maxrss / 1024]
open(sys.argv[1], "w").write(json.dumps(spent))
"""
BFLOAT = ("--set", "methods.taam.precision=bfloat16")
PRESETS = {
    f"synthetic {p}": ("synthetic", "--set", f"datasets.synthetic.preset={p}")
    for p in ("tiny", "arxiv", "products")
}
SMALL = ("citeseer", "photo", "computer", "debian", "synthetic tiny", "synthetic arxiv")


def run(
    folder: Path, dataset: str, more: tuple[str, ...] = (), method: str = "taam", seed: int = 1
) -> dict[str, Any] | None:
    """Run one process and return its cost and its accuracy; None where it fails, such as for
    data that are not there.
    """
    name, *extra = PRESETS.get(dataset, (dataset,))
    call = [
        sys.executable,
        "-m",
        "taamctl",
        "run",
        "--dataset",
        name,
        *extra,
        "--method",
        method,
        "--seed",
        str(seed),
        "--json",
        "--quiet",
        "--outputs",
        str(folder),
        "--set",
        "report.pictures=false",
        *more,
    ]
    out, spent = folder / "result.json", folder / "spent.json"
    with out.open("w") as result, (folder / "log.txt").open("w") as log:
        subprocess.run(
            [sys.executable, "-S", "-c", MEASURE, str(spent), *call],
            stdout=result,
            stderr=log,
            check=True,
        )
    status, cpu, wall, peak = json.loads(spent.read_text())
    if status:
        print(f"  {dataset}: {(folder / 'log.txt').read_text().strip()[-300:]}")
        return None
    (row,) = json.loads(out.read_text())
    return {
        "cpu_s": round(cpu, 2),
        "wall_s": round(wall, 2),
        "peak_mib": round(peak),
        "aa": round(100 * row["aa"], 2),
        "stages": _stages(folder),
    }


def limit(features: Path, epochs: int = 200) -> dict[str, float]:
    """Return CPU seconds of the arithmetic that training cannot avoid, on one core here and now.

    products: one product with W1 forward and one backward over all training rows and epochs,
        measured at the shapes of the tasks.
    sparse: 4 nnz(H) 512 floating-point operations per epoch at the rate of those products.
    """
    torch.set_num_threads(1)
    seconds = operations = entries = 0.0
    with FeatureStore(features, "") as store:
        for k in range(store.info.num_tasks):
            h = store.task(k).h
            w1, outer = torch.randn(HIDDEN, h.shape[1]), torch.randn(len(h), HIDDEN)
            seconds += best(
                {"both": lambda h=h, w1=w1, outer=outer: (h @ w1.T, outer @ w1)},
                5,
                time.process_time,
            )["both"]
            operations += 4 * h.numel() * HIDDEN
            entries += int(torch.count_nonzero(h))
    return {
        "products_s": round(epochs * seconds, 2),
        "sparse_s": round(epochs * 4 * entries * 512 / (operations / seconds), 2),
        "gflops": round(operations / seconds / 1e9, 1),
    }


def _stages(folder: Path) -> dict[str, float]:
    """Return CPU seconds of every stage, from their records."""
    records = [json.loads(p.read_text()) for p in folder.rglob("*.provenance.json")]
    return {r["stage"]: round(r["cost"]["cpu_s"], 2) for r in records}


def whole(datasets: tuple[str, ...]) -> dict[str, dict[str, Any]]:
    """Return, per data set, the first run, and over its cached features a second seed and
    another method; and one run in bfloat16.
    """
    out: dict[str, dict[str, Any]] = {}
    for dataset in datasets:
        with tempfile.TemporaryDirectory() as root:
            first, other = Path(root) / "first", Path(root) / "bfloat16"
            first.mkdir()
            other.mkdir()
            plan = {
                "float32": (first, {}),
                "second seed": (first, {"seed": 2}),
                "finetune": (first, {"method": "finetune"}),
                "bfloat16": (other, {"more": BFLOAT}),
            }
            if dataset == "synthetic products":  # minutes each
                plan = {"float32": plan["float32"]}
            stamps = set()
            for name, (folder, how) in plan.items():
                cost = run(folder, dataset, **how)
                if cost is None:
                    break
                out[f"{dataset}, {name}"] = cost
                stamps |= {p.stat().st_mtime_ns for p in first.rglob("features.h5")}
            if stamps:
                out[f"{dataset}, propagated"] = {"times": len(stamps)}
                spent, bound = (
                    out[f"{dataset}, float32"]["stages"]["train"],
                    limit(next(first.rglob("features.h5"))),
                )
                out[f"{dataset}, training alone"] = {
                    "cpu_s": spent,
                    **bound,
                    "over_products": round(spent / bound["products_s"], 2),
                    "over_sparse": round(spent / bound["sparse_s"], 2),
                }
    return out
