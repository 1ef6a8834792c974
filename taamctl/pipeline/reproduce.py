"""Which runs a published table needs, where their artefacts lie, and what they say beside the
printed numbers.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import StreamInfo
from taamctl.params.eval_params import EvalParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import TrainParams
from taamctl.report import collect, published
from taamctl.runtime.layout import Layout

TRAINED = ("train.", "methods.")
INFERRED = ("infer.",)
LEGACY = 20  # the register's entry on the AF of the released test pass
METRICS = {
    "main": ("aa", "af"),
    "ablation": ("aa", "af"),
    "taskid": ("id",),
    "sweeps": ("aa",),
    "params": ("cost",),
}


@dataclass(frozen=True)
class Run:
    """One run that a table needs: a row's method and parameters on one data set with one seed."""

    row: published.PublishedRow
    dataset: str
    seed: int


def layout_of(outputs: Path, sets: Sequence[str], made_by: str = "") -> Layout:
    """Return the tree of a run with changed parameters: it borrows every artefact that the change
    leaves as it is.

    Raises:
        TaamctlError: a change that is neither of training nor of inference.
    """
    deep = [s for s in sets if s.startswith(TRAINED)]
    shallow = [s for s in sets if s.startswith(INFERRED)]
    if len(deep) + len(shallow) < len(sets):
        raise TaamctlError(
            f"published.toml: {', '.join(sets)} changes more than train, methods and infer",
            "a row may change what is trained or how task IDs are inferred",
        )
    layout, folder = Layout(outputs), outputs / "reproduce" / "runs"
    if deep:
        layout = Layout(folder / _slug(deep), layout, ("split", "precompute"), made_by)
    if shallow:
        layout = Layout(folder / _slug(sets), layout, ("split", "precompute", "train"), made_by)
    return layout


def _slug(sets: Sequence[str]) -> str:
    """Return a folder name that people can read and no two changes share."""
    text = "_".join(s.removeprefix("methods.").replace("=", "-") for s in sets)
    plain = "".join(c if c.isalnum() or c in "._-" else "-" for c in text)
    return f"{plain[:60]}-{hashlib.sha256(' '.join(sets).encode()).hexdigest()[:8]}"


def runs(target: str, datasets: Sequence[str], seeds: Sequence[int]) -> list[Run]:
    """Return the runs of a table, data sets outermost; none where a table is arithmetic."""
    return (
        []
        if target == "params"
        else [Run(row, d, s) for d in datasets for row in published.rows(target) for s in seeds]
    )


def cells(
    target: str, datasets: Sequence[str], absent: Sequence[str], seeds: Sequence[int], outputs: Path
) -> list[dict[str, Any]]:
    """Return one record per (row, data set, metric) of a table that has been run.

    Args:
        datasets: those that were run. absent: those whose raw data is not there: listed, never left
            out.
    """
    out: list[dict[str, Any]] = []
    unchanged: dict[str, float] = {}
    for row in published.rows(target):
        for dataset in (*datasets, *absent):
            ours = _measured(row, dataset, seeds, outputs) if dataset in datasets else {}
            for metric in METRICS[target]:
                value, std = ours.get(metric, (None, 0.0))
                legacy = ours.get("legacy_af", (None, 0.0)) if metric == "af" else (None, 0.0)
                record = {
                    **_record(
                        row, dataset, metric, value, std, missing=dataset in absent, legacy=legacy
                    ),
                    "seeds": list(seeds),
                }
                if target == "sweeps" and value is not None:
                    record["difference"] = value - unchanged.setdefault(dataset, value)
                out.append(record)
    return out


def facts(target: str, params: Params, seeds: Sequence[int]) -> list[str]:
    """Return the sentences on protocol, split and parameters that a table carries."""
    from taamctl.core.plain_values import canonical
    from taamctl.evaluation.summary import split_policy

    if target == "params":
        return [
            "Counted by each method itself from the number of features and the class sizes (60 % "
            "of a class is trained on)."
        ]
    return [
        f"{params.section(EvalParams).averaging.capitalize()} accuracy on the test part; grouped "
        "protocol; one task-ID decision per graph; every method in its own logit scope (taamctl "
        "methods show NAME): a narrower one is an easier task.",
        f"Seeds {', '.join(map(str, seeds))}; split "
        f"{split_policy(canonical(params.section(SplitParams)))}; ± is the population standard "
        "deviation over seeds.",
        f"Parameters: {params.source}.",
    ]


def _measured(
    row: published.PublishedRow, dataset: str, seeds: Sequence[int], outputs: Path
) -> dict[str, tuple[float | None, float]]:
    """Return metric -> (mean, deviation) over seeds, in per cent."""
    layout = layout_of(outputs, row.sets)
    (merged,) = collect.over_seeds(
        [collect.run_row(layout.file("eval", dataset, row.method, s)) for s in seeds]
    )
    names = {"aa": "aa", "af": "af", "id": "task_id_accuracy", "legacy_af": "legacy_af"}
    return {
        name: (
            None if merged[key] is None else 100 * merged[key],
            100 * (merged[f"{key}_std"] or 0.0),
        )
        for name, key in names.items()
    }


def _record(
    row: published.PublishedRow,
    dataset: str,
    metric: str,
    value: float | None,
    std: float,
    *,
    missing: bool = False,
    legacy: tuple[float | None, float] = (None, 0.0),
) -> dict[str, Any]:
    printed, entry = row.cells.get((dataset, metric)), row.explanation(dataset, metric)
    if entry is None and published.verdict(printed, *legacy, metric, None) == "reproduced":
        entry = LEGACY  # the printed AF is that of the final model in place of every stage's
    verdict = "no data" if missing else published.verdict(printed, value, std, metric, entry)
    explained = (
        f"[{entry}] {published.register()[entry]}"
        if verdict == "explained" and entry is not None
        else ""
    )
    return {
        "table": row.table,
        "row": row.row,
        "dataset": dataset,
        "metric": metric,
        "method": row.method,
        "set": list(row.sets),
        "paper": None if printed is None else printed.value,
        "paper_std": None if printed is None else printed.std,
        "ours": value,
        "ours_std": std,
        "verdict": verdict,
        "explanation": explained,
        "difference": None if printed is None or value is None else value - printed.value,
        "legacy_af": legacy[0],
    }


def cost_cells(params: Params, datasets: Sequence[str] | None = None) -> list[dict[str, Any]]:
    """Return the records of the cost table: what each method's own `stored` counts, from F and
    class sizes alone.

    Args:
        params: parameters, for budgets and ranks.
        datasets: those to count; None for all whose class sizes are on file.
    """
    import torch

    from taamctl.evaluation import cost

    out = []
    for row in published.rows("params"):
        module = registry.load("taamctl.methods", row.method)
        own = params.plugin("methods", row.method, module.Params)
        for dataset in published.datasets() if datasets is None else datasets:
            known = published.sizes(dataset)
            if known is None:
                out.append(_record(row, dataset, "cost", None, 0.0, missing=True))
                continue
            features, classes = known
            bounds = tuple((c, c + 2) for c in range(0, len(classes) - 1, 2))
            train = np.maximum(1, (np.array(classes) * (1 - 0.4)).astype(int))[: bounds[-1][1]]
            made = module.Method(
                own,
                StreamInfo(features, bounds),
                params.section(TrainParams),
                0,
                torch.device("cpu"),
            ).stored(train)
            out.append(
                _record(
                    row,
                    dataset,
                    "cost",
                    cost.paper(made.parameters, made.rows, features) / 1e6,
                    0.0,
                )
            )
    return out
