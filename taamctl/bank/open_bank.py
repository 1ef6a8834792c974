"""What a predictor needs of a bank, and of the features that it looks at."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from taamctl.core.types import Array

if TYPE_CHECKING:
    from taamctl.bank.config import Config
    from taamctl.bank.manifest import Manifest
    from taamctl.bank.router import Router
    from taamctl.bank.task_file import Shared, TaskState
    from taamctl.learning.contract.method import Method


class OpenBank(Protocol):
    """What a predictor needs of a bank."""

    @property
    def config(self) -> Config:
        """Return what it was made with."""

    @property
    def manifest(self) -> Manifest:
        """Return what it lists."""

    @property
    def shared(self) -> Shared:
        """Return what all tasks share."""

    @property
    def router(self) -> Router:
        """Return the solved router."""

    def task(self, position: int) -> TaskState:
        """Return what is kept of a task."""

    def expert(self, position: int) -> Method:
        """Return a task's own model."""


class HopRows(Protocol):
    """Hop features S^j X of some nodes."""

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Return rows [low, high) of S^hop X, [n, F] float32."""
