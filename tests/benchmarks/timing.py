"""What all benchmarks share: interleaved best times, exponents, and the machine."""

from __future__ import annotations

import os
import platform
import time
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from scipy.optimize import nnls

Work = dict[str, Callable[[], object]]


def best(
    work: Work, rounds: int, clock: Callable[[], float] = time.perf_counter
) -> dict[str, float]:
    """Return the best time of each candidate in seconds, rounds interleaved so that a busy
    moment hits all of them.
    """
    seconds = dict.fromkeys(work, float("inf"))
    for _ in range(rounds):
        for name, run in work.items():
            began = clock()
            run()
            seconds[name] = min(seconds[name], clock() - began)
    return seconds


def exponent(sizes: Sequence[float], seconds: Sequence[float]) -> float:
    """Return b of seconds = a size^b, by least squares over the logarithms."""
    return float(np.polyfit(np.log(sizes), np.log(seconds), 1)[0])


def growth(sizes: Sequence[float], seconds: Sequence[float]) -> tuple[float, float]:
    """Return (c, a) of seconds = a + b size^c, a >= 0: how the part grows that does grow, and the
    seconds that do not.

    Least squares of relative errors, over c in steps of 0.01.
    """
    s, t = np.asarray(sizes, float) / sizes[0], np.asarray(seconds)
    fits = []
    for c in np.arange(0.3, 2.005, 0.01):
        (a, _), residual = nnls(
            np.stack([np.ones_like(s), s**c], axis=1) / t[:, None], np.ones_like(t)
        )
        fits.append((residual, float(c), float(a)))
    _, c, a = min(fits)
    return c, a


def machine() -> dict[str, object]:
    """Return what the numbers were measured on."""
    import torch

    named = (
        line.split(":")[1].strip()
        for line in _lines(Path("/proc/cpuinfo"))
        if line.startswith("model name")
    )
    model = next(named, platform.machine())
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    return {
        "processor": model,
        "cores": os.cpu_count(),
        "memory_gib": round(memory, 1),
        "system": platform.platform(),
        "python": platform.python_version(),
        "torch": torch.__version__,
    }


def _lines(path: Path) -> list[str]:
    try:
        return path.read_text().splitlines()
    except OSError:
        return []
