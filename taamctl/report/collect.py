"""Find evaluations, their costs and comparisons with printed numbers in output trees."""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple, TypedDict

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import REPRODUCED
from taamctl.core.plain_values import Plain
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.runtime.stage_table import STAGES
from taamctl.store import atomic_files

SHOWN = ("taamctl", "python", "torch", "numpy", "scipy")  # versions that the page names


class RunId(NamedTuple):
    """Which run: data set, method, seed."""

    dataset: str
    method: str
    seed: int


class Costs(TypedDict):
    """Seconds by stage, and the peak memory over them; they differ from run to run."""

    seconds: dict[str, float]
    peak_memory_mib: float


class Verdicts(TypedDict):
    """A comparison with printed numbers."""

    target: str
    rows: list[dict[str, object]]
    conditions: list[str]


def run_id(path: Path) -> RunId:
    """Return which run an eval.json is of.

    Raises:
        ValueError: the folder names no seed.
    """
    dataset, method, seed = path.parts[-4:-1]
    return RunId(dataset, method, int(seed.removeprefix("seed-")))


def evaluations(
    layout: Layout,
    datasets: Collection[str] | None = None,
    methods: Collection[str] | None = None,
    seeds: Collection[int] | None = None,
) -> list[Path]:
    """Return the eval.json files of an output tree, sorted; a filter that is None admits
    everything.
    """
    found = []
    for path in sorted((layout.root / "eval").glob("*/*/seed-*/eval.json")):
        if not path.parts[-2].removeprefix("seed-").isdecimal():
            continue
        wanted = zip((datasets, methods, seeds), run_id(path), strict=True)
        if all(admitted is None or value in admitted for admitted, value in wanted):
            found.append(path)
    return found


def costs(layout: Layout, dataset: str, method: str, seed: int) -> Costs:
    """Return what the stages of one run cost, from their sidecars."""
    seconds = {}
    peak = 0.0
    for stage in STAGES[:-1]:
        sidecar = provenance.sidecar_of(layout.file(stage, dataset, method, seed))
        if sidecar.is_file():
            cost = atomic_files.read_json(sidecar)["cost"]
            seconds[stage] = cost["wall_s"]
            # of the process: what ran before in it counts too
            peak = max(peak, cost["peak_memory_mib"])
    return {"seconds": seconds, "peak_memory_mib": peak}


class Made(TypedDict):
    """How one run was made, in words; empty where its records do not say."""

    run: str
    sha256: str
    evaluated: str
    train_seconds: str
    all_seconds: str
    memory_mib: str
    machine: str
    versions: str


def made(path: Path, sha256: str) -> Made:
    """Return how an evaluation was made, from the records beside the artefacts behind it.

    Args:
        path: an eval.json. sha256: its own.
    """
    which = run_id(path)
    layout = Layout(path.parents[4])
    evaluated = provenance.recorded(path) or {}
    trained = provenance.recorded(layout.file("train", *which)) or {}
    seconds, memory = _known_costs(layout, which)
    return {
        "run": f"{which.dataset} {which.method} seed {which.seed}",
        "sha256": sha256,
        "evaluated": _date(evaluated, path.name),
        "train_seconds": _seconds(seconds.get("train")),
        "all_seconds": _seconds(sum(seconds.values()) or None),
        "memory_mib": f"{memory:.0f}" * (memory > 0),
        "machine": _machine(trained.get("machine")),
        "versions": _versions(trained.get("versions")),
    }


def _known_costs(layout: Layout, which: RunId) -> tuple[dict[str, float], float]:
    try:
        found = costs(layout, *which)
        return {name: float(s) for name, s in found["seconds"].items()}, found["peak_memory_mib"]
    except (TaamctlError, KeyError, TypeError, ValueError):
        return {}, 0.0  # a report does not fail for want of a time


def _seconds(spent: float | None) -> str:
    return "" if spent is None else f"{spent:.1f}"


def _date(record: Mapping[str, Plain], name: str) -> str:
    """Return when a file was written, in UTC."""
    try:
        written = int(record["outputs"][name]["mtime_ns"]) / 1e9
        return datetime.fromtimestamp(written, UTC).strftime("%Y-%m-%d %H:%M UTC")
    except (KeyError, TypeError, ValueError, OverflowError, OSError):
        return ""


def _machine(found: Plain) -> str:
    if not isinstance(found, dict):
        return ""
    device = str(found.get("cuda", "none"))
    return f"{found.get('system', '')}, {found.get('cpus', '?')} CPUs" + (
        f", {device}" * (device != "none")
    )


def _versions(found: Plain) -> str:
    if not isinstance(found, dict):
        return ""
    return ", ".join(f"{name} {found[name]}" for name in SHOWN if name in found)


def training_seconds(path: Path) -> float | None:
    """Return the wall seconds of the training behind an eval.json, from its sidecar; None where
    there is no such record.
    """
    try:
        return float(costs(Layout(path.parents[4]), *run_id(path))["seconds"]["train"])
    except (TaamctlError, KeyError, TypeError, ValueError):
        return None  # a report does not fail for want of a time


def verdict_files(layout: Layout) -> list[Path]:
    """Return the files that compare results with printed numbers, sorted; there may be none."""
    found = sorted((layout.root / "reproduce").glob("*.json"))
    return [path for path in found if not path.name.endswith(".provenance.json")]


def verdicts(path: Path) -> Verdicts:
    """Return a comparison with printed numbers; one that cannot be read says so in its
    conditions.
    """
    try:
        made = REPRODUCED.read(atomic_files.read_json(path), path.name)
        return {
            "target": str(made.get("target", path.stem)),
            "rows": [dict(row) for row in made["rows"]],
            "conditions": [str(line) for line in made.get("conditions", [])],
        }
    except (TaamctlError, OSError, AttributeError, KeyError, TypeError, ValueError) as error:
        line = f"{path.name} cannot be read as a comparison with printed numbers."
        if isinstance(error, TaamctlError):
            line += f" {error.hint[:1].upper()}{error.hint[1:]}."
        return {"target": path.stem, "rows": [], "conditions": [line]}


def missing(
    paths: Iterable[Path], datasets: Iterable[str], methods: Iterable[str], seeds: Iterable[int]
) -> list[str]:
    """Name the (data set, method, seed) that were asked for and have no evaluation."""
    there = {run_id(path) for path in paths}
    wanted = itertools.product(datasets, methods, seeds)
    return [f"{d} {m} seed {s}" for d, m, s in wanted if (d, m, s) not in there]


def require(paths: list[Path], layout: Layout) -> None:
    """Refuse an empty report.

    Raises:
        TaamctlError: nothing is there to report.
    """
    if paths:
        return
    below = layout.root / "eval"
    other = sorted({" ".join(path.parts[-4:-2]) for path in evaluations(layout)})
    if other:
        raise TaamctlError(
            f"no evaluation of what the run section and the options ask for below {below}",
            f"there are: {', '.join(other)}; --all reports them",
        )
    raise TaamctlError(
        f"no evaluation below {below}", "make one with: taamctl run, or: taamctl eval"
    )
