"""Subnormal numbers count as zero: a rule of every number that taamctl computes.

A float32 below 1.2e-38 in size (a float64 below 2.2e-308) has no leading bit of its own. Many
processors handle such numbers in microcode, a hundred times slower than others. Softmax, and Adam's
moments of classes that no longer occur, make millions of them. So a processor that can is told to
take them for zero, as input and as result. It is told so thread by thread: a new thread starts as
the one that made it does (on Linux), a thread that was there before does not follow.
"""

from __future__ import annotations

import ctypes
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from taamctl.core import blas_buffers

RULE = "flushed to zero by the CPU"
PAUSE_HARD = 2  # omp_pause_hard of OpenMP 5: the threads of a pool end
SMALL = (1e-30, 1e-10)  # both normal in float32; their product is not
ELEMENTS = 1 << 16  # for every thread: more than torch computes in one piece


@contextmanager
def flushed() -> Iterator[None]:
    """Flush subnormal numbers inside, in this thread, in torch's threads, and in all threads that
    are started inside.

    Afterwards everything is as it was before: in a process that has other work too, that work is
    not changed.
    """
    import torch

    blas_buffers.take_for_numpy()  # all that computes begins here
    if flushes_here():
        _require_of_threads()
        yield
        return
    torch.set_flush_denormal(True)
    if not flushes_here():  # a processor that cannot; records say so
        yield
        return
    try:
        _end_openmp_threads()
        _require_of_threads()
        yield
    finally:
        torch.set_flush_denormal(False)
        _end_openmp_threads()


def flushes_here() -> bool:
    """Tell whether this thread takes subnormal numbers for zero."""
    one, other = (np.float32(size) for size in SMALL)
    with np.errstate(under="ignore"):
        return bool(one * other == 0)


def done_here() -> str:
    """Return what becomes of subnormal numbers in this thread, for records."""
    return RULE if flushes_here() else "kept: this processor cannot flush them"


def for_new_threads() -> Callable[[], None]:
    """Return what a new thread calls first, so that it treats subnormal numbers as this one does
    on every system.
    """
    wanted = flushes_here()

    def begin() -> None:
        import torch

        torch.set_flush_denormal(wanted)

    return begin


def threads_flush() -> bool:
    """Tell whether all threads that torch computes with here take subnormal numbers for zero;
    starts them where there are none.
    """
    import torch

    numbers = torch.full((ELEMENTS * torch.get_num_threads(),), SMALL[0])
    return not torch.count_nonzero(numbers.mul_(SMALL[1])).item()


def _require_of_threads() -> None:
    """See to it that torch's threads flush too: those that were there before do not follow this
    one.
    """
    if threads_flush():
        return
    _end_openmp_threads()
    if not threads_flush():
        warnings.warn(
            "torch has threads that keep subnormal numbers, so numbers below 1e-38 may differ: "
            "start taamctl in a process of its own",
            RuntimeWarning,
            stacklevel=4,
        )


def _end_openmp_threads() -> None:
    """End the threads that OpenMP keeps for this thread, by OpenMP's own call; new ones, made
    when they are needed, do as this thread.
    """
    from threadpoolctl import threadpool_info

    for library in threadpool_info():
        if library["user_api"] == "openmp":
            pause = getattr(
                ctypes.CDLL(library["filepath"]), "omp_pause_resource_all", None
            )  # since OpenMP 5.0
            if pause is not None:
                pause(ctypes.c_int(PAUSE_HARD))
