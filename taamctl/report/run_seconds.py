"""What training and inference took, from the records beside the artefacts."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Sequence

from taamctl.core.errors import TaamctlError
from taamctl.report.report_tables import Record, markdown_rows
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

STAGES = ("train", "infer")
NOTE = (
    "CPU seconds of training and of inference (all stages of the stream, all parts), means over "
    "seeds, of the machine that ran them; –: a run that was stopped on the way has no time."
)


def of_run(layout: Layout, dataset: str, method: str, seed: int, stage: str) -> float | None:
    """Return the CPU seconds of a stage of one run; None where they are not on record, or cover a
    part of it only.
    """
    sidecar = provenance.sidecar_of(layout.file(stage, dataset, method, seed))
    try:
        record = atomic_files.read_json(sidecar)
        if record["facts"].get("resumed_tasks"):
            return None
        return float(record["cost"]["cpu_s"])
    except (TaamctlError, OSError, AttributeError, KeyError, TypeError, ValueError):
        return None  # a table does not fail for want of a time


def mean(
    layout: Layout, dataset: str, method: str, seeds: Iterable[int], stage: str
) -> float | None:
    """Return the mean over the seeds whose time is on record; None where none is."""
    found = [of_run(layout, dataset, method, seed, stage) for seed in seeds]
    known = [seconds for seconds in found if seconds is not None]
    return statistics.fmean(known) if known else None


def markdown(records: Sequence[Record]) -> list[str]:
    """Return the times of a table's rows as Markdown lines, data sets across; nothing where no
    record has one.
    """
    times: dict[str, dict[str, str]] = {}
    for record in records:
        if record.get("train_cpu_s") is not None:
            shown = text(record["train_cpu_s"], record["infer_cpu_s"])
            times.setdefault(record["row"], {})[record["dataset"]] = shown
    datasets = list(dict.fromkeys(name for cells in times.values() for name in cells))
    if not datasets:
        return []
    lines = [[row, *(cells.get(name, "–") for name in datasets)] for row, cells in times.items()]
    return [*markdown_rows(["training / inference, CPU s", *datasets], lines), "", f"- {NOTE}"]


def text(train: float | None, infer: float | None) -> str:
    """Return `12.3 / 0.45`."""
    return f"{_seconds(train)} / {_seconds(infer)}"


def _seconds(value: float | None) -> str:
    if value is None:
        return "–"
    return f"{value:.1f}" if value >= 1 else f"{value:.2f}"
