"""Write the tasks of a generation, and what it lists of them."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from taamctl.bank import router, store, task_file
from taamctl.bank.manifest import Entry, Manifest
from taamctl.bank.node_record import TRAIN, VAL
from taamctl.bank.task_file import TaskState


def file_of(generation: int, classes: Sequence[str]) -> str:
    """Return the name of a task's file in a bank's folder."""
    digest = hashlib.sha256("/".join(classes).encode()).hexdigest()[:8]
    return f"tasks/{generation:04d}-{digest}.h5"


def rewritten(folder: Path, now: Manifest, changed: Mapping[int, TaskState]) -> tuple[Entry, ...]:
    """Write tasks that are not as they were, for the generation after `now`; return the entries of
    all tasks.

    Args:
        changed: by position.
    """
    entries = list(now.tasks)
    for position, task in sorted(changed.items()):
        entry = entries[position]
        file = file_of(now.generation + 1, task.classes)
        made_from = {"bank": now.config, "number": entry.number}
        task_file.write_task(folder / file, task, made_from)
        entries[position] = _entry(entry, task, store.stamp(folder, file))
    return tuple(entries)


def committed(
    folder: Path,
    before: Manifest,
    now: Manifest,
    task: TaskState,
    changed: Mapping[int, TaskState],
    solved: router.Router,
    graph: str,
) -> Manifest:
    """Write the files of a learned task and of the router, and commit the next generation.

    Args:
        before: the manifest that is there. now: the same with what the task changed.
        changed: by position, the older tasks whose rows see the new nodes.
        graph: name of the one that it was learned from.
    """
    number, names = before.generation + 1, task.classes
    older = rewritten(folder, before, changed)
    file = file_of(number, names)
    task_file.write_task(folder / file, task, {"bank": now.config, "number": number})
    solved_file = f"router-{number:04d}.h5"
    task_file.write_router(folder / solved_file, solved, {"bank": now.config})
    entry = Entry(number, *store.stamp(folder, file), names, task.bounds, *task.nodes, graph)
    now = replace(
        now,
        action=f"learned task {number}: {', '.join(names)}",
        tasks=(*older, entry),
        router=store.stamp(folder, solved_file),
    )
    return store.commit(folder, before, now)


def _entry(entry: Entry, task: TaskState, stamp: tuple[str, str]) -> Entry:
    """Return a task's entry with another file, and the nodes that it knows now."""
    assert task.exact is not None
    part = task.exact().record.part
    train, val = int((part == TRAIN).sum()), int((part == VAL).sum())
    return replace(entry, file=stamp[0], sha256=stamp[1], train=train, val=val)
