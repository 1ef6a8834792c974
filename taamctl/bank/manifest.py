"""The list of what belongs to a bank: `manifest.json`, and one copy per generation for going
back.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import BANK, Record
from taamctl.core.plain_values import Plain
from taamctl.store import atomic_files

FORMAT = BANK.versions.present
NAME = "manifest.json"
CREATE = "taamctl bank create"
OF_THE_FILE = ("format", "digest")  # what a manifest says of its file


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
        config: the parameters as they were recorded, those that this taamctl does not know too;
            `bank.config.from_plain` makes a configuration of them.
        num_features: F; None before the first task.
        feature_norm: `none`, `row` or `column`, fixed by the first task.
        shared: (file, sha256) of what all tasks share. router: the same of the solved router of
            just these tasks.
        tasks: in the order in which they were learned.
        gone: files of earlier generations that were deleted because they held what was forgotten.
        format, digest: of the file that it was read from, or written to: its version, and the
            checksum of everything that stands in it. They are not part of what it says.
    """

    generation: int
    action: str
    previous: str
    config: dict[str, Plain]
    num_features: int | None = None
    feature_norm: str | None = None
    shared: tuple[str, str] | None = None
    router: tuple[str, str] | None = None
    tasks: tuple[Entry, ...] = ()
    gone: tuple[str, ...] = ()
    format: int = field(default=FORMAT, compare=False)
    digest: str = field(default="", compare=False)

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


def write(folder: Path, manifest: Manifest) -> Manifest:
    """Write a generation: first its copy, then `manifest.json`, which makes it the bank's."""
    said = {key: value for key, value in asdict(manifest).items() if key not in OF_THE_FILE}
    record = {**BANK.stamp, **said}
    digest = digest_of(record)
    atomic_files.write_json(copy_of(folder, manifest.generation), {**record, "digest": digest})
    return adopt(folder, manifest.generation)


def adopt(folder: Path, generation: int) -> Manifest:
    """Make the copy of a generation the bank's, byte for byte."""
    copy = copy_of(folder, generation)
    atomic_files.write_text(folder / NAME, copy.read_text(encoding="utf-8"))
    return read(folder / NAME)


def digest_of(record: Mapping[str, Plain]) -> str:
    """Return the checksum of everything that a manifest says, as it is recorded.

    It covers what stands in the file, known or not; in format 1 the format itself was left out.
    """
    left_out = ("digest", "format") if record["format"] == 1 else ("digest",)
    said = {key: value for key, value in record.items() if key not in left_out}
    text = json.dumps(atomic_files.strict(said), sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()


def read(path: Path) -> Manifest:
    """Read one generation.

    Raises:
        TaamctlError: missing, broken, of a newer format, or changed after it was written.
    """
    if not path.is_file():
        raise TaamctlError(
            f"no bank in {path.parent}: no file {path}", f"make one with: {CREATE} DIR"
        )
    record = atomic_files.read_json(path)
    if not isinstance(record, dict) or "format" not in record:
        raise TaamctlError(
            f"{path} is no manifest of a bank",
            "copy the newest file of the folder manifests/ beside it over it",
        )
    now = BANK.read(record, str(path))
    digest = digest_of(record)
    if digest != record.get("digest"):
        raise _edited(path)
    try:
        return replace(_parsed(now), format=int(record["format"]), digest=digest)
    except (KeyError, TypeError, ValueError):
        raise _edited(path) from None


def _parsed(record: Record) -> Manifest:
    return Manifest(
        generation=int(record["generation"]),
        action=str(record["action"]),
        previous=str(record["previous"]),
        config=dict(record["config"]),
        num_features=record["num_features"],
        feature_norm=record["feature_norm"],
        shared=_stamp(record["shared"]),
        router=_stamp(record["router"]),
        tasks=tuple(_entry(task) for task in record["tasks"]),
        gone=tuple(str(file) for file in record.get("gone", ())),
    )


def _stamp(found: Plain) -> tuple[str, str] | None:
    """Return (file, sha256), or None."""
    if found is None:
        return None
    file, digest = found
    return str(file), str(digest)


def _entry(task: Record) -> Entry:
    low, high = task["bounds"]
    return Entry(**{**task, "classes": tuple(task["classes"]), "bounds": (int(low), int(high))})


def _edited(path: Path) -> TaamctlError:
    return TaamctlError(
        f"{path} does not match its own checksum: it was changed or damaged",
        "copy the newest file of the bank's folder manifests/ over it, then run: taamctl bank "
        "verify",
    )
