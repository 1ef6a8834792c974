"""Pick the device and pin the threads: both decide the last bits of a training run."""

from __future__ import annotations

import os

import torch

from taamctl.core.errors import TaamctlError


def resolve(name: str) -> torch.device:
    """Return the torch device for `auto`, `cpu` or `cuda`.

    Raises:
        TaamctlError: `cuda` is asked for and there is none.
    """
    if name == "auto":
        name = "cuda" if torch.cuda.is_available() else "cpu"
    if name == "cuda" and not torch.cuda.is_available():
        raise TaamctlError(
            "train.device is cuda but this torch sees no CUDA device",
            "set train.device to auto or cpu; `taamctl doctor` tells what is there",
        )
    return torch.device(name)


def pin(device: torch.device, threads: int) -> None:
    """Pin thread count and float32 precision, so that a result depends on parameters, seed and
    data alone.
    """
    torch.set_num_threads(threads)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        # Sums in one order. cuBLAS reads the variable when it is first used; where an operation has
        # no such variant, torch warns and goes on.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
        torch.use_deterministic_algorithms(True, warn_only=True)


def name(device: torch.device) -> str:
    """Return what a record calls the device: its product name, or `cpu`."""
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else device.type
