"""Measure what this machine does per second, in about two seconds: products, propagation,
memory, sorting, disk.
"""

from __future__ import annotations

import os
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np

from taamctl.core.csr import torch_csr
from taamctl.core.late_torch import torch
from taamctl.core.types import CSR
from taamctl.core.units import MIB
from taamctl.planning.costs import HIDDEN, REFERENCE, Rates
from taamctl.planning.fit import nearest
from taamctl.propagation.backends import BACKENDS
from taamctl.propagation.operator import Operator

BUDGET = 0.12  # seconds for each of the quantities
ROWS, WIDTH = 4096, 512  # of the dense product
FILLED = 0.05  # of the sparse one
NODES, EACH, COLUMNS = 100_000, 8, 128  # 51 MB of rows: no cache holds them
GROUP = 20_000  # rows of 10 MB, which the last cache holds
KEYS = 1_000_000
COPIED = 64 * MIB
WRITTEN = 32 * MIB


def at_once(threads: int) -> int:
    """Return how many of so many threads this machine runs at once."""
    return min(threads, os.cpu_count() or 1)


def packaged(threads: int) -> Rates:
    """Return the packaged rates for so many threads, as far as this machine runs them at once."""
    return REFERENCE.on(at_once(threads))


def measure(folder: Path, threads: int, device: str = "cpu") -> Rates:
    """Return this machine's rates.

    Args:
        folder: where artefacts will lie; a file of 32 MiB is written to the nearest folder that
            exists, and removed.
        threads: CPU threads of the products, as far as the machine runs them at once.
        device: `cuda` measures the dense products on the GPU.
    """
    cpus = os.cpu_count() or 1
    copy = _copy()
    before = torch.get_num_threads()
    # one core's rate times their number: as training works, and as little disturbed by other
    # programs as can be
    torch.set_num_threads(1)
    try:
        one = Rates(
            "measured",
            device,
            1,
            dense=_dense(torch.float32, device),
            dense_bf16=_dense(torch.bfloat16, device),
            sparse=_sparse(),
            near=_propagation(GROUP) * cpus,
            far=_propagation(NODES) * cpus,
            copy=copy,
            lanes=copy,
            sort=_sort(),
            disk=_disk(folder),
        )
    finally:
        torch.set_num_threads(before)
    threads = at_once(threads)
    if device == "cuda":
        return replace(one, threads=threads, sparse=one.sparse * threads, lanes=_gpu_copy())
    return one.on(threads)


def rate(work: Callable[[], object], amount: float, budget: float = BUDGET) -> float:
    """Return units per second: the best of as many calls as fit the budget, at least one beside
    a first one that does not count.
    """
    work()
    best, end = float("inf"), time.perf_counter() + budget
    while True:
        began = time.perf_counter()
        work()
        now = time.perf_counter()
        best = min(best, now - began)
        if now >= end:
            return amount / max(best, 1e-9)


def _dense(kind: torch.dtype, device: str) -> float:
    a = torch.rand(ROWS, WIDTH).to(device, kind)
    b = torch.rand(WIDTH, HIDDEN).to(device, kind)

    def work() -> None:
        a @ b
        if device == "cuda":
            torch.cuda.synchronize()

    return rate(work, 2.0 * ROWS * WIDTH * HIDDEN)


def _sparse() -> float:
    """Return float operations per second of a product with a random CSR tensor."""
    each = int(FILLED * WIDTH)
    drawn = np.random.default_rng(0).integers(0, WIDTH, (ROWS, each), dtype=np.int32)
    a = torch_csr(
        np.arange(0, ROWS * each + 1, each),
        np.sort(drawn, axis=1).ravel(),
        np.ones(ROWS * each, np.float32),
        (ROWS, WIDTH),
    )
    b = torch.rand(WIDTH, HIDDEN)
    return rate(lambda: a @ b, 2.0 * ROWS * each * HIDDEN)


def _propagation(nodes: int) -> float:
    """Return edges x columns per second of the default backend's step on a random graph."""
    indices = np.random.default_rng(0).integers(0, nodes, nodes * EACH, dtype=np.int32)
    indptr = np.arange(0, nodes * EACH + 1, EACH)
    edges = CSR(indptr, indices, np.ones(len(indices), np.float32), (nodes, nodes))
    step = BACKENDS["torch"](Operator(edges, np.full(nodes, float(EACH))))
    z = np.ones((nodes, COLUMNS), np.float32)
    return rate(lambda: step(z), float(nodes * EACH * COLUMNS))


def _copy() -> float:
    a = np.ones(COPIED // 4, np.float32)
    b = np.empty_like(a)
    return rate(lambda: np.copyto(b, a), float(COPIED))


def _gpu_copy() -> float:
    a = torch.ones(COPIED // 4, device="cuda")
    b = torch.empty_like(a)

    def work() -> None:
        b.copy_(a)
        torch.cuda.synchronize()

    return rate(work, float(COPIED))


def _sort() -> float:
    keys = np.random.default_rng(0).integers(0, 1 << 60, KEYS)
    return rate(lambda: np.sort(keys, kind="stable"), KEYS * float(np.log2(KEYS)))


def _disk(folder: Path) -> float:
    """Return bytes per second to the disk itself; the reference rate where the folder cannot be
    written.
    """
    block = os.urandom(MIB)
    try:
        with tempfile.TemporaryFile(dir=nearest(folder)) as file:
            began = time.perf_counter()
            for _ in range(WRITTEN // MIB):
                file.write(block)
            file.flush()
            os.fsync(file.fileno())
            return WRITTEN / max(time.perf_counter() - began, 1e-9)
    except OSError:
        return REFERENCE.disk
