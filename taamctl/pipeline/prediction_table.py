"""What was predicted for every validation and test node after the last task, as one table."""

from __future__ import annotations

import csv
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.paths import group
from taamctl.pipeline import walk
from taamctl.runtime import provenance
from taamctl.runtime.job import Context
from taamctl.store.artefacts import Artefact
from taamctl.store.atomic_files import atomic
from taamctl.store.infer_kind import INFER
from taamctl.store.precompute_kind import PRECOMPUTE

COLUMNS = (
    *("dataset", "method", "seed", "part", "node", "task", "class"),
    *("predicted", "among", "predicted among all_seen", "predicted task"),
)
PARTS = ("val", "test")


def write(context: Context, path: Path) -> int:
    """Write the table of all runs as CSV, whole or not at all, and return its lines.

    A node is called by its name in the source, or where it has none by its row there, from 0. Tasks
    count from 1. `predicted` is of the scope that a method is used in, `among`; `predicted task` is
    that of the node's query graph, empty of a method that infers none.

    Raises:
        TaamctlError: artefacts that are not there, or of another graph than lies there now.
    """
    count = 0
    with atomic(path) as temporary, temporary.open("w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream, lineterminator="\n")
        table.writerow(COLUMNS)
        for which in walk.runs(context):
            for line in _lines(context, which):
                table.writerow(line)
                count += 1
    return count


def _lines(context: Context, which: walk.Run) -> Iterator[tuple[object, ...]]:
    """Yield the lines of one run."""
    path, made_by = context.layout.file("infer", *which), context.layout.command("infer", *which)
    names = _node_names(context, which[0])
    with Artefact(path, INFER, made_by) as made:
        classes = [*made.read("classes/name").tolist(), ""]  # -1: no prediction
        facts = json.loads(made.attribute("facts"))
        scope = facts["scope"]
        for part in PARTS:
            nodes = _nodes(context, which[0], part, made.shape("stream/bounds")[0])
            task = made.read(f"{part}/task")
            if len(nodes) != len(task):
                raise _of_another_split(context, which)
            routed = made.read(f"{part}/decision")[-1][task]
            own, among_all = (made.read(f"{part}/{name}")[-1] for name in (scope, "all_seen"))
            columns = (nodes, task, made.read(f"{part}/y"), own, among_all, routed)
            for node, t, true, said, said_of_all, chosen in zip(*columns, strict=True):
                yield (
                    *(*which, part, names[node], t + 1, classes[true], classes[said], scope),
                    *(classes[said_of_all], _task(chosen, facts["task_id"])),
                )


def _task(chosen: int, by: str) -> object:
    """Return the number of the task that was inferred, from 1; nothing where none was."""
    return int(chosen) + 1 if by == "inferred" and chosen >= 0 else ""


def _nodes(context: Context, dataset: str, part: str, tasks: int) -> list[int]:
    """Return the rows of a part's nodes in the graph, task by task."""
    path = context.layout.file("precompute", dataset)
    with Artefact(path, PRECOMPUTE, context.layout.command("precompute", dataset)) as features:
        every = (features.read(f"{group(t, part)}/orig_id") for t in range(tasks))
        return [node for nodes in every for node in nodes.tolist()]


def _node_names(context: Context, dataset: str) -> Sequence[object]:
    """Return the nodes' names in a graph of one's own; their rows where they have none.

    Raises:
        TaamctlError: it is not the graph that was split.
    """
    from taamctl.core.data_set import data_set
    from taamctl.datasets import _imported

    file = data_set(dataset).imported
    if file is None:
        return range(sys.maxsize)
    split = provenance.recorded(context.layout.file("split", dataset)) or {"key": {}}
    if split["key"].get("raw", {}).get(file.name) not in (None, provenance.sha256(file)):
        raise TaamctlError(
            f"{file} is not the graph any more that {dataset} was split from",
            f"make the runs again: taamctl run --dataset {dataset}",
        )
    names = _imported.read(file).given.node_id
    return range(sys.maxsize) if names is None else names.tolist()


def _of_another_split(context: Context, which: walk.Run) -> TaamctlError:
    return TaamctlError(
        f"{context.layout.file('infer', *which)} is of another split than the features",
        f"make it again: {context.layout.command('infer', *which)}",
    )
