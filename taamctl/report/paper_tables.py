"""Tables for papers, as LaTeX (booktabs) and Markdown: methods down, data sets across; the best of
a column bold, the second underlined; protocol and scope in the notes. Pure functions.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from taamctl.report.findings import SCOPES
from taamctl.report.leading import Leading
from taamctl.report.report_rows import SeedsRow
from taamctl.report.report_tables import markdown_rows, percent

MARKS = ("plain", "best", "second")
LATEX = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{c: f"\\{c}" for c in "&%$#_{}"},
    "–": "--",
    "±": r"$\pm$",
}
GIVEN = "told the task: a reference, not compared"


@dataclass(frozen=True)
class Value:
    """One number: a fraction with its deviation over seeds and its interval over test nodes, None
    where there is none. compared: it takes part in best and second.
    """

    mean: float | None
    std: float | None = None
    low: float | None = None
    high: float | None = None
    compared: bool = True


Values = dict[tuple[str, str, str], Value]  # (method, data set, metric) -> value


@dataclass(frozen=True)
class PaperTable:
    """One table.

    Attributes:
        name: for its label. columns: names. most: whether the largest of a column is best.
        lines: a method's name and its values, None where it did not run.
    """

    name: str
    caption: str
    columns: tuple[str, ...]
    most: tuple[bool, ...]
    lines: tuple[tuple[str, tuple[Value | None, ...]], ...]
    notes: tuple[str, ...]


def tables(rows: Sequence[SeedsRow], leading: Sequence[Leading]) -> list[PaperTable]:
    """Return the tables: on one mixed graph, where a lens has it, and on graphs of one task.

    Args:
        rows: over seeds, in one logit scope.
    """
    found = []
    if leading:
        found.append(_mixed(leading))
    if rows:
        found.append(_grouped(rows))
    return found


def _grouped(rows: Sequence[SeedsRow]) -> PaperTable:
    values: Values = {}
    for row in rows:
        compared = row.task_id_kind != "given" and row.aa_defined
        aa, std = row.spread("aa")
        af, af_std = row.spread("af")
        who = _unique(row.label, row.dataset, values, "AA")
        values[who, row.dataset, "AA"] = Value(aa, std, row.aa_low, row.aa_high, compared)
        values[who, row.dataset, "AF"] = Value(af, af_std, compared=compared)
    scope = SCOPES[rows[0].scope]
    notes = (
        f"Grouped protocol: a graph holds one task's nodes, one task-ID decision per "
        f"{rows[0].unit}; a node is judged {scope} (logit scope {rows[0].scope}).",
        f"{rows[0].averaging.capitalize()} accuracy on the test part. Split: {rows[0].split}.",
        _seeds([seed for row in rows for seed in row.seeds]),
    )
    return _table("grouped", "Average accuracy (AA) and forgetting (AF), per cent.", values, notes)


def _mixed(leading: Sequence[Leading]) -> PaperTable:
    values: Values = {}
    for each in leading:
        std = each.std if len(each.seeds) > 1 else None
        who = _unique(each.label, each.dataset, values, "AA")
        values[who, each.dataset, "AA"] = Value(each.aa, std, each.low, each.high, not each.told)
    notes = (
        "Mixed protocol: all tasks' test nodes in one graph, a decision for every node, nobody "
        "tells the task. The routing is chosen on validation nodes.",
        "Balanced accuracy on the test part, each method in its own logit scope.",
        _seeds([seed for each in leading for seed in each.seeds]),
    )
    return _table("mixed", "Average accuracy (AA) on one mixed graph, per cent.", values, notes)


def _unique(name: str, dataset: str, values: Values, metric: str) -> str:
    """Return a name that the data set has not yet: rows are numbered that differ in nothing that
    can be set, such as the device.
    """
    found, count = name, 1
    while (found, dataset, metric) in values:
        count += 1
        found = f"{name} #{count}"
    return found


def _seeds(seeds: Sequence[int]) -> str:
    return (
        f"Mean and population standard deviation over seeds {', '.join(map(str, sorted({*seeds})))}"
        "; in brackets the 95 % interval that the number of test nodes leaves open. Best in bold, "
        f"second underlined; no mark: {GIVEN}, or not defined."
    )


def _table(name: str, caption: str, values: Values, notes: tuple[str, ...]) -> PaperTable:
    datasets = sorted({dataset for _, dataset, _ in values})
    metrics = [metric for metric in ("AA", "AF") if any(key[2] == metric for key in values)]
    places = [(dataset, metric) for dataset in datasets for metric in metrics]
    methods = dict.fromkeys(method for method, _, _ in values)
    return PaperTable(
        name,
        caption,
        tuple(f"{dataset} {metric}" for dataset, metric in places),
        tuple(metric == "AA" for _, metric in places),
        tuple((who, tuple(values.get((who, *place)) for place in places)) for who in methods),
        notes,
    )


def marks(table: PaperTable, decimals: int) -> list[list[str]]:
    """Return `best`, `second` or `plain` for every value, as it is printed: what prints alike is
    marked alike.
    """
    out = [["plain"] * len(table.columns) for _ in table.lines]
    for column, most in enumerate(table.most):
        shown = {}
        for line, (_, values) in enumerate(table.lines):
            value = values[column]
            if value is not None and value.compared and value.mean is not None:
                shown[line] = round(100 * value.mean, decimals) + 0.0
        ordered = sorted(set(shown.values()), reverse=most)
        for line, number in shown.items():
            place = ordered.index(number) + 1
            if place < len(MARKS):
                out[line][column] = MARKS[place]
    return out


def _cell(value: Value | None, decimals: int, mark: Callable[[str], str]) -> str:
    if value is None or value.mean is None:
        return "–"
    text = mark(percent(value.mean, None, decimals))
    if value.std is not None:
        text += f" ± {100 * value.std:.{decimals}f}"
    if value.low is not None and value.high is not None:
        low, high = (percent(end, None, decimals) for end in (value.low, value.high))
        text += f" [{low}, {high}]"
    return text


def markdown(found: Sequence[PaperTable], decimals: int) -> str:
    """Return the tables as Markdown."""
    mark: dict[str, Callable[[str], str]] = {
        "plain": str,
        "best": "**{}**".format,
        "second": "<u>{}</u>".format,
    }
    out = []
    for table in found:
        named = zip(table.lines, marks(table, decimals), strict=True)
        lines = [
            (
                _plain_cell(who),
                *(_cell(v, decimals, mark[m]) for v, m in zip(values, kinds, strict=True)),
            )
            for (who, values), kinds in named
        ]
        columns = ("method", *map(_plain_cell, table.columns))
        out += [f"**{table.caption}**", "", *markdown_rows(columns, lines), "", *table.notes, ""]
    return "\n".join(out)


def _plain_cell(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def latex(found: Sequence[PaperTable], decimals: int) -> str:
    """Return the tables as LaTeX for the packages booktabs and threeparttable."""
    return "% needs: \\usepackage{booktabs,threeparttable}\n" + "\n".join(
        _latex(table, decimals) for table in found
    )


def _latex(table: PaperTable, decimals: int) -> str:
    mark: dict[str, Callable[[str], str]] = {
        "plain": str,
        "best": lambda text: f"\\textbf{{{text}}}",
        "second": lambda text: f"\\underline{{{text}}}",
    }
    lines = []
    for (who, values), kinds in zip(table.lines, marks(table, decimals), strict=True):
        cells = [_cell(v, decimals, mark[m]) for v, m in zip(values, kinds, strict=True)]
        shown = [cell.replace("–", "--").replace("±", r"$\pm$") for cell in cells]
        lines.append(" & ".join([escaped(who), *shown]) + r" \\")
    head = " & ".join(["method", *map(escaped, table.columns)]) + r" \\"
    return "\n".join(
        [
            r"\begin{table}",
            r"\centering",
            r"\begin{threeparttable}",
            rf"\caption{{{escaped(table.caption)}}}",
            rf"\label{{tab:{table.name}}}",
            rf"\begin{{tabular}}{{l{'r' * len(table.columns)}}}",
            r"\toprule",
            head,
            r"\midrule",
            *lines,
            r"\bottomrule",
            r"\end{tabular}",
            r"\begin{tablenotes}\footnotesize",
            *(rf"\item {escaped(note)}" for note in table.notes),
            r"\end{tablenotes}",
            r"\end{threeparttable}",
            r"\end{table}",
            "",
        ]
    )


def escaped(text: str) -> str:
    """Return text as LaTeX prints it."""
    return "".join(LATEX.get(c, c) for c in " ".join(text.split()))
