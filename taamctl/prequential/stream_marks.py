"""What a replay's answers are worth: accuracy over time, by class and by age, forgetting, unknown
nodes found.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.prequential.arrivals import Arrivals
from taamctl.store.artefacts import Artefact


@dataclass(frozen=True)
class Told:
    """A replay as stream.h5 has it; arrays as in the schema."""

    arrivals: Arrivals
    label: Array
    unknown: Array
    held: Array

    @staticmethod
    def read(file: Artefact) -> Told:
        """Read one."""
        arrivals = Arrivals(
            file.read("nodes/snapshot"),
            file.read("nodes/y"),
            file.read("nodes/shown").astype(bool),
            file.read("classes/first"),
            tuple(file.read("classes/name").tolist()),
        )
        names = ("ahead/label", "ahead/unknown", "held/label")
        return Told(arrivals, *(file.read(name) for name in names))

    @property
    def strange(self) -> Array:
        """Tell of every node whether it was asked for while its class was unknown, [N] bool."""
        arrivals = self.arrivals
        return np.asarray(arrivals.labelled & ~arrivals.known & (arrivals.snapshot > 0))


def share(right: Array) -> float:
    """Return the share that is true; NaN of nothing."""
    return float(right.mean()) if len(right) else float("nan")


def balanced(right: Array, y: Array) -> float:
    """Return the mean over the classes that occur of the share that is right; NaN of nothing."""
    if not len(y):
        return float("nan")
    nodes = np.bincount(y)
    found = np.bincount(y, right)
    return float((found[nodes > 0] / nodes[nodes > 0]).mean())


def marks(told: Told, seconds: Sequence[float]) -> dict[str, Plain]:
    """Return everything that is told of one replay, accuracies as fractions.

    Args:
        seconds: processor time of every snapshot.
    """
    arrivals = told.arrivals
    ahead = np.flatnonzero(arrivals.known)
    matrix = cohorts(told)
    return {
        "accuracy": balanced(*_ahead(told, ahead)),
        "accuracy_micro": share(_ahead(told, ahead)[0]),
        "held_accuracy": balanced(*_held(told, arrivals.count - 1)),
        "held_accuracy_micro": share(_held(told, arrivals.count - 1)[0]),
        "forgetting": forgetting(matrix),
        "known_nodes": len(ahead),
        "false_alarms": share(told.unknown[ahead] == 1),
        "unknown_nodes": int(told.strange.sum()),
        "unknown_found": share(told.unknown[told.strange] == 1),
        "cpu_s": float(sum(seconds)),
        "snapshots": [_snapshot(told, t, seconds[t]) for t in range(arrivals.count)],
        "classes": [_class(told, c) for c in range(len(arrivals.first))],
        "ages": _ages(told),
        "held_matrix": matrix.tolist(),
    }


def _ahead(told: Told, nodes: Array) -> tuple[Array, Array]:
    """Return whether nodes were right before their labels were shown, and their classes."""
    y = told.arrivals.y[nodes]
    return told.label[nodes] == y, y


def _held(told: Told, t: int) -> tuple[Array, Array]:
    """Return whether the held nodes that are there after a snapshot are right, and their
    classes.
    """
    arrivals = told.arrivals
    there = np.flatnonzero(arrivals.snapshot[arrivals.held] <= t)
    y = arrivals.y[arrivals.held][there]
    return told.held[t][there] == y, y


def cohorts(told: Told) -> Array:
    """Return [T, T] float64: row t, column s the balanced accuracy after snapshot t on the held
    nodes that arrived in snapshot s; NaN where s > t, or there are none.
    """
    arrivals = told.arrivals
    made = np.full((arrivals.count, arrivals.count), np.nan)
    came = arrivals.snapshot[arrivals.held]
    y = arrivals.y[arrivals.held]
    for s in range(arrivals.count):
        own = came == s
        for t in range(s, arrivals.count):
            made[t, s] = balanced(told.held[t][own] == y[own], y[own])
    return made


def forgetting(matrix: Array) -> float:
    """Return the mean over snapshots of what was lost on their held nodes from the end of that
    snapshot to the end; NaN without such nodes. Below 0 where it became better.
    """
    lost = (matrix.diagonal() - matrix[-1])[:-1]
    known = lost[~np.isnan(lost)]
    return float(known.mean()) if len(known) else float("nan")


def _snapshot(told: Told, t: int, seconds: float) -> dict[str, Plain]:
    arrivals = told.arrivals
    here = arrivals.snapshot == t
    ahead = np.flatnonzero(here & arrivals.known)
    strange = here & told.strange
    right, y = _ahead(told, ahead)
    held_right, held_y = _held(told, t)
    return {
        "snapshot": t + 1,
        "nodes": int(here.sum()),
        "new_classes": [arrivals.class_names[c] for c in np.flatnonzero(arrivals.first == t)],
        "known_nodes": len(ahead),
        "accuracy": balanced(right, y),
        "accuracy_micro": share(right),
        "false_alarms": share(told.unknown[ahead] == 1),
        "unknown_nodes": int(strange.sum()),
        "unknown_found": share(told.unknown[strange] == 1),
        "held_nodes": len(held_y),
        "held_accuracy": balanced(held_right, held_y),
        "held_accuracy_micro": share(held_right),
        "cpu_s": seconds,
    }


def _class(told: Told, c: int) -> dict[str, Plain]:
    arrivals = told.arrivals
    ahead = np.flatnonzero(arrivals.known & (arrivals.y == c))
    right, y = _held(told, arrivals.count - 1)
    return {
        "class": arrivals.class_names[c],
        "first_snapshot": int(arrivals.first[c]) + 1,
        "nodes": int((arrivals.labelled & (arrivals.y == c)).sum()),
        "known_nodes": len(ahead),
        "accuracy": share(_ahead(told, ahead)[0]),
        "held_nodes": int((y == c).sum()),
        "held_accuracy": share(right[y == c]),
    }


def _ages(told: Told) -> list[Plain]:
    """Return accuracy by how many snapshots ago a node's class was new when it arrived."""
    arrivals = told.arrivals
    ahead = np.flatnonzero(arrivals.known)
    age = arrivals.snapshot[ahead] - arrivals.first[arrivals.y[ahead]]
    found: list[Plain] = []
    for old in np.unique(age).tolist():
        right, y = _ahead(told, ahead[age == old])
        both = {"accuracy": balanced(right, y), "accuracy_micro": share(right)}
        found.append({"age": old, "nodes": len(y), **both})
    return found
