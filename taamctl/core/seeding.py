"""One independent random stream per (seed, purpose, task), so that no draw depends on what was
drawn before it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import torch


def derive(seed: int, purpose: str, task: int = -1) -> int:
    """Return a 63-bit seed that is a pure function of its arguments.

    Args:
        seed: the run's base seed.
        purpose: what the stream is for, such as `backbone` or `modulator`.
        task: task index, or -1 where the draw belongs to no task.
    """
    digest = hashlib.sha256(f"{seed}/{purpose}/{task}".encode()).digest()
    return int.from_bytes(digest[:8], "little") >> 1


def torch_generator(seed: int, purpose: str, task: int = -1) -> torch.Generator:
    """Return a CPU generator for (seed, purpose, task); draw on the CPU and move, so that
    devices agree.
    """
    import torch

    return torch.Generator().manual_seed(derive(seed, purpose, task))


def numpy_generator(seed: int, purpose: str, task: int = -1) -> np.random.Generator:
    """Return a PCG64 generator for (seed, purpose, task)."""
    import numpy as np

    return np.random.Generator(np.random.PCG64(derive(seed, purpose, task)))
