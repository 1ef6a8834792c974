"""Replay data sets with methods, and write what is told of them: JSON, CSV and the figure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import REPLAY
from taamctl.core.plain_values import Plain, canonical
from taamctl.params.run_params import RunParams
from taamctl.prequential import choose_follower, replay_file
from taamctl.prequential.replay_file import PROTOCOL, Prepared
from taamctl.prequential.stream_marks import Told, marks
from taamctl.prequential.stream_options import StreamOptions
from taamctl.report import stream_figure
from taamctl.report.report_tables import csv_text
from taamctl.report.stream_section import MADE_BY, NAME, is_there
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.stage_jobs import Which
from taamctl.store import atomic_files
from taamctl.store.artefacts import Artefact
from taamctl.store.atomic_files import atomic
from taamctl.store.lock import writing
from taamctl.store.stream_kind import STREAM

EXPERTS = {
    "retrain": "models of tasks are learned again when nodes of their classes arrive",
    "stay": "models of tasks stay as they were first learned",
}
OLD_ROWS = {
    "shown": "sums hold every node as it lay in the graph when its label was shown",
    "now": "sums hold every node as it lies now: old rows are exchanged when edges come",
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
            recipe = replay_file.recipe_of(context, options, method, wanted.seeds[0])
            width = prepared.graph.features.shape[1]
            choose_follower.follower(recipe, prepared.arrivals, width)
    for prepared in ready:
        _tell_replaced(context, prepared)
    return [one_dataset(context, prepared, wanted) for prepared in ready]


def path_of(context: Context, dataset: str) -> Path:
    """Return the summary of a data set's replays."""
    return context.layout.root / "stream" / dataset / NAME


def files(path: Path) -> list[str]:
    """Return the names of everything that is written with a summary, itself the first."""
    return [path.name, "stream.csv", *stream_figure.names(path.parent.name)]


def one_dataset(context: Context, prepared: Prepared, wanted: RunParams) -> Path:
    """Replay one data set with every method and seed, and write the summary. What it holds of
    other methods and seeds stays, where that was replayed alike.
    """
    runs: list[dict[str, Plain]] = []
    for method in wanted.methods:
        for seed in wanted.seeds:
            context.progress.about(f"{prepared.dataset}/{method}/seed-{seed}")
            made = replay_file.run(context, prepared, method, seed)
            runs.append({"method": method, "seed": seed, **told_of(made)})
    context.progress.about("")
    path = path_of(context, prepared.dataset)
    same = alike(context, prepared)
    # table and figure are those of the summary, also where two commands end together
    with writing(path, wait=context.wait, tell=context.tell):
        every = with_earlier(path, same, runs)
        told = conditions(prepared, [run["method"] for run in every])
        result = {**REPLAY.stamp, "dataset": prepared.dataset, "protocol": PROTOCOL, **same}
        atomic_files.write_json(path, {**result, "conditions": told, "runs": every})
        read = atomic_files.read_json(path, MADE_BY)
        write(path.parent, prepared.dataset, read["runs"])
    return path


def alike(context: Context, prepared: Prepared) -> dict[str, Plain]:
    """Return what two replays share whose numbers may stand in one table, as it reads from JSON:
    all but the methods and what decides them.
    """
    wanted = context.params.section(RunParams)
    which = Which(prepared.dataset, wanted.methods[0], wanted.seeds[0])
    made_from = atomic_files.strict(replay_file.job_of(context, prepared, which).params)
    del made_from["recipe"], made_from["stream"]
    return {"options": atomic_files.strict(canonical(prepared.options)), "made_from": made_from}


def is_alike(before: Mapping[str, Plain], same: Mapping[str, Plain]) -> bool:
    """Tell whether a summary is of replays that share that."""
    return all(before.get(name) == value for name, value in same.items())


def with_earlier(
    path: Path, same: Mapping[str, Plain], runs: Sequence[dict[str, Plain]]
) -> list[dict[str, Plain]]:
    """Return the replays of a summary: those of this call, and of earlier ones what was replayed
    alike and lies there still. Each keeps its place.
    """
    before = earlier(path)
    found = {}
    if is_alike(before, same):
        found = {(r["method"], r["seed"]): r for r in before["runs"] if is_there(path, r)}
    return list({**found, **{(run["method"], run["seed"]): run for run in runs}}.values())


def earlier(path: Path) -> dict[str, Plain]:
    """Return the summary that lies there; nothing where there is none that can be read.

    Raises:
        TaamctlError: it is of a newer version, and is not replaced.
    """
    try:
        found = atomic_files.read_json(path, MADE_BY)
    except TaamctlError:
        return {}
    if not isinstance(found, dict) or "runs" not in found:
        return {}
    return REPLAY.read(found, str(path))


def _tell_replaced(context: Context, prepared: Prepared) -> None:
    """Say what is lost of a replay that lies there, before it is."""
    path = path_of(context, prepared.dataset)
    before, same = earlier(path), alike(context, prepared)
    if not before or is_alike(before, same):
        return
    old, new = before.get("options", {}), same["options"]
    changed = [f"{k} {old.get(k)} -> {v}" for k, v in new.items() if old.get(k) != v]
    why = ", ".join(changed) or "graph or parameters"
    context.tell(
        f"note: {path} is of another replay ({why}): it, stream.csv and the figure are replaced. "
        "To keep both: --outputs FOLDER"
    )


def told_of(made: Outcome) -> dict[str, Plain]:
    """Return what is told of one replay, with the checksum of its artefact."""
    with Artefact(made.path, STREAM, MADE_BY) as file:
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
    if any(choose_follower.has_sums(method) for method in methods):
        found.append(OLD_ROWS[options.old_rows])
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
