"""Replays of graphs in time, as the report shows them: read from the stream.json of every data set.

Their numbers are of a protocol of their own, and stand in no table with others.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import REPLAY
from taamctl.core.plain_values import Plain
from taamctl.report.details import Cells
from taamctl.report.report_tables import markdown_rows, percent
from taamctl.report.stream_figure import forgotten, or_none
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

NAME = "stream.json"
MADE_BY = "taamctl stream"
SHOWN = 20  # snapshots of one replay on the page; stream.csv has all
RUNS = {
    "accuracy": "accuracy %",
    "held_accuracy": "held %",
    "forgetting": "forgetting %",
    "unknown_found": "unknown found %",
    "false_alarms": "false alarms %",
}
RUN_COLUMNS = ("method", "seed", *RUNS.values(), "CPU s", "stream.h5 sha256")
SNAPSHOT_COLUMNS = (
    *("method", "seed", "snapshot", "nodes", "new classes", "accuracy %", "held %"),
    *("forgotten so far %", "unknown found %", "false alarms %", "CPU s"),
)


@dataclass(frozen=True)
class Replayed:
    """The replays of one data set.

    Attributes:
        sha256: of the stream.json. conditions: what its numbers are of, in words.
        runs: what is told of every method and seed.
    """

    dataset: str
    sha256: str
    conditions: list[str]
    runs: list[dict[str, Plain]]


def files(layout: Layout) -> list[Path]:
    """Return the summaries of replays of an output tree, sorted; there may be none."""
    return sorted((layout.root / "stream").glob(f"*/{NAME}"))


def read(paths: Sequence[Path]) -> list[Replayed]:
    """Return what summaries say; those that `faults` names are left out."""
    return [found for found in map(_read, paths) if found is not None]


def faults(paths: Sequence[Path]) -> list[str]:
    """Say which summaries cannot be read, and which replays lie there in another version by now."""
    found = []
    for path in paths:
        made = _read(path)
        if made is None:
            found.append(_unread(path))
            continue
        for run in made.runs:
            if not is_there(path, run):
                found.append(
                    f"{made.dataset}: the stream.h5 of {run['method']} seed {run['seed']} is no "
                    f"longer the one that the stream section is of; {MADE_BY} renews it"
                )
    return found


def is_there(path: Path, run: Plain) -> bool:
    """Tell whether the replay that a summary was made from lies there still."""
    which = (path.parent.name, run["method"], run["seed"])
    lies = Layout(path.parents[2]).file("stream", *which)
    known = (provenance.recorded(lies) or {}).get("outputs", {}).get(lies.name, {})
    return lies.is_file() and bool(known.get("sha256") == run["sha256"])


def _read(path: Path) -> Replayed | None:
    try:
        made = REPLAY.read(atomic_files.read_json(path, MADE_BY), str(path))
        found = Replayed(
            path.parent.name, provenance.sha256(path), list(made["conditions"]), list(made["runs"])
        )
        tables(found, 1)
    except (TaamctlError, OSError, AttributeError, KeyError, TypeError, ValueError, IndexError):
        return None
    return found


def _unread(path: Path) -> str:
    """Say why a summary is left out, and what helps."""
    try:
        REPLAY.read(atomic_files.read_json(path, MADE_BY), str(path))
    except TaamctlError as error:
        return f"{error.message}: it cannot be read; {error.hint}"
    except OSError:
        pass
    return f"{path} cannot be read; {REPLAY.again}"


def tables(found: Replayed, decimals: int) -> tuple[Cells, Cells]:
    """Return a line per replay, and a line per snapshot of every replay."""
    runs = [
        (
            *(run["method"], str(run["seed"])),
            *(percent(run[name], None, decimals) for name in RUNS),
            *(f"{run['cpu_s']:.1f}", run["sha256"][:12]),
        )
        for run in found.runs
    ]
    every = [_snapshot(run, t, decimals) for run in found.runs for t in _spread(run)]
    return Cells(RUN_COLUMNS, runs), Cells(SNAPSHOT_COLUMNS, every)


def markdown(replays: Sequence[Replayed], decimals: int) -> str:
    """Return the section as Markdown, a line per replay; empty where there is none."""
    lines = []
    for found in replays:
        runs, _ = tables(found, decimals)
        lines += ["", f"### {found.dataset}", "", *markdown_rows(runs.columns, runs.lines), ""]
        lines += [*found.conditions, "", f"stream.json sha256 {found.sha256[:12]}"]
    if not lines:
        return ""
    return "\n".join(["", "## In time: answers before labels (prequential)", *lines, ""])


def _spread(run: Plain) -> list[int]:
    """Return at most `SHOWN` snapshots, evenly, the first and the last among them."""
    count = len(run["snapshots"])
    return sorted({int(t) for t in np.linspace(0, count - 1, min(count, SHOWN)).round()})


def _snapshot(run: Plain, t: int, decimals: int) -> tuple[str, ...]:
    one = run["snapshots"][t]
    lost = or_none(forgotten(run)[t])
    shares = (one["accuracy"], one["held_accuracy"], lost, one["unknown_found"])
    return (
        *(run["method"], str(run["seed"]), str(one["snapshot"]), f"{one['nodes']:,}"),
        str(len(one["new_classes"])),
        *(percent(share, None, decimals) for share in (*shares, one["false_alarms"])),
        f"{one['cpu_s']:.1f}",
    )
