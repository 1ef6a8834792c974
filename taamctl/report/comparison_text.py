"""A comparison of methods as Markdown, CSV and terminal rows, and the sentences below it.

Per cent appears only here. Every table says what a pair is, which test was made, and what it cannot
say.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from taamctl.core.json_kinds import COMPARISON
from taamctl.core.types import SCOPES
from taamctl.evaluation import statistics
from taamctl.report import claims
from taamctl.report.caveats import UNDEFINED
from taamctl.report.render import shared
from taamctl.report.report_rows import RunRow
from taamctl.report.report_tables import csv_text, markdown_rows, percent
from taamctl.store import atomic_files

COLUMNS = (
    "dataset",
    "method",
    "AA %",
    "95 % interval",
    "AF %",
    "rank",
    "minus best",
    "scope",
    "verdict",
)
FIELDS = (
    "dataset",
    "method",
    "profile",
    "scope",
    "pairs",
    "aa",
    "aa_low",
    "aa_high",
    "af",
    "rank",
    "difference",
    "difference_low",
    "difference_high",
    "tested_pairs",
    "p",
    "p_holm",
    "verdict",
    "text",
)


def conditions(
    result: Mapping[str, Any], rows: Sequence[RunRow], flags: Sequence[str]
) -> list[str]:
    """Return the sentences below the table: what the numbers mean, what a pair is, which test
    was made.
    """
    part, averaging, protocol, unit = shared(rows, "part", "averaging", "protocol", "unit")
    # the rest, order and seed, is in the cells
    parts = sorted({r.split.partition(", ")[0] for r in rows})
    lines = [
        f"Per cent on the {part} part; {averaging} accuracy; {protocol} protocol; "
        f"one task-ID decision per {unit}.",
        _scope_line(result),
    ]
    lines += claims.of_task_ids(rows)
    lines.append(
        f"Split: {', '.join(parts)}. Class orders: {_listed(result['orders'])}; split seeds: "
        f"{_listed(result['splits'])}; seeds: {_listed(result['seeds'])}."
    )
    lines += [*_pair_lines(result), *_test_lines(result)]
    if any(
        m["af"] is None or m["aa_low"] is None for d in result["datasets"] for m in d["methods"]
    ):
        why = ["an interval of one pair", *claims.of_missing_forgetting(rows)]
        lines.append(f"– : not defined ({'; '.join(why)}).")
    lines += [
        f"*: not a meaningful AA: test graphs of {d['dataset']} hold one class, so its methods are "
        "not ranked. Compare them in one graph of all tasks: taamctl eval --lens."
        for d in result["datasets"]
        if not d["aa_defined"]
    ]
    return lines + list(flags)


def _listed(values: Sequence[Any]) -> str:
    return ", ".join(map(str, values))


def _scope_line(result: Mapping[str, Any]) -> str:
    scopes = sorted({m["scope"] for d in result["datasets"] for m in d["methods"]})
    if result["scope"] != "own" or len(scopes) == 1:
        return f"Logit scope of every row: {scopes[0]}."
    return (
        f"The rows' scopes differ ({', '.join(scopes)}): a narrower scope is an easier task, so a "
        "verdict across scopes compares the tasks too. Compare within one: --scope all_seen."
    )


def _pair_lines(result: Mapping[str, Any]) -> list[str]:
    n = len(result["datasets"][0]["pairs"])
    if result["pair"] == "seed":
        return [
            f"A pair is a seed ({n} per data set): one class order and one split were run, so "
            "nothing is said about others."
        ]
    return [
        f"A pair is one class order with one split ({n} per data set), seeds averaged: more seeds "
        "make no more pairs.",
        "Pairs of one data set share its nodes, so they are not quite independent and p is "
        "somewhat too small (Nadeau and Bengio, 2003).",
    ]


def _test_lines(result: Mapping[str, Any]) -> list[str]:
    n, fewest = len(result["datasets"][0]["pairs"]), result["datasets"][0]["fewest_pairs"]
    methods = len(result["datasets"][0]["methods"])
    count = methods * (methods - 1) // 2
    patterns = (
        f"all {2**n:,} sign patterns"
        if n <= statistics.EXACT_PAIRS
        else f"{statistics.DRAWS:,} sign patterns drawn"
    )
    family = (
        "for one comparison nothing to adjust"
        if count == 1
        else f"adjusted by Holm for the {count} comparisons of a data set"
    )
    lines = [
        "Intervals, also of minus best (the mean paired difference): 95 % t intervals over the "
        "pairs, not cut at 0 or 100.",
        f"Test: two-sided sign-flip permutation test of the mean paired difference ({patterns}), "
        f"{family}; worse: p < {statistics.LEVEL:g}.",
        "Not distinguishable does not mean equal: these pairs do not tell the two apart.",
    ]
    if n < fewest:
        lines.append(
            f"No difference can reach p < {statistics.LEVEL:g} here: {n} "
            f"{'pair' if n == 1 else 'pairs'}, {fewest} is the fewest. The interval of minus best "
            "assumes normal differences, which so few pairs cannot check."
        )
    if sum(d["aa_defined"] for d in result["datasets"]) > 1:
        lines.append(
            "Mean rank: over every (data set, class order, split), seeds averaged; 1 is the best, "
            "ties share. It is a summary: no test is made across data sets."
        )
    return lines


def cells(row: Mapping[str, Any], decimals: int) -> tuple[str, ...]:
    """Return the rendered cells of one method on one data set, in the order of `COLUMNS`."""
    name = f"{row['method']} ({row['profile']})" if row["profile"] else row["method"]
    minus = percent(row["difference"], None, decimals)
    if row["difference_low"] is not None:
        minus += f" ({_range(row['difference_low'], row['difference_high'], decimals)})"
    return (
        row["dataset"],
        name,
        percent(row["aa"], None, decimals) + UNDEFINED * (row["rank"] is None),
        _range(row["aa_low"], row["aa_high"], decimals),
        percent(row["af"], None, decimals),
        _rank(row["rank"]),
        minus,
        row["scope"],
        row["text"],
    )


def _rank(rank: float | None) -> str:
    return "–" if rank is None else f"{rank:.2f}"


def _range(low: float | None, high: float | None, decimals: int) -> str:
    return (
        "–" if low is None else f"{percent(low, None, decimals)} to {percent(high, None, decimals)}"
    )


def markdown(result: Mapping[str, Any], decimals: int) -> str:
    """Return the comparison as Markdown: verdicts, conditions, AA by scope, every comparison."""
    rows = [m for d in result["datasets"] for m in d["methods"]]
    out = [
        "# taamctl compare",
        "",
        *markdown_rows(COLUMNS, [cells(row, decimals) for row in rows]),
        "",
    ]
    if overall := overall_cells(result):
        out += [*markdown_rows(("method", "mean rank", "blocks"), overall), ""]
    out += [f"- {condition}" for condition in result["conditions"]]
    out += [
        "",
        "## AA by logit scope",
        "",
        *markdown_rows(
            ("dataset", "method", *SCOPES),
            [
                (
                    *cells(r, decimals)[:2],
                    *(percent(r["aa_by_scope"][s], None, decimals) for s in SCOPES),
                )
                for r in rows
            ],
        ),
    ]
    out += [
        "",
        "## All comparisons",
        "",
        *markdown_rows(
            ("dataset", "first", "second", "first minus second", "pairs", "p", "p (Holm)"),
            [
                (
                    d["dataset"],
                    c["first"],
                    c["second"],
                    percent(c["difference"]["mean"], None, decimals)
                    + f" ({_range(c['difference']['low'], c['difference']['high'], decimals)})",
                    str(c["pairs"]),
                    f"{c['p']:.4f}",
                    f"{c['p_holm']:.4f}",
                )
                for d in result["datasets"]
                for c in d["comparisons"]
            ],
        ),
    ]
    return "\n".join(
        [
            *out,
            "",
            f"The {len(result['runs'])} runs, each with the sha256 of its eval.json, are in "
            "compare.json.",
            "",
        ]
    )


def overall_cells(result: Mapping[str, Any]) -> list[tuple[str, ...]]:
    """Return method, mean rank and number of blocks over all data sets; nothing where there is
    one data set.
    """
    ranked = sum(d["aa_defined"] for d in result["datasets"])
    rows = result["overall"] if ranked > 1 else []
    return [(row["method"], f"{row['mean_rank']:.2f}", str(row["blocks"])) for row in rows]


def comma_separated(result: Mapping[str, Any]) -> str:
    """Return one CSV line per (data set, method), accuracies and differences as unrounded
    fractions.
    """
    rows = (m for d in result["datasets"] for m in d["methods"])
    return csv_text(FIELDS, [[row[name] for name in FIELDS] for row in rows])


def write(folder: Path, result: Mapping[str, Any], decimals: int) -> Path:
    """Write compare.json, compare.md and compare.csv atomically, and return the first."""
    atomic_files.write_json(folder / "compare.json", {**COMPARISON.stamp, **result})
    atomic_files.write_text(folder / "compare.md", markdown(result, decimals))
    atomic_files.write_text(folder / "compare.csv", comma_separated(result))
    return folder / "compare.json"
