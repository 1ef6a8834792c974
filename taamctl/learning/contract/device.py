"""Pick the device and pin the threads: both decide the last bits of a training run."""

from __future__ import annotations

import ctypes
import importlib.util
import os
import runpy
import sys
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.late_torch import torch

# NVIDIA's driver, without which torch sees no device, by the start of sys.platform
DRIVERS = {"linux": "libcuda.so.1", "win32": "nvcuda.dll"}


def kind(name: str) -> str:
    """Return `cpu` or `cuda` for `auto`, `cpu` or `cuda`. torch is asked, which is two seconds of
    CPU, only where there may be a GPU.

    Raises:
        TaamctlError: as `resolve`.
    """
    if name == "cpu" or (name == "auto" and _is_for_cpu_alone()):
        return "cpu"
    return resolve(name).type


def _is_for_cpu_alone() -> bool:
    """Tell whether torch surely sees no GPU: it was built without, or there is no driver."""
    if "torch" in sys.modules:  # asking it costs nothing
        return False
    built = _build()
    if "cuda" not in built or built.get("hip") is not None:
        return False
    if built["cuda"] is None:
        return True
    try:
        ctypes.CDLL(DRIVERS[sys.platform])
    except KeyError:
        return False
    except OSError:
        return True
    return False


def _build() -> dict[str, object]:
    """Return what torch's `version.py` says, without importing torch; nothing where it is not."""
    found = importlib.util.find_spec("torch")
    if found is None or found.origin is None:
        return {}
    file = Path(found.origin).with_name("version.py")
    if not file.is_file():
        return {}
    return runpy.run_path(str(file))


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
    """Pin thread count, float32 precision and the order of sums, so that a result depends on
    parameters, seed and data alone.
    """
    torch.set_num_threads(threads)
    if device.type == "cuda":
        torch.backends.cuda.matmul.allow_tf32 = False
        # cuBLAS reads it when it is first used.
        os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # Else threads add to the gradient of a row that was picked several times as they come, on a CPU
    # too. Where an operation has no such variant, torch warns and goes on.
    # `use_deterministic_algorithms` is the same, and imports a compiler, a second of CPU.
    torch.set_deterministic_debug_mode("warn")
    # It would also fill new arrays, which only takes time.
    torch.utils.deterministic.fill_uninitialized_memory = False  # type: ignore[attr-defined]


def name(device: torch.device) -> str:
    """Return what a record calls the device: its product name, or `cpu`."""
    return str(torch.cuda.get_device_name(device)) if device.type == "cuda" else device.type
