"""Write and read train.h5: what tasks share, and what every stage added."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

import numpy as np

from taamctl.core.types import Array, StreamInfo
from taamctl.store.artefact_writer import Writer
from taamctl.store.artefacts import Artefact

State = Mapping[str, Array]


def fill(
    writer: Writer,
    info: StreamInfo,
    facts: Mapping[str, object],
    shared: State,
    stage: Callable[[int], tuple[State, Array] | None],
    epochs: int,
) -> None:
    """Write a trained method.

    Args:
        facts: what tables and later stages need to know about the method; JSON.
        shared: arrays that all tasks share.
        stage: returns (state, losses) of a stage, or None where the stage has no model.
        epochs: width of the loss table.
    """
    writer.attribute("facts", json.dumps(facts, sort_keys=True))
    writer.put("stream/bounds", info.bounds)
    for name, array in shared.items():
        writer.put(f"shared/{name}", array)
    losses = np.full((info.num_tasks, epochs), np.nan, np.float32)
    for t in range(info.num_tasks):
        made = stage(t)
        if made is not None:
            losses[t, : len(made[1])] = made[1]
            for name, array in made[0].items():
                writer.put(f"stages/{t:02d}/{name}", array)
    writer.put("loss", losses)


def read(artefact: Artefact) -> tuple[State, list[State]]:
    """Return what `fill` wrote: shared arrays, and one state per stage (empty where the stage
    has no model).
    """

    def folder(below: str) -> State:
        if not artefact.has(below):
            return {}
        return {p.removeprefix(f"{below}/"): artefact.read(p) for p in artefact.paths(below)}

    num_tasks = artefact.shape("stream/bounds")[0]
    return folder("shared"), [folder(f"stages/{t:02d}") for t in range(num_tasks)]
