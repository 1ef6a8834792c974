"""The list of what belongs to a bank: `manifest.json`, and one copy per generation for going
back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

from taamctl.core.errors import TaamctlError
from taamctl.store import atomic_files

FORMAT = 1
NAME = "manifest.json"
CREATE = "taamctl bank create"


@dataclass(frozen=True)
class Entry:
    """One task of a bank.

    Attributes:
        number: the generation that learned it; it never changes, so it is the task's name.
        file, sha256: where it lies, below the bank's folder, and what its bytes are.
        classes: names of its classes, in the order of its outputs.
        bounds: its class ids [low, high) at the time when it was learned.
        train, val: how many nodes it was learned and calibrated on.
        source: name of the graph.
    """

    number: int
    file: str
    sha256: str
    classes: tuple[str, ...]
    bounds: tuple[int, int]
    train: int
    val: int
    source: str


@dataclass(frozen=True)
class Manifest:
    """One generation of a bank.

    Attributes:
        generation: 0 for a new bank; every change counts on.
        action: what made this generation, in words.
        previous: digest of the generation before; empty for the first.
        config: as `bank.config.Config.plain` returns it.
        num_features: F; None before the first task.
        feature_norm: `none` or `row`, fixed by the first task.
        shared: (file, sha256) of what all tasks share. router: the same of the solved router of
            just these tasks.
        tasks: in the order in which they were learned.
    """

    generation: int
    action: str
    previous: str
    config: dict[str, Any]
    num_features: int | None = None
    feature_norm: str | None = None
    shared: tuple[str, str] | None = None
    router: tuple[str, str] | None = None
    tasks: tuple[Entry, ...] = ()

    @property
    def digest(self) -> str:
        """Return the checksum of everything that it says."""
        return hashlib.sha256(
            json.dumps(atomic_files.strict(asdict(self)), sort_keys=True).encode()
        ).hexdigest()

    @property
    def files(self) -> dict[str, str]:
        """Return file -> sha256 of everything that it lists."""
        return dict(
            [stamp for stamp in (self.shared, self.router) if stamp]
            + [(t.file, t.sha256) for t in self.tasks]
        )

    @property
    def classes(self) -> tuple[str, ...]:
        """Return the class names of all tasks, in the order of the tasks."""
        return tuple(name for task in self.tasks for name in task.classes)

    @property
    def bounds(self) -> tuple[tuple[int, int], ...]:
        """Return [low, high) of every task in `classes`."""
        ends = [0]
        for task in self.tasks:
            ends.append(ends[-1] + len(task.classes))
        return tuple(pairwise(ends))


def copy_of(folder: Path, generation: int) -> Path:
    """Return where the copy of a generation lies."""
    return folder / "manifests" / f"{generation:04d}.json"


def write(folder: Path, manifest: Manifest) -> None:
    """Write a generation: first its copy, then `manifest.json`, which makes it the bank's."""
    record = {"format": FORMAT, "digest": manifest.digest, **asdict(manifest)}
    atomic_files.write_json(copy_of(folder, manifest.generation), record)
    atomic_files.write_json(folder / NAME, record)


def read(path: Path) -> Manifest:
    """Read one generation.

    Raises:
        TaamctlError: missing, broken, of another format, or changed after it was written.
    """
    if not path.is_file():
        raise TaamctlError(
            f"no bank in {path.parent}: no file {path}", f"make one with: {CREATE} DIR"
        )
    record = atomic_files.read_json(path)
    if not isinstance(record, dict) or "format" not in record:
        raise TaamctlError(f"{path} is no manifest of a bank")
    if record["format"] != FORMAT:
        raise TaamctlError(
            f"{path} has format {record['format']}, this taamctl reads {FORMAT}",
            "use the taamctl that wrote it",
        )
    try:
        made = _parsed(record)
    except (KeyError, TypeError, ValueError):
        raise _edited(path) from None
    if made.digest != record.get("digest"):
        raise _edited(path)
    return made


def _parsed(record: Mapping[str, Any]) -> Manifest:
    tasks = tuple(
        Entry(
            **{
                **t,
                "classes": tuple(t["classes"]),
                "bounds": (int(t["bounds"][0]), int(t["bounds"][1])),
            }
        )
        for t in record["tasks"]
    )
    stamps: dict[str, Any] = {
        key: None if record[key] is None else tuple(map(str, record[key]))
        for key in ("shared", "router")
    }
    rest = {
        key: value
        for key, value in record.items()
        if key not in ("format", "digest", "tasks", *stamps)
    }
    return Manifest(tasks=tasks, **stamps, **rest)


def _edited(path: Path) -> TaamctlError:
    return TaamctlError(
        f"{path} does not match its own checksum: it was changed or damaged",
        "copy the newest file of the bank's folder manifests/ over it, then run: taamctl bank "
        "verify",
    )
