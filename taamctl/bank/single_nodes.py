"""A bank as it answers a node of which only a neighbourhood is known: calibrated as always, and
`unknown` by what the regression says of the node and its neighbours. How validation nodes would
look in its place takes the whole graph.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING

from taamctl.bank.config import Config
from taamctl.bank.manifest import Manifest
from taamctl.bank.router import Router
from taamctl.bank.task_file import Shared, TaskState
from taamctl.learning.contract.method import Method

if TYPE_CHECKING:
    from taamctl.bank.open_bank import OpenBank


@dataclass(frozen=True)
class SingleNodes:
    """A bank without what it learned of whole graphs, as a predictor needs it."""

    bank: OpenBank

    @cached_property
    def config(self) -> Config:
        """Return what it was made with, the temperature as fitted since."""
        made, honest = self.bank.config, self.bank.router.honest
        if honest is None:
            return made
        return replace(made, bank=replace(made.bank, temperature=honest.temperature))

    @property
    def manifest(self) -> Manifest:
        """Return what it lists."""
        return self.bank.manifest

    @property
    def shared(self) -> Shared:
        """Return what all tasks share."""
        return self.bank.shared

    @cached_property
    def router(self) -> Router:
        """Return the solved router."""
        return replace(self.bank.router, honest=None)

    def task(self, position: int) -> TaskState:
        """Return what is kept of a task."""
        return self.bank.task(position)

    def expert(self, position: int) -> Method:
        """Return a task's own model."""
        return self.bank.expert(position)
