"""Rows as a terminal table, Markdown, CSV and JSON.

Per cent appears only here, and always with its conditions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields

from taamctl.core.types import SCOPES
from taamctl.report import caveats, claims, findings, same_scope, setting_names
from taamctl.report.leading import Leading
from taamctl.report.report_rows import RunRow, SeedsRow
from taamctl.report.report_tables import csv_text, markdown_rows, percent

COLUMNS = (
    "dataset",
    "method",
    "AA %",
    "AF %",
    "task-ID %",
    "task-ID by",
    "scope",
    "seeds",
    "cost M",
)


OWN_SCOPE = "AA % in its own scope"
SCOPE_COLUMNS = ("dataset", "method", *SCOPES)
MIXED_COLUMNS = ("dataset", "method", "AA % mixed", "task-ID by", "seeds")
# not in the CSV, or in its last columns
APART = {
    *("matrix", "parameters", "flags", "sha256", "apart"),
    *("seeds", "settings", "doubts", "instead", "one_class_tasks", "thin_classes"),
}


def cells(row: SeedsRow, decimals: int) -> tuple[str, ...]:
    """Return a row's cells, in the order of `COLUMNS`."""
    return (
        row.dataset,
        row.name,
        caveats.aa_cell(row, decimals),
        percent(*row.spread("af"), decimals) + caveats.mark(row),
        percent(*row.spread("task_id_accuracy"), decimals),
        row.task_id,
        row.scope,
        ",".join(map(str, row.seeds)),
        f"{row.parameters.extra_paper / 1e6:.4f}",
    )


def table(rows: Sequence[SeedsRow], decimals: int) -> tuple[tuple[str, ...], list[tuple[str, ...]]]:
    """Return the names of the columns and the lines of the main table.

    Where a method's own scope is another than the one all rows are shown in, a column holds AA in
    that one, which is no part of the comparison.
    """
    lines = [cells(row, decimals) for row in rows]
    if not same_scope.is_another(rows):
        return COLUMNS, lines
    own = [f"{percent(*_own(row), decimals)}{caveats.mark(row)} {row.own_scope}" for row in rows]
    return (*COLUMNS, OWN_SCOPE), [(*line, aa) for line, aa in zip(lines, own, strict=True)]


def _own(row: SeedsRow) -> tuple[float | None, float | None]:
    """Return AA in the method's own scope and its deviation."""
    return row.spread(row.own_aa)


def mixed_cells(each: Leading, decimals: int) -> tuple[str, ...]:
    """Return the cells of a method on one mixed graph, in the order of `MIXED_COLUMNS`."""
    std = each.std if len(each.seeds) > 1 else None
    aa = percent(each.aa, std, decimals) + caveats.interval(each.low, each.high, decimals)
    return each.dataset, each.name, aa, each.by, ",".join(map(str, each.seeds))


def scope_cells(row: SeedsRow, decimals: int) -> tuple[str, ...]:
    """Return data set, method, and AA within every logit scope, in the order of `SCOPES`."""
    found = [percent(*row.spread(f"aa_{s}"), decimals) + caveats.mark(row) for s in SCOPES]
    return (row.dataset, row.name, *found)


def shared(rows: Sequence[SeedsRow] | Sequence[RunRow], *names: str, by: str = "/") -> list[str]:
    """Return, per field, the values that occur in the rows, sorted and joined."""
    return [by.join(sorted({str(getattr(row, name)) for row in rows})) for name in names]


def conditions(rows: Sequence[SeedsRow]) -> list[str]:
    """Return the sentences that every table carries: what its numbers mean and under which
    protocol.
    """
    if not rows:
        return []
    part, averaging, protocol, unit = shared(rows, "part", "averaging", "protocol", "unit")
    (splits,) = shared(rows, "split", by="; ")
    lines = [
        f"Per cent on the {part} part; {averaging} accuracy; {protocol} protocol; "
        f"one task-ID decision per {unit}.",
        f"Split: {splits}. ± is the population standard deviation over seeds.",
    ]
    if any(r.aa is None or r.af is None for r in rows):
        why = claims.of_missing_forgetting(rows) or ["nothing was measured"]
        lines.append(f"– : not defined ({'; '.join(why)}).")
    lines.append(
        "cost M: additional float32 words in millions, by the papers' rule (parameters and stored "
        "rows; prototypes left out)."
    )
    if same_scope.is_another(rows):
        lines.append(
            f"Every row is judged in one scope, {rows[0].scope}, of one method as of many. The "
            "last column is AA in the scope that a method is used in: a narrower scope is an "
            "easier task, so that column is no ranking."
        )
    if len({r.scope for r in rows}) > 1:
        lines.append(
            "The rows' scopes differ: a narrower scope is an easier task. Compare within one (AA "
            "by logit scope in report.md)."
        )
    lines += claims.of_task_ids(rows)
    flags = sorted({f"{r.dataset}: {flag}" for r in rows for flag in r.flags})
    return [*lines, *caveats.sentences(rows), *warnings(rows), *differences(rows), *flags]


def warnings(rows: Sequence[SeedsRow]) -> list[str]:
    """Return why task IDs should not be trusted, each once with the methods that it holds for,
    and what to set instead.
    """
    found: dict[tuple[str, str], list[SeedsRow]] = {}
    for row in rows:
        for line in row.doubts:
            found.setdefault((row.dataset, line), []).append(row)
    return [
        f"warning: {dataset} ({', '.join(dict.fromkeys(row.method for row in members))}): {line}. "
        f"{_remedy(members)}"
        for (dataset, line), members in found.items()
    ]


def _remedy(rows: Sequence[SeedsRow]) -> str:
    """Return what to call instead."""
    able = [row for row in rows if row.instead]
    if able:
        return f"Run: {command(*_alike(able), instead=able[0].instead)}"
    first = rows[0]
    return (
        f"Route per node (taamctl eval --lens --dataset {first.dataset} --method {first.method} "
        f"--seed {first.seeds[0]}), or use a method that needs no task ID, such as analytic."
    )


def _alike(rows: Sequence[SeedsRow]) -> list[SeedsRow]:
    """Return the rows that one call makes: those with the first one's seeds and parameters."""
    first = rows[0]
    wanted = (first.instead, first.seeds, changes(first))
    return [row for row in rows if (row.instead, row.seeds, changes(row)) == wanted]


def differences(rows: Sequence[SeedsRow]) -> list[str]:
    """Say in which parameters rows of one data set and method differ."""
    out = []
    for dataset, method in sorted({(r.dataset, r.method) for r in rows}):
        same = [r for r in rows if (r.dataset, r.method) == (dataset, method)]
        flat = [dict(_leaves(r.settings)) for r in same]
        for key in sorted({key for settings in flat for key in settings}):
            values = [settings.get(key) for settings in flat]
            if any(value != values[0] for value in values):
                out.append(
                    f"{dataset} {method}: rows differ, top to bottom, in {key}: "
                    f"{', '.join(map(str, values))}."
                )
    return out


def _leaves(tree: Mapping[str, object], prefix: str = "") -> Iterator[tuple[str, object]]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        else:
            yield f"{prefix}{key}", value


def markdown(rows: Sequence[SeedsRow], decimals: int, leading: Sequence[Leading] = ()) -> str:
    """Return the report as Markdown, with provenance below the table; without a row its head."""
    if not rows:
        return "# taamctl report\n"
    mixed: list[str] = []
    if leading:
        lines = [mixed_cells(each, decimals) for each in leading]
        mixed = ["## One mixed graph", "", *markdown_rows(MIXED_COLUMNS, lines), ""]
    said = [
        f"{dataset}: {line}"
        for dataset in sorted({row.dataset for row in rows})
        for line in findings.of(rows, leading, dataset)
    ]
    sources = [
        f"- {row.dataset} {row.method}: `{command(row)}`, eval.json sha256 "
        + ", ".join(digest[:12] for digest in row.sha256)
        for row in rows
    ]
    out = [
        "# taamctl report",
        "",
        *(text for line in said for text in (line, "")),
        *mixed,
        *markdown_rows(*table(rows, decimals)),
        "",
        *conditions(rows),
        "",
        "## AA by logit scope",
        "",
        *markdown_rows(SCOPE_COLUMNS, [scope_cells(row, decimals) for row in rows]),
        "",
        "## Provenance",
        "",
        *sources,
    ]
    return "\n".join(out) + "\n"


def command(row: SeedsRow, *others: SeedsRow, instead: Sequence[str] = ()) -> str:
    """Return the command line that makes a row.

    Args:
        others: rows of other methods that differ in nothing else: they are made too.
        instead: parameters to set otherwise than the row has them, as `section.key=value`.
    """
    seeds = " ".join(f"--seed {seed}" for seed in row.seeds)
    replaced = {change.partition("=")[0] for change in instead}
    kept = [each for each in changes(row) if each.partition("=")[0] not in replaced]
    changed = "".join(f" --set '{change}'" for change in kept)
    changed += "".join(f" --set {change}" for change in instead)
    names = dict.fromkeys(each.method for each in (row, *others))
    methods = " ".join(f"--method {name}" for name in names)
    return f"taamctl run --dataset {row.dataset} {methods} {seeds}{changed}"


def changes(row: SeedsRow) -> list[str]:
    """Return what distinguishes a row's parameters from the packaged ones, as `--set` takes it."""
    return setting_names.changes(row.settings, row.dataset, row.method)


def comma_separated(rows: Sequence[SeedsRow]) -> str:
    """Return the rows as CSV, accuracies as unrounded fractions."""
    names = [each.name for each in fields(SeedsRow) if each.name not in APART]
    last = ("seeds", "extra_paper", "extra_full", "flags", "settings", "sha256")
    lines = [
        [
            *(getattr(row, name) for name in names),
            " ".join(map(str, row.seeds)),
            row.parameters.extra_paper,
            row.parameters.extra_full,
            "; ".join([*row.flags, *caveats.undefined([row]), *row.doubts]),
            json.dumps(row.settings, sort_keys=True),
            " ".join(row.sha256),
        ]
        for row in rows
    ]
    return csv_text([*names, *last], lines)
