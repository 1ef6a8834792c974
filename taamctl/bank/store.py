"""A bank's folder: make it, change it one generation at a time, go back. A change writes new files first and the manifest last."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

from taamctl.bank import manifest as manifests
from taamctl.bank.config import Config
from taamctl.bank.manifest import Entry, Manifest
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance
from taamctl.runtime.lock import writing

OURS = re.compile(r"manifest\.json|manifests/\d{4,}\.json|(shared|router)-\d{4,}\.h5|tasks/\d{4,}-[0-9a-f]{8}\.h5")
NUMBER = re.compile(r"\d{4,}")  # the generation that a file was made for
Tell = Callable[[str], None]


def create(folder: Path, config: Config) -> Manifest:
    """Make an empty bank.

    Raises:
        TaamctlError: the folder holds something already.
    """
    if folder.exists() and (not folder.is_dir() or any(not p.name.startswith(".") for p in folder.iterdir())):
        raise TaamctlError(f"{folder} is there already and not empty", "choose a new folder for the bank")
    made = Manifest(0, f"created for {config.method}", "", config.plain())
    with writing(folder / manifests.NAME, wait=False, tell=lambda line: None):
        manifests.write(folder, made)
    return made


def current(folder: Path) -> Manifest:
    """Return the newest generation."""
    return manifests.read(folder / manifests.NAME)


def history(folder: Path) -> list[int]:
    """List the generations that have a copy, oldest first."""
    return sorted(int(p.stem) for p in (folder / "manifests").glob("*.json") if p.stem.isdigit())


@contextmanager
def changing(folder: Path, *, wait: bool, tell: Tell) -> Iterator[Manifest]:
    """Hold the bank's lock for the body, sweep what killed writers left, and yield the newest generation."""
    current(folder)  # before a lock file is put beside what is no bank
    with writing(folder / manifests.NAME, wait=wait, tell=tell):
        now = current(folder)
        for path in strays(folder):
            path.unlink(missing_ok=True)
            tell(f"removed {path}: an interrupted command left it")
        yield now


def listed(folder: Path) -> dict[str, str]:
    """Return file -> sha256 of everything that any generation lists; a broken copy lists nothing."""
    found: dict[str, str] = {}
    for generation in history(folder):
        try:
            found |= manifests.read(manifests.copy_of(folder, generation)).files
        except TaamctlError:
            continue
    return found


def strays(folder: Path) -> list[Path]:
    """Return what an interrupted command may have left: temporary files, and files of ours for a generation that never came to be."""
    newest = current(folder).generation
    mine = [p for p in files(folder) if p.name != "manifest.json" and OURS.fullmatch(p.relative_to(folder).as_posix())]
    late = [p for p in mine if int(NUMBER.findall(p.name)[0]) > newest]
    return sorted([*(p for p in folder.rglob(".*.tmp") if p.is_file()), *late])


def files(folder: Path) -> list[Path]:
    """Return every file below a bank's folder that is not hidden."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))


def commit(folder: Path, before: Manifest, after: Manifest) -> Manifest:
    """Write the generation after `before`; hold the lock."""
    made = replace(after, generation=before.generation + 1, previous=before.digest)
    manifests.write(folder, made)
    return made


def stamp(folder: Path, file: str) -> tuple[str, str]:
    """Return (file, sha256) of a file that was just written."""
    return file, provenance.sha256(folder / file)


def find(now: Manifest, number: int) -> Entry:
    """Return a task by its number."""
    for task in now.tasks:
        if task.number == number:
            return task
    raise TaamctlError(f"the bank has no task {number}; it has {', '.join(str(t.number) for t in now.tasks) or 'none'}")
