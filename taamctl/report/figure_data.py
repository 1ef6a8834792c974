"""The numbers behind the figures: rows of one data set -> one table per figure, which the
picture shows and its CSV holds.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taamctl.evaluation.routing import ROUTINGS
from taamctl.report import caveats
from taamctl.report.leading import Leading
from taamctl.report.over_runs import mean_std
from taamctl.report.render import shared
from taamctl.report.report_rows import RunRow, SeedsRow
from taamctl.report.report_tables import csv_text

Record = dict[str, Any]  # one line of a table, by column


@dataclass(frozen=True)
class Evidence:
    """What the figures of one data set are drawn from.

    Attributes:
        rows: rows over seeds, all of one data set, in the order of the tables.
        runs: the single runs behind them, by the sha256 of their evaluation.
        seconds: wall seconds of training, by the same sha256; a run without a recorded time is left
            out.
        leading: the methods on one mixed graph, the best first; none where no lens has them.
    """

    rows: Sequence[SeedsRow]
    runs: Mapping[str, RunRow]
    seconds: Mapping[str, float]
    leading: Sequence[Leading] = ()

    @property
    def dataset(self) -> str:
        """The data set's name."""
        return self.rows[0].dataset

    @property
    def num_tasks(self) -> int:
        """The largest number of tasks of any row."""
        return max(len(row.matrix) for row in self.rows)


@dataclass(frozen=True)
class Table:
    """Named columns and lines of plain values; None where there is no value."""

    columns: tuple[str, ...]
    lines: tuple[tuple[object, ...], ...]

    def csv(self) -> str:
        """Return the table as CSV, numbers unrounded."""
        return csv_text(self.columns, self.lines)

    def records(self) -> list[Record]:
        """Return the lines as mappings from column name to value."""
        return [dict(zip(self.columns, line, strict=True)) for line in self.lines]


@dataclass(frozen=True)
class Kind:
    """One kind of figure.

    Attributes:
        title: what it shows, in a few words.
        note: how to read it, for the caption.
        table: Evidence -> its numbers.
        timed: it holds times, which differ from run to run.
    """

    title: str
    note: str
    table: Callable[[Evidence], Table]
    timed: bool = False


def labels(rows: Sequence[SeedsRow]) -> list[str]:
    """Return one name per row: title and profile, and what else tells rows of that name apart
    (scope, routing, a number); `*` at the end where AA is not defined.
    """
    out = [row.label for row in rows]
    if len({row.scope for row in rows}) > 1:
        out = [f"{label}, {row.scope}" for label, row in zip(out, rows, strict=True)]
    out = _told_apart(out, [row.method for row in rows])
    out = _told_apart(out, [row.task_id for row in rows])
    out = _numbered([printable(label) for label in out])
    return [label + caveats.mark(row) for label, row in zip(out, rows, strict=True)]


def _told_apart(labels: list[str], more: list[str]) -> list[str]:
    """Add what differs to labels that are alike."""
    found: dict[str, set[str]] = {}
    for label, value in zip(labels, more, strict=True):
        found.setdefault(label, set()).add(value)
    pairs = zip(labels, more, strict=True)
    return [f"{label}, {value}" if len(found[label]) > 1 else label for label, value in pairs]


def _numbered(labels: list[str]) -> list[str]:
    """Number the labels that are still alike."""
    often = Counter(labels)
    seen = Counter[str]()
    out = []
    for label in labels:
        seen[label] += 1
        out.append(f"{label} #{seen[label]}" if often[label] > 1 else label)
    return out


def printable(text: str) -> str:
    """Return a name as one line without control characters, which an SVG cannot hold."""
    return "".join(c if c.isprintable() else " " for c in text)


def conditions(rows: Sequence[SeedsRow]) -> str:
    """Return the conditions that the numbers of these rows were measured under."""
    averaging, protocol, unit = shared(rows, "averaging", "protocol", "unit")
    part, split, scope = shared(rows, "part", "split", "scope")
    seeds = sorted({tuple(row.seeds) for row in rows})
    over = "; ".join(",".join(map(str, s)) for s in seeds[:4]) + "; …" * (len(seeds) > 4)
    return (
        f"Conditions: {averaging} accuracy, {protocol} protocol, one task-ID decision per {unit}, "
        f"{part} part, logit scope {scope}; split {split}; mean over seeds {over}."
    )


def caption(kind: str, evidence: Evidence) -> str:
    """Return a figure's caption: what it shows, how to read it, and the protocol."""
    what = KINDS[kind]
    said = [f"{evidence.dataset}: {what.title}. {what.note} {conditions(evidence.rows)}"]
    return printable(" ".join([*said, *caveats.undefined(evidence.rows)]))


def matrices(evidence: Evidence) -> Table:
    """Return M[stage, task] of every row as fractions, mean over seeds; stages and tasks count
    from 1.
    """
    lines = [
        (*_who(row, label), stage + 1, task + 1, value)
        for row, label in _named(evidence)
        for stage, values in enumerate(row.matrix)
        for task, value in enumerate(values)
        if task <= stage
    ]
    return Table((*_WHO, "stage", "task", "accuracy"), tuple(lines))


def best(evidence: Evidence) -> Table:
    """Return AA and the ends of its interval for every method: on one mixed graph, where a lens
    has it, and on graphs of one task's nodes, as fractions; the best first.
    """
    lines: list[tuple[object, ...]] = [
        (
            "mixed",
            each.method,
            printable(each.label),
            each.by,
            each.aa,
            each.low,
            each.high,
            len(each.seeds),
        )
        for each in evidence.leading
        if not each.told
    ]
    known = [(row, label) for row, label in _named(evidence) if row.aa is not None]
    for row, label in sorted(known, key=lambda pair: -(pair[0].aa or 0.0)):
        span = (row.aa, row.aa_low, row.aa_high, len(row.seeds))
        lines.append(("grouped", row.method, label, row.task_id, *span))
    return Table(
        ("protocol", "method", "label", "task_id", "aa", "aa_low", "aa_high", "seeds"),
        tuple(lines),
    )


def curves(evidence: Evidence) -> Table:
    """Return AA after every task, mean and population standard deviation over seeds, as
    fractions.
    """
    lines = []
    for row, label in _named(evidence):
        for stage, values in enumerate(
            zip(*(run.aa_curve for run in _members(row, evidence)), strict=True)
        ):
            lines.append((*_who(row, label), stage + 1, *mean_std(list(values))))
    return Table((*_WHO, "stage", "aa", "aa_std"), tuple(lines))


def first_task(evidence: Evidence) -> Table:
    """Return, per row, M[T-1, T-1] (the last task, just learned) and M[T-1, 0] (the first task,
    at the end), as fractions.
    """
    lines = []
    for row, label in _named(evidence):
        ends = [run.matrix[-1] for run in _members(row, evidence)]
        lines.append(
            (
                *_who(row, label),
                *mean_std([end[-1] for end in ends]),
                *mean_std([end[0] for end in ends]),
            )
        )
    return Table(
        (*_WHO, "last_task", "last_task_std", "first_task", "first_task_std"), tuple(lines)
    )


def _summed_up(found: list[tuple[float, str]], without: float | None) -> tuple[object, ...]:
    """Return count, mean, lowest, highest and labels of rows; `without`: the value of the profiles
    alone, where there is no row.
    """
    values = [value for value, _ in found]
    if not values and without is not None:
        values = [without]
    names = "; ".join(label for _, label in found)
    low = min(values, default=None)
    return len(found), mean_std(values)[0], low, max(values, default=None), names


def task_ids(evidence: Evidence) -> Table:
    """Return task-ID accuracy per task profile and metric: of the rows that were routed so, else
    of the profiles alone.
    """
    grids = (row.task_id_grid for row in evidence.rows if row.task_id_grid)
    alone = next(grids, {})
    routed: dict[tuple[str, str], list[tuple[float, str]]] = {}
    for row, label in _named(evidence):
        if row.task_id_kind == "inferred" and row.task_id_accuracy is not None:
            profile, _, metric = row.task_id.partition("/")
            routed.setdefault((profile, metric), []).append((row.task_id_accuracy, label))
    known = [name.split("/") for name in ROUTINGS]
    profiles = dict.fromkeys([profile for profile, _ in known] + sorted(p for p, _ in routed))
    metrics = dict.fromkeys([metric for _, metric in known] + sorted(m for _, m in routed))
    lines: list[tuple[object, ...]] = []
    for profile, metric in itertools.product(profiles, metrics):
        found = routed.get((profile, metric), [])
        without = alone.get(f"{profile}/{metric}")
        lines.append((profile, metric, *_summed_up(found, without)))
    return Table(
        ("profile", "metric", "rows", "task_id_accuracy", "lowest", "highest", "labels"),
        tuple(lines),
    )


def times(evidence: Evidence) -> Table:
    """Return AA and wall seconds of training, mean and population standard deviation over the
    seeds; no seconds where one has none.
    """
    lines = []
    for row, label in _named(evidence):
        spent = mean_std([evidence.seconds.get(digest) for digest in row.sha256])
        lines.append((*_who(row, label), *spent, row.aa, row.aa_std))
    return Table((*_WHO, "train_seconds", "train_seconds_std", "aa", "aa_std"), tuple(lines))


def memory(evidence: Evidence) -> Table:
    """Return AA and the additional float32 words, by the papers' rule and in full."""
    lines = [
        (
            *_who(row, label),
            row.parameters.extra_paper,
            row.parameters.extra_full,
            row.aa,
            row.aa_std,
        )
        for row, label in _named(evidence)
    ]
    return Table((*_WHO, "extra_paper", "extra_full", "aa", "aa_std"), tuple(lines))


def growth(evidence: Evidence) -> Table:
    """Return the additional float32 words after every task: counted after the last one, an even
    share of that before.
    """
    lines = []
    for row, label in _named(evidence):
        total = row.parameters
        tasks = len(row.matrix)
        lines += [
            (
                *_who(row, label),
                task,
                total.extra_paper * task / tasks,
                total.extra_full * task / tasks,
                "yes" if task == tasks else "no",
            )
            for task in range(1, tasks + 1)
        ]
    return Table((*_WHO, "task", "extra_paper", "extra_full", "counted"), tuple(lines))


KINDS: dict[str, Kind] = {
    "best": Kind(
        "which method is best",
        "Mixed: all tasks' nodes in one graph, a decision for every node, nobody tells the task. "
        "Grouped: a graph holds one task's nodes. The scale begins near the lowest value. Bars: "
        "95 % interval that the number of test nodes leaves open.",
        best,
    ),
    "accuracy-matrix": Kind(
        "accuracy on each task after each stage",
        "One scale for all, from the ten below the lowest value; grey: no value.",
        matrices,
    ),
    "accuracy-curve": Kind(
        "average accuracy after each task",
        "Bands: ± one population standard deviation over seeds. A point alone: trained at that "
        "stage only.",
        curves,
    ),
    "first-task": Kind(
        "the first task kept against the last task learned",
        "Both after the last task. On the dashed line both are equal; below it the first task is "
        "worse. Bars: ± one population standard deviation over seeds.",
        first_task,
    ),
    "task-id": Kind(
        "task-ID accuracy by task profile and metric",
        "Share of right decisions after the last task; where rows of one cell differ, their mean "
        "and range; without a row, of the profiles alone.",
        task_ids,
    ),
    "accuracy-time": Kind(
        "accuracy against training time",
        "Wall seconds of training as the runs' sidecars record them: they hold for those machines "
        "and differ from run to run. A resumed training counts from its last start, and the first "
        "in a process loads the libraries too. Bars: ± one population standard deviation over "
        "seeds.",
        times,
        timed=True,
    ),
    "accuracy-memory": Kind(
        "accuracy against memory",
        "Additional float32 words after the last task. Papers' rule: parameters and stored rows; "
        "in full: prototypes and the rest too. Bars: ± one population standard deviation over "
        "seeds.",
        memory,
    ),
    "parameters": Kind(
        "additional words against tasks",
        "Points: float32 words counted after the last task. Lines: no counts; an even share of "
        "that total per task is assumed. Papers' rule: parameters and stored rows; in full: "
        "prototypes and the rest too.",
        growth,
    ),
}
SUFFIXES = ("png", "svg", "csv")


def files(dataset: str) -> list[str]:
    """Return the names of the files of a data set's figures."""
    return [f"{kind}-{dataset}.{suffix}" for kind in KINDS for suffix in SUFFIXES]


_WHO = ("method", "profile", "scope", "task_id", "label", "seeds")


def _named(evidence: Evidence) -> Iterable[tuple[SeedsRow, str]]:
    return zip(evidence.rows, labels(evidence.rows), strict=True)


def _who(row: SeedsRow, label: str) -> tuple[object, ...]:
    return row.method, row.profile, row.scope, row.task_id, label, len(row.seeds)


def _members(row: SeedsRow, evidence: Evidence) -> list[RunRow]:
    return [evidence.runs[digest] for digest in row.sha256]
