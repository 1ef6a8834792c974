"""A reproduced table as Markdown, CSV, LaTeX and for the terminal: paper, ours, difference and
verdict in every cell.
"""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.report import published, run_seconds
from taamctl.report.report_tables import Record, csv_text, markdown_rows

COLUMNS = ("row", "data set", "metric", "paper", "ours", "difference", "verdict")
NAMES = {"aa": "AA %", "af": "AF %", "cost": "cost M", "id": "task ID %"}
KEYS = (
    "table",
    "row",
    "dataset",
    "metric",
    "paper",
    "paper_std",
    "paper_std_assumed",
    "ours",
    "ours_std",
    "difference",
    "verdict",
    "explanation",
    "legacy_af",
    "validation",
    "method",
    "set",
    "train_cpu_s",
    "infer_cpu_s",
    "seeds",
    "sha256",
)


def number(value: float | None, std: float | None, metric: str, digits: int | None = None) -> str:
    """Return a value with its deviation where it has one; a dash where there is none.

    Args:
        digits: decimals; None: four of a cost, else one.
    """
    if value is None:
        return "–"
    if digits is None:
        digits = 4 if metric == "cost" else 1
    return f"{round(value, digits) + 0.0:.{digits}f}" + (f" ± {std:.{digits}f}" if std else "")


def cells(record: Record) -> tuple[str, ...]:
    """Return a record's cells, in the order of `COLUMNS`; the AF of the released test pass
    stands beside the proper one, validation beside test.
    """
    metric = record["metric"]
    ours = number(record["ours"], record["ours_std"], metric)
    if record.get("legacy_af") is not None and record["verdict"] in (
        "explained",
        "close",
        "not reproduced",
    ):
        ours += f" (legacy {record['legacy_af']:.1f})"
    if record.get("validation") is not None:
        ours += f" (val {record['validation']:.1f})"
    change = record["difference"]
    shown = "–" if change is None else f"{change:+.{4 if metric == 'cost' else 1}f}"
    entry = record["explanation"].split(" ", 1)[0]
    verdict = record["verdict"] + (f" {entry}" if entry else "")
    return (
        record["row"],
        record["dataset"],
        NAMES[metric],
        _printed(record),
        ours,
        shown,
        verdict,
    )


def _printed(record: Record) -> str:
    """Return the printed number to its printed digits; a deviation that stands in is not shown."""
    std = record["paper_std"]
    if record.get("paper_std_assumed"):
        std = None
    return number(record["paper"], std, record["metric"], record.get("paper_decimals"))


def _what_counts(target: str) -> list[str]:
    """Return what the verdicts of a table mean."""
    if target == "sweeps":
        return [
            "Nothing is printed for these; difference = against TAAM with no parameter changed."
        ]
    if target == "taskid":
        return [
            "Nothing is printed: under `paper` stands what the printed AA and AF of TAAM and TPP "
            f"imply. as implied: within {published.ERRORS:g} standard errors of the difference. "
            "Difference = ours - implied."
        ]
    lines = [
        f"reproduced: within {published.ERRORS:g} standard errors of the difference and half a "
        f"printed digit, at most {published.WIDEST:g} points; a cost to the printed digits. "
        "explained: differs, and the numbered entry of the register accounts for it. close: "
        f"differs by no more than {published.CLOSE:g} points, which no spread explains. not "
        "reproduced: where an entry is numbered, it says what was tried. Difference = ours - "
        "paper.",
        f"Standard errors take {published.RUNS} runs behind a printed deviation, whose number the "
        "paper does not give. Deviations of printed AF are not on file: that of the accuracy in "
        "the same cell stands in.",
    ]
    return lines[:1] if target == "params" else lines


def conditions(target: str, records: Sequence[Record], facts: Sequence[str]) -> list[str]:
    """Return the sentences below a table: what counts as reproduced, the protocol, what is missing,
    and the entries cited.

    Args:
        facts: sentences on protocol and parameters that the caller knows.
    """
    lines = _what_counts(target)
    if any(r.get("validation") is not None for r in records):
        lines.append("val: the share of validation graphs whose task ID is right, beside test.")
    if any(r.get("legacy_af") is not None for r in records):
        lines.append(
            "legacy: AF as the released test pass computes it, with the final model in place of "
            "every stage's; an AF that differs is explained by it where it is reproduced or close."
        )
    lines += facts
    absent = sorted({r["dataset"] for r in records if r["verdict"] == "no data"})
    if absent:
        what = (
            "class sizes are not on file"
            if target == "params"
            else "no raw data found (taamctl data fetch NAME)"
        )
        lines.append(f"no data: {', '.join(absent)}: {what}.")
    return lines + sorted(
        {r["explanation"] for r in records if r["explanation"]},
        key=lambda t: int(t[1:].split("]")[0]),
    )


def counts(records: Sequence[Record]) -> str:
    """Return how many cells have which verdict, in words."""
    verdicts = (
        "reproduced",
        "explained",
        "close",
        "not reproduced",
        "not printed",
        "as implied",
        "close to what is implied",
        "not as implied",
        "mean",
        "no data",
        "not defined",
    )
    found = {v: sum(r["verdict"] == v for r in records) for v in verdicts}
    return ", ".join(f"{n} {v}" for v, n in found.items() if n) or "no cells"


def markdown(target: str, records: Sequence[Record], lines: Sequence[str], command: str) -> str:
    """Return the table as Markdown, with its conditions and the command that makes it."""
    out = [
        f"# {published.title(target)}",
        "",
        f"`{command}`: {counts(records)}.",
        "",
        *markdown_rows(COLUMNS, [cells(r) for r in records]),
    ]
    out += ["", *(f"- {line}" for line in lines)]
    times = run_seconds.markdown(records)
    if times:
        out += ["", *times]
    return "\n".join(out) + "\n"


def comma_separated(records: Sequence[Record]) -> str:
    """Return the records as CSV, unrounded."""
    lists = {"set", "seeds", "sha256"}
    lines = [
        [" ".join(map(str, r.get(k) or [])) if k in lists else r.get(k) for k in KEYS]
        for r in records
    ]
    return csv_text(KEYS, lines)


def latex(target: str, records: Sequence[Record], lines: Sequence[str]) -> str:
    """Return the table as LaTeX (booktabs), rows by data sets: ours, and the printed value below
    it in small type.
    """
    datasets = list(dict.fromkeys(r["dataset"] for r in records))
    named = {(r["row"], r["dataset"], r["metric"]): r for r in records}
    out = [rf"% {line}" for line in lines]
    out += [
        rf"\begin{{tabular}}{{ll{'r' * len(datasets)}}}",
        r"\toprule",
        " & ".join(["row", "", *map(_escaped, datasets)]) + r" \\",
        r"\midrule",
    ]
    for row, metric in dict.fromkeys((r["row"], r["metric"]) for r in records):
        found = [named.get((row, d, metric)) for d in datasets]
        label = [_escaped(row), _escaped(NAMES[metric])]
        ours = ["–" if r is None else number(r["ours"], r["ours_std"], metric) for r in found]
        out.append(" & ".join([*label, *map(_escaped, ours)]) + r" \\")
        printed = ["–" if r is None else _printed(r) for r in found]
        out.append(
            " & ".join(["", r"\small paper", *(rf"\small {_escaped(p)}" for p in printed)]) + r" \\"
        )
    return "\n".join([*out, r"\bottomrule", r"\end{tabular}"]) + "\n"


def _escaped(text: str) -> str:
    for plain, safe in (
        ("\\", r"\textbackslash{}"),
        ("&", r"\&"),
        ("%", r"\%"),
        ("_", r"\_"),
        ("#", r"\#"),
        ("$", r"\$"),
        ("±", r"$\pm$"),
        ("–", "--"),
    ):
        text = text.replace(plain, safe)
    return text
