"""The report as one HTML page that needs nothing else: no network, no script, no file beside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from importlib import resources
from typing import Any

from taamctl.core.types import SCOPES
from taamctl.report import lens_table as units
from taamctl.report import render as tables
from taamctl.report.figures import Picture

Row = Mapping[str, Any]
VERDICTS = (
    "table",
    "row",
    "dataset",
    "metric",
    "paper",
    "ours",
    "difference",
    "verdict",
    "explanation",
)


def template() -> str:
    """Return the page's template."""
    return resources.files("taamctl.report").joinpath("report.html.j2").read_text(encoding="utf-8")


def template_digest() -> str:
    """Return the sha256 of the template: a page depends on it as it does on code."""
    return hashlib.sha256(template().encode()).hexdigest()


def render(
    rows: Sequence[Row],
    pictures: Sequence[Picture],
    verdicts: Sequence[Row],
    decimals: int,
    lens: Sequence[Row] = (),
    left_out: Sequence[str] = (),
) -> str:
    """Return the page; every name in it is escaped.

    Args:
        rows: rows over seeds.
        pictures: the figures, or none. Those that hold times are named, not shown: the same
            evaluations give the same page.
        verdicts: comparisons with printed numbers, each with `target`, `rows` and `conditions`.
        decimals: decimals of the per cent.
        lens: rows of the lens section, or none. left_out: what is to be said of lens files that are
            not shown.
    """
    import jinja2

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    datasets = sorted({str(row["dataset"]) for row in rows})
    return environment.from_string(template()).render(
        lens=_lens(lens, decimals),
        datasets=datasets,
        conditions=[*tables.conditions(rows), *left_out],
        results={"columns": tables.COLUMNS, "lines": [tables.cells(row, decimals) for row in rows]},
        scopes={
            "columns": ("dataset", "method", *SCOPES),
            "lines": [tables.scope_cells(row, decimals) for row in rows],
        },
        figures={d: [_figure(p) for p in pictures if p.dataset == d] for d in datasets}
        if pictures
        else {},
        verdicts=[
            {
                "target": v["target"],
                "conditions": v["conditions"],
                "columns": VERDICTS,
                "lines": [[_text(row.get(name)) for name in VERDICTS] for row in v["rows"]],
            }
            for v in verdicts
        ],
        commands=[
            {
                "dataset": row["dataset"],
                "method": tables.cells(row, decimals)[1],
                "title": row["title"],
                "command": tables.command(row),
                "digests": [d[:12] for d in row["sha256"]],
            }
            for row in rows
        ],
    )


def _lens(rows: Sequence[Row], decimals: int) -> dict[str, Any] | None:
    if not rows:
        return None
    columns, lines = units.table(rows, decimals)
    return {"columns": columns, "lines": lines, "notes": units.NOTES}


def _figure(picture: Picture) -> dict[str, Any]:
    return {
        "title": picture.title,
        "caption": picture.caption,
        "timed": picture.timed,
        "files": list(picture.files()),
        "data": "" if picture.timed else base64.b64encode(picture.svg).decode("ascii"),
    }


def _text(value: Any) -> str:
    return "–" if value is None else f"{value:.4g}" if isinstance(value, float) else str(value)
