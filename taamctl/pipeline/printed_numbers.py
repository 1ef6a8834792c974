"""A published table again: which runs it needs, where their artefacts lie, and what they say
beside the printed numbers.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import canonical
from taamctl.core.types import StreamInfo
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params.eval_params import EvalParams
from taamctl.params.run_params import RunParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import TrainParams
from taamctl.pipeline import walk
from taamctl.report import published, reproduction
from taamctl.report.published import PublishedRow
from taamctl.report.report_rows import over_seeds, run_row
from taamctl.runtime import raw_files
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

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
MEASURED = {"aa": "aa", "af": "af", "id": "task_id_accuracy", "legacy_af": "legacy_af"}
NOTHING = (None, 0.0)
Value = tuple[float | None, float]  # mean and deviation
Record = dict[str, object]


@dataclass(frozen=True)
class Table:
    """A table's records, one per (row, data set, metric), and its conditions."""

    target: str
    records: list[Record]
    conditions: list[str]

    def write(self, folder: Path, command: str) -> Path:
        """Write it as JSON, Markdown, CSV and LaTeX and return the JSON's path.

        Args:
            command: what makes it again.
        """
        path = folder / f"{self.target}.json"
        shown = (self.target, self.records, self.conditions)
        atomic_files.write_json(
            path,
            {
                "target": self.target,
                "title": published.title(self.target),
                "command": command,
                "rows": self.records,
                "conditions": self.conditions,
            },
        )
        atomic_files.write_text(path.with_suffix(".md"), reproduction.markdown(*shown, command))
        atomic_files.write_text(
            path.with_suffix(".csv"), reproduction.comma_separated(self.records)
        )
        atomic_files.write_text(path.with_suffix(".tex"), reproduction.latex(*shown))
        return path


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
    layout = Layout(outputs)
    folder = outputs / "reproduce" / "runs"
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


def measured_table(
    target: str, base: Context, contexts: Mapping[tuple[str, tuple[str, ...]], Context]
) -> Table:
    """Run what is missing of a table and return it.

    Args:
        base: names the data sets and seeds; those whose raw data is not there are listed, never
            left out.
        contexts: of every row, by its method and changed parameters.
    """
    run = base.params.section(RunParams)
    there = [dataset for dataset in run.datasets if _is_there(base, dataset)]
    for dataset in there:
        walk.features(base, dataset)
    planned = [(row, d, s) for d in there for row in published.rows(target) for s in run.seeds]
    began = time.perf_counter()
    fresh = 0
    for i, (row, dataset, seed) in enumerate(planned):
        left = ""
        if fresh:
            minutes = (time.perf_counter() - began) / fresh * (len(planned) - i) / 60
            left = f", about {minutes:.0f} min left"
        base.tell(f"run {i + 1}/{len(planned)}: {row.row}, {dataset}, seed {seed}{left}")
        context = contexts[row.method, row.sets]
        outcomes = walk.one_run(context, (dataset, row.method, seed))
        fresh += not all(outcome.reused for outcome in outcomes)
    records = _records(target, run.datasets, there, run.seeds, base.layout.root)
    return Table(
        target, records, reproduction.conditions(target, records, _facts(base.params, run.seeds))
    )


def _is_there(context: Context, dataset: str) -> bool:
    """Tell whether a data set's raw files are there, or none are needed."""
    source = data_set(dataset)
    return not source.meta.files or raw_files.find(context.data_root, source.layouts) is not None


def _records(
    target: str, wanted: Sequence[str], there: Sequence[str], seeds: Sequence[int], outputs: Path
) -> list[Record]:
    out = []
    unchanged: dict[str, float] = {}  # AA of a data set's first row, which a sweep varies
    absent = [dataset for dataset in wanted if dataset not in there]
    for row in published.rows(target):
        for dataset in (*there, *absent):
            missing = dataset in absent
            ours: dict[str, Value] = {}
            if not missing:
                ours = _measured(row, dataset, seeds, outputs)
            for metric in METRICS[target]:
                value, std = ours.get(metric, NOTHING)
                legacy = ours.get(f"legacy_{metric}", NOTHING)
                record = _record(row, dataset, metric, value, std, missing=missing, legacy=legacy)
                record["seeds"] = list(seeds)
                record["validation"] = ours.get(f"validation_{metric}", NOTHING)[0]
                if target == "sweeps" and value is not None:
                    record["difference"] = value - unchanged.setdefault(dataset, value)
                out.append(record)
    return out


def _facts(params: Params, seeds: Sequence[int]) -> list[str]:
    """Return the sentences on protocol, split and parameters that a measured table carries."""
    from taamctl.evaluation.summary import split_policy

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
    row: PublishedRow, dataset: str, seeds: Sequence[int], outputs: Path
) -> dict[str, Value]:
    """Return metric -> mean and deviation over seeds, in per cent."""
    layout = layout_of(outputs, row.sets)
    files = [layout.file("eval", dataset, row.method, s) for s in seeds]
    (merged,) = over_seeds([run_row(file) for file in files])
    found: dict[str, Value] = {}
    (validation,) = over_seeds([run_row(file, "val") for file in files])
    if validation.task_id_accuracy is not None:
        found["validation_id"] = (100 * validation.task_id_accuracy, 0.0)
    for name, key in MEASURED.items():
        mean = getattr(merged, key)
        if mean is not None:
            mean *= 100
        found[name] = (mean, 100 * (getattr(merged, f"{key}_std") or 0.0))
    return found


def _record(
    row: PublishedRow,
    dataset: str,
    metric: str,
    value: float | None,
    std: float,
    *,
    missing: bool = False,
    legacy: Value = NOTHING,
) -> Record:
    printed = row.cells.get((dataset, metric))
    entry = row.explanation(dataset, metric)
    if entry is None and published.verdict(printed, *legacy, metric, None) == "reproduced":
        entry = LEGACY  # the printed AF is that of the final model in place of every stage's
    verdict = "no data"
    if not missing:
        verdict = published.verdict(printed, value, std, metric, entry)
    explained = ""
    if verdict == "explained" and entry is not None:
        explained = f"[{entry}] {published.register()[entry]}"
    record: Record = {
        "table": row.table,
        "row": row.row,
        "dataset": dataset,
        "metric": metric,
        "method": row.method,
        "set": list(row.sets),
        "paper": getattr(printed, "value", None),
        "paper_std": getattr(printed, "std", None),
        "ours": value,
        "ours_std": std,
        "verdict": verdict,
        "explanation": explained,
        "difference": None,
        "legacy_af": legacy[0],
    }
    if printed is not None and value is not None:
        record["difference"] = value - printed.value
    return record


def cost_table(context: Context, datasets: Sequence[str] | None = None) -> Table:
    """Return the cost table: what each method's own `stored` counts, from F and class sizes alone.

    Args:
        datasets: None for all whose class sizes are on file.
    """
    if datasets is None:
        datasets = published.datasets()
    records = []
    for row in published.rows("params"):
        for dataset in datasets:
            cost = _cost(context.params, row.method, dataset)
            records.append(_record(row, dataset, "cost", cost, 0.0, missing=cost is None))
    facts = [
        "Counted by each method itself from the number of features and the class sizes (60 % "
        "of a class is trained on)."
    ]
    return Table("params", records, reproduction.conditions("params", records, facts))


def _cost(params: Params, method: str, dataset: str) -> float | None:
    """Return millions of words as the paper counts them; None where class sizes are not on file."""
    import torch

    from taamctl.evaluation import cost

    known = published.sizes(dataset)
    if known is None:
        return None
    features, classes = known
    bounds = tuple((c, c + 2) for c in range(0, len(classes) - 1, 2))
    train = np.maximum(1, (np.array(classes) * (1 - 0.4)).astype(int))[: bounds[-1][1]]
    learner = method_class(method)(
        params.plugin("methods", method, registry.method_params(method)),
        StreamInfo(features, bounds),
        params.section(TrainParams),
        0,
        torch.device("cpu"),
    )
    stored = learner.stored(train)
    return float(cost.paper(stored.parameters, stored.rows, features) / 1e6)
