"""One unit of training: one task of one stream.

A pure function of its arguments, which all go from machine to machine.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from taamctl.cluster import probe
from taamctl.core import subnormals
from taamctl.core.types import Array
from taamctl.learning.contract import replay_buffer
from taamctl.learning.contract.learn_stages import learn_stage
from taamctl.learning.contract.method import State
from taamctl.learning.contract.recipe import Recipe
from taamctl.runtime import provenance
from taamctl.store.feature_store import FeatureStore


class Learned(NamedTuple):
    """What a unit returns.

    Attributes:
        state, training, losses: as `learn_stage` returns them.
        cost: seconds and peak memory (MiB) where it was learned; empty for what a checkpoint held.
    """

    state: State
    training: State
    losses: Array
    cost: dict[str, float]


def learn(
    recipe: Recipe, expected: probe.Expected, made_by: str, stage: int, earlier: Sequence[Learned]
) -> Learned:
    """Learn one task.

    Args:
        recipe: what to learn it by.
        expected: the features' file, and what this process must have in common with the one that
            sent the unit.
        made_by: the command that makes that file.
        stage: the task's index.
        earlier: what the stages before returned, in order; empty where tasks are independent.
    """
    clock = provenance.Clock()
    with subnormals.flushed(), FeatureStore(Path(expected.file), made_by) as features:
        probe.require_here(
            expected
        )  # once it is open: whatever replaces the file from now on is not what is read
        make, load_task, sizes = recipe.begin(features)
        states = [done.state for done in earlier]
        made = learn_stage(
            make(),
            load_task,
            sizes,
            stage,
            (states, earlier[-1].training if earlier else {}),
            sum(map(replay_buffer.rows_of, states)),
        )
    return Learned(*made, clock.read())


def known(saved: Learned) -> Learned:
    """Return what a checkpoint held, for the units that build on it: as a unit it outlives the
    worker that has it.
    """
    return saved
