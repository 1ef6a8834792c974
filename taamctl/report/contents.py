"""What a report says, file by file, before anything is written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from taamctl.report import lens_table, page, render
from taamctl.report.figures import Picture

Row = Mapping[str, Any]


@dataclass(frozen=True)
class Found:
    """Everything that a report is made from.

    Attributes:
        runs: a row per run on the test part. rows, validation: over seeds, on test and on val.
        units: rows of the lens section. left_out: what is to be said of lens files that are not of
            the present models.
        verdicts: comparisons with printed numbers.
    """

    runs: Sequence[Row]
    rows: Sequence[Row]
    validation: Sequence[Row]
    units: Sequence[Row]
    left_out: Sequence[str]
    verdicts: Sequence[Row]


def names(*, with_lens: bool) -> tuple[str, ...]:
    """Return the files that a report writes beside its pictures, the main one first."""
    return (
        "report.json",
        "report.md",
        "report.csv",
        "report.html",
        *(["lens.csv"] if with_lens else []),
    )


def contents(found: Found, pictures: Sequence[Picture], decimals: int) -> dict[str, Any]:
    """Return the files of a report by name: JSON-ready values for `.json`, text for the others."""
    made = {
        "report.json": {
            "rows": found.rows,
            "validation": found.validation,
            "runs": found.runs,
            "conditions": render.conditions(found.rows),
            "lens": found.units,
            "lens_left_out": found.left_out,
        },
        "report.md": render.markdown(found.rows, decimals)
        + lens_table.markdown(found.units, decimals, found.left_out),
        "report.csv": render.comma_separated(found.rows),
        "report.html": page.render(
            found.rows, pictures, found.verdicts, decimals, found.units, found.left_out
        ),
    }
    return {**made, "lens.csv": lens_table.comma_separated(found.units)} if found.units else made
