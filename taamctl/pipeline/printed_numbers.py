"""A published table again: which runs it needs, where their artefacts lie, and what they say
beside the printed numbers.
"""

from __future__ import annotations

import hashlib
import itertools
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import canonical
from taamctl.params.eval_params import EvalParams
from taamctl.params.run_params import RunParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.pipeline import table_files, walk
from taamctl.pipeline.at_hand import is_there
from taamctl.pipeline.countdown import Countdown
from taamctl.report import published, reproduction, run_seconds, sweep_figure
from taamctl.report.published import PublishedRow
from taamctl.report.report_rows import over_seeds, run_row
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

if TYPE_CHECKING:
    from distributed import Client

DIVIDED = ("split.",)
TRAINED = ("train.", "methods.")
INFERRED = ("infer.",)
LEGACY = 20  # the register's entry on the AF of the released test pass
METRICS = {
    "main": ("aa", "af"),
    "ablation": ("aa", "af"),
    "readings": ("aa", "af"),
    "tried": ("aa", "af"),
    "taskid": ("id",),
    "sweeps": ("aa",),
    "params": ("cost",),
}
MEASURED = {"aa": "aa", "af": "af", "id": "task_id_accuracy", "legacy_af": "legacy_af"}
NOTHING = (None, 0.0)
NEAR = ("reproduced", "close")
AVERAGED = {"main": ("aa",), "ablation": ("aa",)}  # the paper prints means of these over data sets
NOT_OF_A_MEAN = (
    "paper",
    "paper_std",
    "paper_std_assumed",
    "paper_decimals",
    "ours_std",
    "difference",
    "legacy_af",
    "train_cpu_s",
    "infer_cpu_s",
)
IMPLIED = ("taskid",)  # tables that print nothing: what stands there follows from other tables
AS_IMPLIED = {
    "reproduced": "as implied",
    "close": "close to what is implied",
    "not reproduced": "not as implied",
}
Value = tuple[float | None, float]  # mean and deviation
Record = dict[str, object]
Contexts = Mapping[tuple[str, tuple[str, ...]], Context]  # by method and changed parameters
Planned = tuple[PublishedRow, str, int]  # row, data set, seed


@dataclass(frozen=True)
class Table:
    """A table's records, one per (row, data set, metric), its conditions, and its figures by
    file name.
    """

    target: str
    records: list[Record]
    conditions: list[str]
    figures: Mapping[str, bytes] = field(default_factory=dict)

    def write(self, folder: Path, command: str) -> Path:
        """Write it as JSON, Markdown, CSV and LaTeX, with its figures, and return the JSON's path.

        Args:
            command: what makes it again.
        """
        shown = (self.target, self.records, self.conditions)
        texts = {
            ".md": reproduction.markdown(*shown, command),
            ".csv": reproduction.comma_separated(self.records),
            ".tex": reproduction.latex(*shown),
        }
        path = table_files.write(folder, self.target, command, self.records, self.conditions, texts)
        for name, data in self.figures.items():
            with atomic_files.atomic(folder / "figures" / name) as temporary:
                temporary.write_bytes(data)
        return path


def layout_of(outputs: Path, sets: Sequence[str], made_by: str = "") -> Layout:
    """Return the tree of a run with changed parameters: it borrows every artefact that the change
    leaves as it is.

    Raises:
        TaamctlError: a change that is none of the split, of training or of inference.
    """
    divided = [s for s in sets if s.startswith(DIVIDED)]
    deep = [s for s in sets if s.startswith(TRAINED)]
    shallow = [s for s in sets if s.startswith(INFERRED)]
    if len(divided) + len(deep) + len(shallow) < len(sets):
        raise TaamctlError(
            f"published.toml: {', '.join(sets)} changes more than split, train, methods and infer",
            "a row may change the split, what is trained or how task IDs are inferred",
        )
    layout = Layout(outputs)
    folder = outputs / "reproduce" / "runs"
    if divided:
        layout = Layout(folder / _slug(divided), made_by=made_by, home=outputs)
    if deep:
        name = _slug([*divided, *deep])
        layout = Layout(folder / name, layout, ("split", "precompute"), made_by)
    if shallow:
        layout = Layout(folder / _slug(sets), layout, ("split", "precompute", "train"), made_by)
    return layout


def _slug(sets: Sequence[str]) -> str:
    """Return a folder name that people can read and no two changes share."""
    text = "_".join(s.removeprefix("methods.").replace("=", "-") for s in sets)
    plain = "".join(c if c.isalnum() or c in "._-" else "-" for c in text)
    return f"{plain[:60]}-{hashlib.sha256(' '.join(sets).encode()).hexdigest()[:8]}"


def measured_table(
    target: str,
    base: Context,
    contexts: Contexts,
    client: Client | None = None,
) -> Table:
    """Run what is missing of a table and return it.

    Args:
        base: names the data sets and seeds; those whose raw data is not there are listed, never
            left out.
        contexts: of every row, by its method and changed parameters.
        client: of the Dask cluster that does the work; None: this process.
    """
    run = base.params.section(RunParams)
    there = [dataset for dataset in run.datasets if is_there(base, dataset)]
    walk.features(base, *there, client=client)
    rows = published.rows(target)
    planned = [(r, d, s) for d in there for r in rows if r.concerns(d) for s in run.seeds]
    if client is None:
        _run_here(base, contexts, planned)
    else:
        _run_on_cluster(contexts, planned, client)
    records = _records(target, run.datasets, there, run.seeds, base.layout.root)
    lines = reproduction.conditions(target, records, _facts(base.params, run.seeds))
    return Table(target, records, lines, _figures(target, records, base.params))


def _run_here(base: Context, contexts: Contexts, planned: Sequence[Planned]) -> None:
    """Make the runs one after the other, and say how many are left."""
    countdown = Countdown(base.tell, len(planned))
    for row, dataset, seed in planned:
        countdown.begin(f"{row.row}, {dataset}, seed {seed}")
        context = contexts[row.method, row.sets]
        if _is_divided(row.sets):
            walk.features(context, dataset)
        countdown.end(walk.one_run(context, (dataset, row.method, seed)))


def _run_on_cluster(contexts: Contexts, planned: Sequence[Planned], client: Client) -> None:
    """Make the runs of one method and its changes after those of the other, all data sets and
    seeds at once.
    """
    together: dict[tuple[str, tuple[str, ...]], dict[walk.Run, None]] = {}
    for row, dataset, seed in planned:
        of_row = together.setdefault((row.method, row.sets), {})
        of_row[dataset, row.method, seed] = None
    for (method, sets), wanted in together.items():
        context = contexts[method, sets]
        if _is_divided(sets):
            datasets = dict.fromkeys(dataset for dataset, _, _ in wanted)
            walk.features(context, *datasets, client=client)
        walk.on_cluster(context, client, list(wanted))


def _is_divided(sets: Sequence[str]) -> bool:
    """Tell whether a row changes the split, and so has features of its own."""
    return any(name.startswith(DIVIDED) for name in sets)


def _figures(target: str, records: Sequence[Record], params: Params) -> dict[str, bytes]:
    """Return the sensitivity figures of the sweeps; other tables have none."""
    if target != "sweeps":
        return {}
    usual: dict[str, object] = {}
    for name in sweep_figure.KNOBS.values():
        section, _, key = name.rpartition(".")
        usual[name] = atomic_files.strict(params.plain(section))[key]
    return sweep_figure.files(records, usual)


def _records(
    target: str, wanted: Sequence[str], there: Sequence[str], seeds: Sequence[int], outputs: Path
) -> list[Record]:
    out: list[Record] = []
    unchanged: dict[str, float] = {}  # AA of a data set's first row, which a sweep varies
    absent = [dataset for dataset in wanted if dataset not in there]
    for row in published.rows(target):
        measured = [_row_records(row, d, seeds, outputs) for d in there if row.concerns(d)]
        missing = [
            record_of(row, d, m, missing=True)
            for d in absent
            if row.concerns(d)
            for m in METRICS[target]
        ]
        own = [*itertools.chain(*measured), *missing]
        if target == "sweeps":
            _against_first(own, unchanged)
        out += [*own, *_averages(own, target)]
    return out


def _row_records(
    row: PublishedRow, dataset: str, seeds: Sequence[int], outputs: Path
) -> list[Record]:
    """Return the cells of one row and data set."""
    ours, digests = _measured(row, dataset, seeds, outputs)
    run = (layout_of(outputs, row.sets), dataset, row.method, seeds)
    times = {f"{stage}_cpu_s": run_seconds.mean(*run, stage) for stage in run_seconds.STAGES}
    found = []
    for metric in METRICS[row.table]:
        legacy = ours.get(f"legacy_{metric}", NOTHING)
        value, std = ours.get(metric, NOTHING)
        record = record_of(row, dataset, metric, value, std, legacy=legacy, runs=len(seeds))
        record["validation"] = ours.get(f"validation_{metric}", NOTHING)[0]
        found.append({**record, **times, "seeds": list(seeds), "sha256": digests})
    return found


def _against_first(records: Sequence[Record], unchanged: dict[str, float]) -> None:
    """Set a sweep's differences: against the first row of the same data set."""
    for record in records:
        if record["ours"] is not None:
            value = float(str(record["ours"]))
            record["difference"] = value - unchanged.setdefault(str(record["dataset"]), value)


def _averages(records: Sequence[Record], target: str) -> list[Record]:
    """Return the means over the data sets of one row of a table that prints such a mean."""
    found = []
    for metric in AVERAGED.get(target, ()):
        own = [r for r in records if r["metric"] == metric and r["verdict"] != "no data"]
        ours = _mean_of(own, "ours")
        if len(own) > 1 and ours is not None:
            mean: Record = {**own[0], **dict.fromkeys(NOT_OF_A_MEAN), "ours": ours, "sha256": []}
            mean |= {"dataset": f"mean of {len(own)}", "verdict": "mean", "explanation": ""}
            printed = _mean_of(own, "paper")
            if printed is not None:
                mean |= {"paper": printed, "difference": ours - printed}
            found.append(mean)
    return found


def _mean_of(records: Sequence[Record], key: str) -> float | None:
    """Return the mean of a key, or None where a record lacks it."""
    values = [r[key] for r in records]
    if None in values or not values:
        return None
    return statistics.fmean(float(str(value)) for value in values)


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
) -> tuple[dict[str, Value], list[str]]:
    """Return metric -> mean and deviation over seeds, in per cent; and the hashes of the
    evaluations, in the order of the seeds.
    """
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
    return found, merged.sha256


def record_of(
    row: PublishedRow,
    dataset: str,
    metric: str,
    value: float | None = None,
    std: float = 0.0,
    *,
    missing: bool = False,
    legacy: Value = NOTHING,
    runs: int = 1,
) -> Record:
    """Return a cell with its verdict.

    Args:
        value, std: ours, in the unit of the printed number; the deviation over `runs` seeds.
        missing: the data set is not at hand.
        legacy: AF as the released test pass has it.
    """
    printed = row.cells.get((dataset, metric))
    entry = row.explanation(dataset, metric)
    if entry is None and published.verdict(printed, *legacy, runs, metric, None) in NEAR:
        entry = LEGACY  # the printed AF is that of the final model in place of every stage's
    verdict = "no data"
    if not missing:
        verdict = published.verdict(printed, value, std, runs, metric, entry)
        if row.table in IMPLIED:
            verdict = AS_IMPLIED.get(verdict, verdict)
    explained = ""
    if verdict == "not reproduced":
        entry = row.trials(dataset, metric)
    if verdict in ("explained", "not reproduced") and entry is not None:
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
        "paper_std_assumed": getattr(printed, "assumed", False),
        "paper_decimals": getattr(printed, "decimals", None),
        "ours": value,
        "ours_std": std,
        "verdict": verdict,
        "explanation": explained,
        "difference": None,
        "legacy_af": legacy[0],
        "seeds": [],
        "sha256": [],
    }
    if printed is not None and value is not None:
        record["difference"] = value - printed.value
    return record
