"""Replay data sets with methods, and write what is told of them: JSON, CSV and the figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.core.plain_values import Plain, canonical
from taamctl.params.run_params import RunParams
from taamctl.prequential import choose_follower, replay_file
from taamctl.prequential.replay_file import PROTOCOL, Prepared
from taamctl.prequential.stream_marks import Told, marks
from taamctl.prequential.stream_options import StreamOptions
from taamctl.report import stream_figure
from taamctl.report.report_tables import csv_text
from taamctl.runtime.job import Context, Outcome
from taamctl.store import atomic_files
from taamctl.store.artefacts import Artefact
from taamctl.store.atomic_files import atomic
from taamctl.store.lock import writing

NAME = "stream.json"
MADE_BY = "taamctl stream"
EXPERTS = {
    "retrain": "models of tasks are learned again when nodes of their classes arrive",
    "stay": "models of tasks stay as they were first learned",
}
COLUMNS = (
    *("method", "seed", "snapshot", "nodes", "known_nodes", "accuracy", "accuracy_micro"),
    *("false_alarms", "unknown_nodes", "unknown_found", "held_nodes", "held_accuracy"),
    *("held_accuracy_micro", "cpu_s"),
)


def run(context: Context, options: StreamOptions) -> list[Path]:
    """Replay everything that the `run` section names; return the summary of every data set. What
    can be refused is refused first.
    """
    wanted = context.params.section(RunParams)
    for method in wanted.methods:
        choose_follower.require(method)
    ready = [replay_file.prepare(context, name, options) for name in wanted.datasets]
    for prepared in ready:
        for method in wanted.methods:
            recipe = replay_file.recipe_of(context, method, wanted.seeds[0], options.experts)
            width = prepared.graph.features.shape[1]
            choose_follower.follower(recipe, prepared.arrivals, width)
    return [one_dataset(context, prepared, wanted) for prepared in ready]


def one_dataset(context: Context, prepared: Prepared, wanted: RunParams) -> Path:
    """Replay one data set with every method and seed, and write the summary."""
    runs: list[dict[str, Plain]] = []
    for method in wanted.methods:
        for seed in wanted.seeds:
            context.progress.about(f"{prepared.dataset}/{method}/seed-{seed}")
            made = replay_file.run(context, prepared, method, seed)
            runs.append({"method": method, "seed": seed, **told_of(made)})
    context.progress.about("")
    folder = context.layout.root / "stream" / prepared.dataset
    result = {
        "dataset": prepared.dataset,
        "protocol": PROTOCOL,
        "options": canonical(prepared.options),
        "conditions": conditions(prepared, wanted.methods),
        "runs": runs,
    }
    path = folder / NAME
    # table and figure are those of the summary, also where two commands end together
    with writing(path, wait=context.wait, tell=context.tell):
        atomic_files.write_json(path, result)
        read = atomic_files.read_json(path, MADE_BY)
        write(folder, prepared.dataset, read["runs"])
    return path


def told_of(made: Outcome) -> dict[str, Plain]:
    """Return what is told of one replay, with the checksum of its artefact."""
    with Artefact(made.path, "stream", MADE_BY) as file:
        told = marks(Told.read(file), made.record["facts"]["seconds"])
    return {"sha256": made.record["outputs"][made.path.name]["sha256"], **told}


def conditions(prepared: Prepared, methods: Sequence[str]) -> list[str]:
    """Return, in words, what the numbers are of."""
    options, arrivals = prepared.options, prepared.arrivals
    when = {
        "given": "times as the graph states them",
        "random": f"times drawn at random (seed {options.draw}): classes begin in a random order, "
        "one after the other",
    }[options.times]
    found = [
        f"protocol {PROTOCOL}: a node is answered in the graph known so far, before its label is "
        "shown; classes not known by then do not count in the accuracy",
        f"{arrivals.count} snapshots, {when}",
        f"labels of {len(arrivals.held):,} nodes are never shown: held accuracy is of these",
        "accuracy is class-balanced",
    ]
    if any(choose_follower.has_experts(method) for method in methods):
        found.append(EXPERTS[options.experts])
    return found


def write(folder: Path, dataset: str, runs: Sequence[dict[str, Plain]]) -> None:
    """Write a line per snapshot as CSV, and the figure."""
    lines = [
        [{**run, **snapshot}[column] for column in COLUMNS]
        for run in runs
        for snapshot in run["snapshots"]
    ]
    atomic_files.write_text(folder / "stream.csv", csv_text(COLUMNS, lines))
    for name, data in stream_figure.draw(dataset, runs).files().items():
        with atomic(folder / name) as temporary:
            temporary.write_bytes(data)
