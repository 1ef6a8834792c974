"""An array that is made a few rows at a time, to be written without ever being whole."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from taamctl.core.types import Array


@dataclass(frozen=True)
class Slices:
    """Rows of an array, in order.

    Attributes:
        shape: of the whole array.
        make: begins the pass: blocks [n, ...] whose rows make up the array.
        dtype: of the blocks, where that is not the one that is stored of such an array.
    """

    shape: tuple[int, ...]
    make: Callable[[], Iterable[Array]]
    dtype: str = ""

    def whole(self) -> Array:
        """Return the array."""
        blocks = list(self.make())
        return np.concatenate(blocks) if blocks else np.zeros(self.shape, np.float32)
