"""An array of an artefact of which one row is in memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TypeVar

import numpy as np

from taamctl.core.types import Array
from taamctl.store.artefacts import Artefact

T = TypeVar("T")


def by_part(read: Callable[[str], T], names: Iterable[str]) -> dict[str, dict[str, T]]:
    """Return what is read of the val and the test part, by part and name."""
    wanted = tuple(names)
    return {part: {name: read(f"{part}/{name}") for name in wanted} for part in ("val", "test")}


class OneRow:
    """Rows of an array of numbers, [R, ...]; the last one asked for is held.

    Rows asked for in order are checked against the array's checksum, at the end.
    """

    def __init__(self, artefact: Artefact, path: str) -> None:
        self._artefact = artefact
        self._path = path
        self._rows = artefact.shape(path)[0]
        self._at = -1
        self._row: Array = np.zeros(0)

    def __len__(self) -> int:
        return self._rows

    def __getitem__(self, row: int, /) -> Array:
        """Return a row; -1 is the last.

        Raises:
            TaamctlError: the array was damaged.
        """
        at = range(self._rows)[row]
        if at != self._at:
            self._row = self._artefact.rows(self._path, at, at + 1)[0]
            self._at = at
        return self._row
