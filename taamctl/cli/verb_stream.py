"""`taamctl stream`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli import graph_memory
from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table
from taamctl.cli.shared_options import Grid, Profile, RawSettings, Writing
from taamctl.cli.time_span import span
from taamctl.core.plain_values import Plain
from taamctl.params.report_params import ReportParams

if TYPE_CHECKING:
    from collections.abc import Mapping


Every = Annotated[
    str | None,
    Option(
        "--every",
        metavar="SPAN",
        help="Span of one snapshot instead, in the unit of the graph's times; of dates 12h, 7d or "
        "2w.",
    ),
]
OldRows = Annotated[
    str,
    Option(
        "--old-rows",
        help="Old nodes in sums: as they lay when their label was shown, or as they lie now.",
    ),
]


def command(
    *,
    grid: Grid,
    snapshots: Annotated[
        int | None,
        Option("--snapshots", help="Snapshots of about equal node counts. Default: 10."),
    ] = None,
    every: Every = None,
    times: Annotated[
        str,
        Option("--times", help="Times of the graph, or a random order: classes one by one."),
    ] = "given",
    draw: Annotated[
        int, Option("--draw", help="Seed of random times and of what is held back.", min=0)
    ] = 0,
    held: Annotated[
        float, Option("--held", help="Share of nodes whose labels are never shown.")
    ] = 0.2,
    unknown: Annotated[
        float, Option("--unknown", help="Share of known nodes that may be called unknown.")
    ] = 0.05,
    experts: Annotated[
        str,
        Option("--experts", help="Models of tasks when more nodes of their classes arrive."),
    ] = "retrain",
    old_rows: OldRows = "shown",
    profile: Profile = None,
    settings: RawSettings,
    as_json: Annotated[
        bool, Option("--json", help="Print a JSON array: an object per data set.")
    ] = False,
    writing: Writing,
) -> None:
    """Replay a graph in time: predict what arrives, then learn it, snapshot by snapshot.

    Needs no split. Its numbers are of the protocol prequential. Stopped, it goes on where it was.
    """
    from taamctl.prequential import stream_files
    from taamctl.prequential.stream_options import StreamOptions

    options = StreamOptions(snapshots, span(every), times, draw, held, unknown, experts, old_rows)
    context = make_context(grid, settings, writing, check_methods=True, profile=profile)
    graph_memory.require_replays(context, options)
    paths = stream_files.run(context, options)
    if as_json:
        found = [json.loads(path.read_text(encoding="utf-8")) for path in paths]
        print(json.dumps(found, indent=1))
        return
    for path in paths:
        show(path, context.params.section(ReportParams).decimals)
        _, *others = stream_files.files(path)
        context.tell(f"wrote {path} and, beside it, {', '.join(others)}")
    context.tell("next: taamctl report, whose page has a section for replays")


def show(path: Path, decimals: int) -> None:
    """Print what is told of a data set: a line per replay, and one per snapshot."""
    from taamctl.core.json_kinds import REPLAY
    from taamctl.report.stream_section import RUNS
    from taamctl.store.atomic_files import read_json

    result = REPLAY.read(read_json(path, "taamctl stream"), str(path))
    runs = result["runs"]
    names = [f"{run['method']} {run['seed']}" for run in runs]
    heads = [Column("method, seed"), *(Column(name, right=True) for name in RUNS.values())]
    rows = [
        [name, *(_percent(run[key], decimals) for key in RUNS), f"{run['cpu_s']:.1f}"]
        for name, run in zip(names, runs, strict=True)
    ]
    print_table([*heads, Column("CPU s", right=True)], rows, notes=result["conditions"])
    print()
    snapshots = runs[0]["snapshots"]
    lines = [_line(at, runs, decimals) for at in range(len(snapshots))]
    columns = ["snapshot", "nodes", "new classes", *(f"{name} %" for name in names)]
    print_table([Column(name, right=True) for name in columns], lines)


def _line(at: int, runs: list[Mapping[str, Plain]], decimals: int) -> list[str]:
    """Return the line of one snapshot: the accuracy of every replay."""
    first = runs[0]["snapshots"][at]
    new = str(len(first["new_classes"]))
    every = [_percent(run["snapshots"][at]["accuracy"], decimals) for run in runs]
    return [str(first["snapshot"]), f"{first['nodes']:,}", new, *every]


def _percent(value: float | None, decimals: int) -> str:
    """Return a fraction in per cent; a dash where there is none."""
    from taamctl.report.report_tables import percent

    return percent(value, None, decimals)
