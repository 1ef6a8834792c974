"""The report as one HTML page that needs nothing else: no network and no file beside it."""

from __future__ import annotations

import base64
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from importlib import resources

from taamctl.evaluation.record import Evaluation
from taamctl.report import (
    details,
    findings,
    lens_table,
    pictures,
    published,
    stream_figure,
    stream_section,
)
from taamctl.report import render as tables
from taamctl.report.collect import Made, Verdicts
from taamctl.report.leading import Leading
from taamctl.report.lens_table import LensRow
from taamctl.report.pictures import Picture
from taamctl.report.report_rows import SeedsRow
from taamctl.report.report_words import WORDS
from taamctl.report.stream_section import Replayed

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
FIRST = "best"  # the kind of picture that the page begins with
BATCHES = 2  # sizes of batches that the lens table has columns for; lens.csv has all
SECTIONS = {
    "mixed": "Mixed graph",
    "results": "Results",
    "scopes": "Logit scopes",
    "classes": "Classes",
    "confused": "Confusions",
    "routing": "Task IDs",
    "lens": "Lens",
    "figures": "Figures",
    "data": "Data",
    "streams": "In time",
    "verdicts": "Printed numbers",
    "readings": "Readings",
    "words": "Words",
    "made": "How it was made",
    "commands": "Commands",
}
Content = dict[str, object]


@dataclass(frozen=True)
class Behind:
    """What stands behind the rows.

    Attributes:
        evaluations: by the sha256 of their files. leading: methods on one mixed graph.
        made: how each run was made. streams: replays in time.
    """

    evaluations: Mapping[str, Evaluation] = field(default_factory=dict)
    leading: Sequence[Leading] = ()
    made: Sequence[Made] = ()
    streams: Sequence[Replayed] = ()


def packaged(name: str) -> str:
    """Return a text of this package."""
    return resources.files("taamctl.report").joinpath(name).read_text(encoding="utf-8")


def template() -> str:
    """Return the page's template."""
    return packaged("report.html.j2")


def script() -> str:
    """Return the script that sorts and filters tables."""
    return packaged("report.js")


def render(
    rows: Sequence[SeedsRow],
    drawn: Sequence[Picture],
    verdicts: Sequence[Verdicts],
    decimals: int,
    lens: Sequence[LensRow] = (),
    left_out: Sequence[str] = (),
    behind: Behind = Behind(),
) -> str:
    """Return the page; every name in it is escaped.

    Args:
        rows: rows over seeds, all in one logit scope.
        drawn: the figures, or none. Those that hold times are named, not shown.
        verdicts: comparisons with printed numbers, each with `target`, `rows` and `conditions`.
        decimals: decimals of the per cent.
        lens: rows of the lens section, or none. left_out: what is to be said of lens files that are
            not shown.
        behind: what the sections on classes, confusions, routing and data are made from.
    """
    import jinja2
    import markupsafe

    environment = jinja2.Environment(
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    datasets = sorted({row.dataset for row in rows})
    content: Content = {
        "mixed": _named(_mixed(behind.leading, decimals), datasets),
        "results": _named(_results(rows, decimals), datasets),
        "scopes": _named(_scopes(rows, decimals), datasets),
        "lens": _lens(lens, decimals),
        "figures": _figures(datasets, drawn),
        "streams": [_stream(found, drawn, decimals) for found in behind.streams],
        "verdicts": [_verdict(found) for found in verdicts],
        "readings": published.readings({r.method for r in rows}, routed=_is_routed(rows)),
        "words": WORDS,
        "made": _made(behind.made),
        "commands": [_command(row) for row in rows],
        **_details(rows, behind, decimals),
    }
    if not rows:  # of replays in time alone
        content |= dict.fromkeys(("results", "scopes", "made"))
    return environment.from_string(template()).render(
        **content,
        names=datasets or [found.dataset for found in behind.streams],
        sections=[(id_, name) for id_, name in SECTIONS.items() if content[id_]],
        summary=[_summary(rows, drawn, behind, dataset) for dataset in datasets],
        conditions=[*tables.conditions(rows), *left_out],
        script=markupsafe.Markup(script()),
    )


def _summary(
    rows: Sequence[SeedsRow], drawn: Sequence[Picture], behind: Behind, dataset: str
) -> Content:
    first = [p for p in drawn if (p.dataset, p.kind) == (dataset, FIRST)]
    return {
        "dataset": dataset,
        "lines": findings.of(rows, behind.leading, dataset),
        "picture": next(map(_figure, first), None),
    }


def _figures(datasets: Sequence[str], drawn: Sequence[Picture]) -> Content:
    shown = [picture for picture in drawn if picture.kind not in (FIRST, stream_figure.KIND)]
    found = {name: [_figure(p) for p in shown if p.dataset == name] for name in datasets}
    return {name: figures for name, figures in found.items() if figures}


def _named(content: Content | None, datasets: Sequence[str]) -> Content | None:
    """Return a table without its first column, the data set, where there is one only."""
    if content is None or len(datasets) > 1:
        return content
    columns, lines = content["columns"], content["lines"]
    assert isinstance(columns, tuple)
    assert isinstance(lines, list)
    return {"columns": columns[1:], "lines": [line[1:] for line in lines]}


def _results(rows: Sequence[SeedsRow], decimals: int) -> Content:
    columns, lines = tables.table(rows, decimals)
    files = [" ".join(digest[:12] for digest in row.sha256) for row in rows]
    return {
        "columns": (*columns, "eval.json sha256"),
        "lines": [(*line, file) for line, file in zip(lines, files, strict=True)],
    }


def _scopes(rows: Sequence[SeedsRow], decimals: int) -> Content:
    return {
        "columns": (*tables.SCOPE_COLUMNS, "own"),
        "lines": [(*tables.scope_cells(row, decimals), row.own_scope or row.scope) for row in rows],
    }


def _mixed(leading: Sequence[Leading], decimals: int) -> Content | None:
    if not leading:
        return None
    return {
        "columns": (*tables.MIXED_COLUMNS, "lens.json sha256"),
        "lines": [
            (*tables.mixed_cells(each, decimals), " ".join(d[:12] for d in each.sha256))
            for each in leading
        ],
    }


def _details(rows: Sequence[SeedsRow], behind: Behind, decimals: int) -> Content:
    """Return the sections that need the evaluations, each by data set."""
    classes: Content = {}
    confused: Content = {}
    routing: Content = {}
    data: Content = {}
    for dataset in sorted({row.dataset for row in rows}):
        own = [row for row in rows if row.dataset == dataset]
        if not all(digest in behind.evaluations for row in own for digest in row.sha256):
            continue
        leading = [each for each in behind.leading if each.dataset == dataset]
        known = details.of_one_stream(own, behind.evaluations, leading)
        pairs = details.confused(known)
        _put(classes, dataset, details.classes(known, decimals))
        _put(routing, dataset, details.similarities(known))
        _put(data, dataset, details.data(known))
        if pairs.lines:
            confused[dataset] = {"classes": pairs, "tasks": details.tasks_confused(known)}
    return {"classes": classes, "confused": confused, "routing": routing, "data": data}


def _put(into: Content, dataset: str, cells: details.Cells | None) -> None:
    if cells is not None and cells.lines:
        into[dataset] = cells


def _made(made: Sequence[Made]) -> Content:
    columns = (
        *("run", "eval.json sha256", "evaluated", "training, s", "all stages, s"),
        *("memory, MiB", "machine", "versions"),
    )
    lines = [
        tuple(str(value)[:12] if k == "sha256" else value for k, value in each.items())
        for each in made
    ]
    return {"columns": columns, "lines": lines}


def _is_routed(rows: Sequence[SeedsRow]) -> bool:
    return any(row.task_id_kind == "inferred" for row in rows)


def _verdict(found: Verdicts) -> Content:
    columns: Sequence[str] = VERDICTS
    if not any("verdict" in row for row in found["rows"]):  # a table without printed numbers
        columns = list(dict.fromkeys(name for row in found["rows"] for name in row))
    lines = [[_text(row.get(name)) for name in columns] for row in found["rows"]]
    return {**found, "columns": columns, "lines": lines}


def _command(row: SeedsRow) -> Content:
    return {
        "dataset": row.dataset,
        "method": row.name,
        "title": row.title,
        "command": tables.command(row),
        "digests": [digest[:12] for digest in row.sha256],
    }


def _lens(rows: Sequence[LensRow], decimals: int) -> Content | None:
    if not rows:
        return None
    found = {}
    for dataset in sorted({row.dataset for row in rows}):
        mine = [row for row in rows if row.dataset == dataset]
        columns, lines = lens_table.table(mine, decimals, BATCHES)
        found[dataset] = {"columns": columns[1:], "lines": [line[1:] for line in lines]}
    return {"tables": found, "notes": lens_table.NOTES}


def _stream(found: Replayed, drawn: Sequence[Picture], decimals: int) -> Content:
    runs, snapshots = stream_section.tables(found, decimals)
    mine = [p for p in drawn if (p.dataset, p.kind) == (found.dataset, stream_figure.KIND)]
    picture = next(map(_figure, mine), None)
    if picture is not None:
        beside = stream_figure.names(found.dataset)
        picture["files"] = [f"../stream/{found.dataset}/{name}" for name in beside]
    return {
        "dataset": found.dataset,
        "sha256": found.sha256[:12],
        "conditions": found.conditions,
        "runs": runs,
        "snapshots": snapshots,
        "picture": picture,
    }


def _figure(picture: Picture) -> Content:
    data = ""
    if not picture.timed:
        data = base64.b64encode(pictures.themed(picture)).decode("ascii")
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
