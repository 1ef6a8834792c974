"""Tables as CSV and Markdown, whatever they are about."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

Record = Mapping[str, Any]  # one line of a table, by column


def csv_text(columns: Sequence[str], lines: Iterable[Sequence[object]]) -> str:
    """Return a table as CSV: numbers unrounded, empty where a value is None."""
    import pandas

    # as objects: a column of whole numbers with a gap would turn into floats
    table = pandas.DataFrame([tuple(line) for line in lines], columns=list(columns), dtype=object)
    return str(table.to_csv(index=False, lineterminator="\n"))


def markdown_rows(columns: Sequence[str], lines: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a Markdown table."""
    head = [f"| {' | '.join(columns)} |", "|" + "---|" * len(columns)]
    return head + [f"| {' | '.join(line)} |" for line in lines]


def percent(mean: float | None, std: float | None, decimals: int) -> str:
    """Return `96.2 ± 0.4`; a dash where there is no value; no deviation where there is none."""
    if mean is None:
        return "–"
    # + 0.0 turns a negative zero into zero
    text = f"{round(100 * mean, decimals) + 0.0:.{decimals}f}"
    return text if std is None else f"{text} ± {100 * std:.{decimals}f}"
