"""The sidecar: what made an artefact, on which machine, how long it took.

It is never part of an artefact's own bytes.
"""

from __future__ import annotations

import hashlib
import importlib.util
import os
import platform
import sys
import time
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from taamctl.core import memory, registry
from taamctl.core.plain_values import Plain

LIBRARIES = ("taamctl", "torch", "dgl", "ogb", "numpy", "scipy", "scikit-learn", "h5py")


def sidecar_of(path: Path) -> Path:
    """Return the sidecar's path of an artefact."""
    return path.with_name(f"{path.name}.provenance.json")


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def stamp(path: Path) -> dict[str, Plain]:
    """Return a file's sha256, and the size and modification time that let a later run trust it
    without reading it.
    """
    before = path.stat()
    return {"sha256": sha256(path), "size": before.st_size, "mtime_ns": before.st_mtime_ns}


def digest_of(path: Path, known: dict[str, Plain] | None = None) -> str:
    """Return a file's sha256, from its recorded stamp where size and modification time still
    agree.
    """
    if known is not None:
        now = path.stat()
        if known.get("size") == now.st_size and known.get("mtime_ns") == now.st_mtime_ns:
            return str(known["sha256"])
    return sha256(path)


def versions() -> dict[str, str]:
    """Return the versions of the libraries that can change a number, without importing them."""
    found = {"python": platform.python_version()}
    for name in LIBRARIES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            found[name] = "absent"
    return found


@cache
def code_digest(packages: tuple[str, ...]) -> str:
    """Return a sha256 over the source files of sub-packages or modules of taamctl, given by path
    inside it.

    Args:
        packages: such as `("core", "stream", "datasets/photo.py", "stages/split.py")`. A plug-in of
            another package is named as one of ours, `methods/<name>.py`; its files are found where
            they are, and count by name and content alone.
    """
    digest = hashlib.sha256()
    for name in packages:
        for file in _files(name):
            digest.update(f"{name}/{file.name}".encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


def _files(name: str) -> list[Path]:
    folder, _, rest = name.partition("/")
    plugin = rest.removesuffix(".py")
    if folder in ("methods", "datasets") and registry.is_outside(f"taamctl.{folder}", plugin):
        return list(registry.sources(f"taamctl.{folder}", plugin))
    path = Path(__file__).resolve().parent.parent / name
    if folder == "stages":
        path = _stages_folder() / rest
    return sorted(path.rglob("*.py")) if path.is_dir() else [path]


def _stages_folder() -> Path:
    """Return where the stage modules lie: beside the package in a checkout, inside it in a
    wheel.
    """
    found = importlib.util.find_spec("taamctl.stages")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("taamctl.stages is not importable: install the package (pip install .)")
    return Path(next(iter(found.submodule_search_locations)))


def cpu_seconds() -> float:
    """Return the CPU time of this process and its ended children, in seconds."""
    return sum(os.times()[:4])


def peak_memory_mib() -> float:
    """Return the peak resident memory of this process so far, in MiB."""
    return memory.peak() / (1 << 20)


@dataclass
class Clock:
    """Wall and CPU time since construction."""

    wall: float = field(default_factory=time.perf_counter)
    cpu: float = field(default_factory=cpu_seconds)

    def read(self) -> dict[str, float]:
        """Return seconds since construction, and the process's peak memory."""
        return {
            "wall_s": round(time.perf_counter() - self.wall, 3),
            "cpu_s": round(cpu_seconds() - self.cpu, 3),
            "peak_memory_mib": round(peak_memory_mib(), 1),
        }


def machine() -> dict[str, Plain]:
    """Return what the machine is: system, processor count, thread variables, and the torch
    device and threads if torch is loaded.
    """
    found: dict[str, Plain] = {"system": platform.platform(), "cpus": os.cpu_count()}
    torch = sys.modules.get("torch")
    if torch is not None:
        found["torch_threads"] = torch.get_num_threads()
        found["cuda"] = torch.cuda.get_device_name() if torch.cuda.is_available() else "none"
    return found
