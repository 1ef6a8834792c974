"""Rows as a terminal table, Markdown, CSV and JSON.

Per cent appears only here, and always with its conditions.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

from taamctl.core.plain_values import canonical
from taamctl.core.types import SCOPES
from taamctl.params.params_file import PACKAGED, read

Row = Mapping[str, Any]
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


def percent(mean: float | None, std: float | None, decimals: int) -> str:
    """Return `96.2 ± 0.4`; a dash where there is no value; no deviation where there is one seed."""
    if mean is None:
        return "–"
    text = (
        f"{round(100 * mean, decimals) + 0.0:.{decimals}f}"  # + 0.0 turns a negative zero into zero
    )
    return text if std is None else f"{text} ± {100 * std:.{decimals}f}"


def cells(row: Row, decimals: int) -> tuple[str, ...]:
    """Return a row's cells, in the order of `COLUMNS`; `*` marks an AA that test graphs of one
    class take part in.
    """
    several = len(row["seeds"]) > 1
    values = [
        percent(row[m], row[f"{m}_std"] if several else None, decimals)
        for m in ("aa", "af", "task_id_accuracy")
    ]
    values[0] += "*" if row.get("one_class_tasks") else ""
    name = f"{row['method']} ({row['profile']})" if row["profile"] else row["method"]
    seeds = ",".join(map(str, row["seeds"]))
    return (
        row["dataset"],
        name,
        *values,
        row["task_id"],
        row["scope"],
        seeds,
        f"{row['parameters']['extra_paper'] / 1e6:.4f}",
    )


def scope_cells(row: Row, decimals: int) -> tuple[str, ...]:
    """Return data set, method, and AA within every logit scope, in the order of `SCOPES`."""
    several = len(row["seeds"]) > 1
    mark = "*" if row.get("one_class_tasks") else ""
    found = [
        percent(row[f"aa_{s}"], row[f"aa_{s}_std"] if several else None, decimals) + mark
        for s in SCOPES
    ]
    return (row["dataset"], cells(row, decimals)[1], *found)


def conditions(rows: Sequence[Row]) -> list[str]:
    """Return the sentences that every table carries: what its numbers mean and under which
    protocol.
    """
    facts = {
        key: sorted({str(r[key]) for r in rows})
        for key in ("unit", "protocol", "averaging", "split", "part")
    }
    lines = [
        f"Per cent on the {'/'.join(facts['part'])} part; {'/'.join(facts['averaging'])} accuracy; "
        f"{'/'.join(facts['protocol'])} protocol; one task-ID decision per "
        f"{'/'.join(facts['unit'])}.",
        f"Split: {'; '.join(facts['split'])}. ± is the population standard deviation over seeds.",
    ]
    if any(r["aa"] is None or r["af"] is None for r in rows):
        lines.append("– : not defined (a method trained only at the last stage has no forgetting).")
    lines.append(
        "cost M: additional float32 words in millions, by the papers' rule (parameters and stored "
        "rows; prototypes left out)."
    )
    if len({r["scope"] for r in rows}) > 1:
        lines.append(
            "The rows' scopes differ: a narrower scope is an easier task. Compare within one (AA "
            "by logit scope in report.md)."
        )
    if any(r["task_id_kind"] == "inferred" for r in rows):
        lines.append(
            "Every query graph holds one task's nodes, which is what makes a graph-level task ID "
            "easy."
        )
    lines += _one_class(rows)
    return (
        lines
        + warnings(rows)
        + differences(rows)
        + sorted({f"{r['dataset']}: {flag}" for r in rows for flag in r["flags"]})
    )


def _one_class(rows: Sequence[Row]) -> list[str]:
    """Say which data sets have test graphs of one class, and what AA is there."""
    alone = {(r["dataset"], tuple(r["one_class_tasks"])) for r in rows if r.get("one_class_tasks")}
    return [
        f"*: not a meaningful AA: {dataset} has test graphs of one class (task "
        f"{', '.join(map(str, tasks))}), where it is task-ID accuracy (task_only) or one class's "
        "recall, not how well classes are told apart."
        for dataset, tasks in sorted(alone)
    ]


def warnings(rows: Sequence[Row]) -> list[str]:
    """Return why task IDs should not be trusted, each once with the methods that it holds for,
    and what to set instead.
    """
    methods: dict[tuple[str, str], list[str]] = {}
    for row in rows:
        for line in row.get("doubts", ()):
            methods.setdefault((row["dataset"], line), []).append(row["method"])
    return [
        f"warning: {dataset} ({', '.join(dict.fromkeys(names))}): {line}"
        for (dataset, line), names in methods.items()
    ]


def differences(rows: Sequence[Row]) -> list[str]:
    """Say in which parameters rows of one data set and method differ."""
    out = []
    for dataset, method in sorted({(r["dataset"], r["method"]) for r in rows}):
        flat = [
            _flat(r["settings"]) for r in rows if (r["dataset"], r["method"]) == (dataset, method)
        ]
        for key in sorted({k for f in flat for k in f}):
            values = [f.get(key) for f in flat]
            if any(v != values[0] for v in values):
                out.append(
                    f"{dataset} {method}: rows differ, top to bottom, in {key}: "
                    f"{', '.join(map(str, values))}."
                )
    return out


def _flat(tree: Mapping[str, Any], prefix: str = "") -> dict[str, Any]:
    out: dict[str, Any] = {}
    for key, value in tree.items():
        out |= (
            _flat(value, f"{prefix}{key}.")
            if isinstance(value, Mapping)
            else {f"{prefix}{key}": value}
        )
    return out


def markdown(rows: Sequence[Row], decimals: int) -> str:
    """Return the report as Markdown, with provenance below the table."""
    out = ["# taamctl report", "", "| " + " | ".join(COLUMNS) + " |", "|" + "---|" * len(COLUMNS)]
    out += ["| " + " | ".join(cells(row, decimals)) + " |" for row in rows]
    out += [
        "",
        *conditions(rows),
        "",
        "## AA by logit scope",
        "",
        "| dataset | method | all_seen | up_to_task | task_only |",
        "|---|---|---|---|---|",
    ]
    out += ["| " + " | ".join(scope_cells(row, decimals)) + " |" for row in rows]
    out += ["", "## Provenance", ""]
    for row in rows:
        digests = ", ".join(d[:12] for d in row["sha256"])
        out.append(
            f"- {row['dataset']} {row['method']}: `{command(row)}`, eval.json sha256 {digests}"
        )
    return "\n".join(out) + "\n"


def command(row: Row) -> str:
    """Return the command line that makes a row."""
    changed = "".join(f" --set '{change}'" for change in changes(row))
    return (
        f"taamctl run --dataset {row['dataset']} --method {row['method']} "
        + " ".join(f"--seed {s}" for s in row["seeds"])
        + changed
    )


def changes(row: Row) -> list[str]:
    """Return what distinguishes a row's parameters from the packaged ones, as `--set` takes it.

    Left out are values that a stage resolves itself: the device, and the feature normalisation of
    the data set.
    """
    packaged, settings = canonical(read(PACKAGED)), row["settings"]
    made = {
        "split": settings.get("split"),
        "infer": settings.get("infer"),
        "precompute": settings.get("precompute"),
        "train": settings["train"].get("train"),
        f"datasets.{row['dataset']}": settings.get("dataset"),
        f"methods.{row['method']}": settings["train"].get("method"),
    }
    out = []
    for section, values in made.items():
        kind, _, name = section.partition(".")
        usual = packaged[kind].get(name, {}) if name else packaged[kind]
        out += [
            f"{section}.{key}={json.dumps(value).replace(chr(34), '')}"
            for key, value in (values or {}).items()
            if value != usual.get(key) and key not in ("device", "feature_norm")
        ]
    return out


def comma_separated(rows: Sequence[Row]) -> str:
    """Return the rows as CSV, accuracies as unrounded fractions."""
    names = [
        k
        for k in rows[0]
        if k
        not in (
            "matrix",
            "parameters",
            "flags",
            "sha256",
            "seeds",
            "settings",
            "doubts",
            "one_class_tasks",
        )
    ]
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow([*names, "seeds", "extra_paper", "extra_full", "flags", "settings", "sha256"])
    for row in rows:
        writer.writerow(
            [
                *(_plain(row[k]) for k in names),
                " ".join(map(str, row["seeds"])),
                row["parameters"]["extra_paper"],
                row["parameters"]["extra_full"],
                "; ".join([*row["flags"], *_one_class([row]), *row.get("doubts", ())]),
                json.dumps(row["settings"], sort_keys=True),
                " ".join(row["sha256"]),
            ]
        )
    return buffer.getvalue()


def _plain(value: Any) -> Any:
    return "" if value is None else repr(value) if isinstance(value, float) else value
