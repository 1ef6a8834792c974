"""The sidecar: what made an artefact, on which machine, how long it took.

It is never part of an artefact's own bytes.
"""

from __future__ import annotations

import hashlib
import os
import platform
import sys
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from taamctl.core import memory
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.store import atomic_files

SMALL = 1 << 20  # bytes
IMPORT = "import"  # what made a user's own graph, in place of a stage
# Import name -> distribution of the libraries that can change a bit of a result.
LIBRARIES = {
    "numpy": "numpy",
    "scipy": "scipy",
    "torch": "torch",
    "sklearn": "scikit-learn",
    "h5py": "h5py",
    "pandas": "pandas",
    "dgl": "dgl",
    "ogb": "ogb",
    "matplotlib": "matplotlib",
    "jinja2": "jinja2",
}


def sidecar_of(path: Path) -> Path:
    """Return the sidecar's path of an artefact."""
    return path.with_name(f"{path.name}.provenance.json")


def sha256(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def recorded(path: Path) -> dict[str, Plain] | None:
    """Return what the sidecar of an artefact holds, or None where there is none of the right
    shape.
    """
    try:
        record = atomic_files.read_json(sidecar_of(path))
    except (TaamctlError, OSError):
        return None
    whole = isinstance(record, dict) and all(
        isinstance(record.get(k), dict) for k in ("key", "outputs", "asked", "raw", "cost")
    )
    return record if whole else None


def stamp_in(record: Mapping[str, Plain], path: Path) -> Plain:
    """Return the stamp that a record holds of a file, or None. A user's own graph may have been
    renamed since, with its record.
    """
    outputs = record["outputs"]
    if record.get("stage") == IMPORT:
        return next(iter(outputs.values()), None)
    return outputs.get(path.name)


def stamp(path: Path) -> dict[str, Plain]:
    """Return a file's sha256, and the size and modification time that let a later run trust it
    without reading it.
    """
    before = path.stat()
    return {"sha256": sha256(path), "size": before.st_size, "mtime_ns": before.st_mtime_ns}


def stamp_of(stamps: Mapping[str, Plain], path: Path) -> Plain:
    """Return what a record says of a raw file; on a cluster its path was written in full."""
    return stamps.get(str(path), stamps.get(str(path.absolute())))


def digest_of(path: Path, known: Plain = None) -> str:
    """Return a file's sha256, from its recorded stamp where size and modification time still
    agree.
    """
    return str(known["sha256"]) if _agrees(path, known) else sha256(path)


def artefact_digest(path: Path, known: Plain = None) -> str:
    """Return the same of an artefact, whose time DVC, a copy or a clone may have changed: then a
    hidden stamp beside it keeps the file from being read each time.
    """
    if path.stat().st_size < SMALL:  # rot may keep the time, and reading it costs nothing
        return sha256(path)
    if _agrees(path, known):
        return str(known["sha256"])
    beside = path.with_name(f".{path.name}.stamp")
    with suppress(TaamctlError, OSError):
        later = atomic_files.read_json(beside)
        if isinstance(later, dict) and _agrees(path, later):
            return str(later["sha256"])
    now = stamp(path)
    with suppress(TaamctlError, OSError):  # in a folder that cannot be written it is read again
        atomic_files.write_json(beside, now)
    return str(now["sha256"])


def _agrees(path: Path, known: Plain) -> bool:
    """Tell whether a file has the size and modification time of a stamp."""
    if not isinstance(known, dict) or "sha256" not in known:
        return False
    now = path.stat()
    return (known.get("size"), known.get("mtime_ns")) == (now.st_size, now.st_mtime_ns)


def versions() -> dict[str, str]:
    """Return the versions of all libraries that can change a number, without importing them."""
    names = ("taamctl", *LIBRARIES.values())
    return {"python": platform.python_version(), **{name: installed(name) for name in names}}


@cache
def installed(distribution: str) -> str:
    """Return a library's version, without importing it; `absent` where it is not installed."""
    try:
        return metadata.version(distribution)
    except metadata.PackageNotFoundError:
        return "absent"


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
