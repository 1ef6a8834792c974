"""The report as one HTML page that needs nothing else: no network, no script, no file beside it."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from importlib import resources

from taamctl.report import lens_table
from taamctl.report import render as tables
from taamctl.report.collect import Verdicts
from taamctl.report.lens_table import LensRow
from taamctl.report.pictures import Picture
from taamctl.report.report_rows import SeedsRow

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


def render(
    rows: Sequence[SeedsRow],
    pictures: Sequence[Picture],
    verdicts: Sequence[Verdicts],
    decimals: int,
    lens: Sequence[LensRow] = (),
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
    datasets = sorted({row.dataset for row in rows})
    shown = {d: [_figure(p) for p in pictures if p.dataset == d] for d in datasets}
    return environment.from_string(template()).render(
        lens=_lens(lens, decimals),
        datasets=datasets,
        conditions=[*tables.conditions(rows), *left_out],
        results={"columns": tables.COLUMNS, "lines": [tables.cells(row, decimals) for row in rows]},
        scopes={
            "columns": tables.SCOPE_COLUMNS,
            "lines": [tables.scope_cells(row, decimals) for row in rows],
        },
        figures=shown if pictures else {},
        verdicts=[_verdict(found) for found in verdicts],
        commands=[_command(row) for row in rows],
    )


def _verdict(found: Verdicts) -> dict[str, object]:
    columns: Sequence[str] = VERDICTS
    if not any("verdict" in row for row in found["rows"]):  # a table without printed numbers
        columns = list(dict.fromkeys(name for row in found["rows"] for name in row))
    lines = [[_text(row.get(name)) for name in columns] for row in found["rows"]]
    return {**found, "columns": columns, "lines": lines}


def _command(row: SeedsRow) -> dict[str, object]:
    return {
        "dataset": row.dataset,
        "method": row.name,
        "title": row.title,
        "command": tables.command(row),
        "digests": [digest[:12] for digest in row.sha256],
    }


def _lens(rows: Sequence[LensRow], decimals: int) -> dict[str, object] | None:
    if not rows:
        return None
    columns, lines = lens_table.table(rows, decimals)
    return {"columns": columns, "lines": lines, "notes": lens_table.NOTES}


def _figure(picture: Picture) -> dict[str, object]:
    data = "" if picture.timed else base64.b64encode(picture.svg).decode("ascii")
    return {
        "title": picture.title,
        "caption": picture.caption,
        "timed": picture.timed,
        "files": list(picture.files()),
        "data": data,
    }


def _text(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4g}" if isinstance(value, float) else str(value)
