"""A bank's folder: make it, change it one generation at a time, go back.

A change writes new files first and the manifest last.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from shlex import quote

from taamctl.bank import manifest as manifests
from taamctl.bank.config import Config
from taamctl.bank.manifest import Entry, Manifest
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance
from taamctl.store.lock import writing

OURS = re.compile(
    r"manifest\.json|manifests/\d{4,}\.json|(shared|router)-\d{4,}\.h5|tasks/\d{4,}-[0-9a-f]{8}\.h5"
)
NUMBER = re.compile(r"\d{4,}")  # the generation that a file was made for
Tell = Callable[[str], None]


def create(folder: Path, config: Config) -> Manifest:
    """Make an empty bank.

    Raises:
        TaamctlError: the folder holds something already.
    """
    _require_new(folder)
    made = Manifest(0, f"created for {config.method}", "", config.plain())
    with writing(folder / manifests.NAME, wait=False, tell=lambda line: None):
        _require_new(folder)
        for path in [*folder.rglob("*.tmp"), manifests.copy_of(folder, 0)]:
            path.unlink(missing_ok=True)
        return manifests.write(folder, made)


def _require_new(folder: Path) -> None:
    """Refuse a folder that holds something else than what a killed `create` left there."""
    first = manifests.copy_of(folder, 0)
    left = {first.parent, first}
    if folder.exists() and (not folder.is_dir() or {*folder.rglob("[!.]*")} - left):
        raise TaamctlError(
            f"{folder} is there already and not empty", "choose a new folder for the bank"
        )


def current(folder: Path) -> Manifest:
    """Return the newest generation."""
    return manifests.read(folder / manifests.NAME)


def history(folder: Path) -> list[int]:
    """List the generations that have a copy, oldest first."""
    return sorted(int(p.stem) for p in (folder / "manifests").glob("*.json") if p.stem.isdigit())


@contextmanager
def changing(folder: Path, *, wait: bool, tell: Tell) -> Iterator[Manifest]:
    """Hold the bank's lock for the body, sweep what killed writers left, and yield the newest
    generation.
    """
    current(folder)  # before a lock file is put beside what is no bank
    with writing(folder / manifests.NAME, wait=wait, tell=tell):
        now = _caught_up(folder, current(folder), tell)
        for path in [*strays(folder), *(folder / file for file in not_yet_gone(folder, now))]:
            path.unlink(missing_ok=True)
            tell(f"removed {path}: an interrupted command left it")
        yield now


def not_yet_gone(folder: Path, now: Manifest) -> list[str]:
    """Return the files that hold what was forgotten and are still there: a command that was killed
    after its generation was written leaves them.
    """
    return [file for file in now.gone if OURS.fullmatch(file) and (folder / file).exists()]


def _caught_up(folder: Path, now: Manifest, tell: Tell) -> Manifest:
    """Return the newest whole generation that follows from `manifest.json`, and make it that.

    The copy of a generation is written before `manifest.json`: a command that was killed between
    the two, or an older `manifest.json` that was put back, leaves whole generations behind it, and
    a change on top of the older one would lose what was learned.
    """
    for generation in history(folder):
        try:
            later = manifests.read(manifests.copy_of(folder, generation))
            if later.generation == now.generation + 1 and later.previous == now.digest:
                require(folder, later)
                now = manifests.adopt(folder, generation)
                tell(f"generation {generation} is whole and follows: it is the bank's now")
        except TaamctlError:
            continue
    return now


def require(folder: Path, now: Manifest) -> None:
    """Refuse to build on files that are not those that a generation lists.

    Raises:
        TaamctlError: one is missing, or was changed or damaged.
    """
    for file, digest in now.files.items():
        if not (folder / file).is_file() or provenance.sha256(folder / file) != digest:
            raise TaamctlError(
                f"{folder / file} is missing, or not the file that the bank lists",
                f"taamctl bank verify {quote(str(folder))} tells all that is wrong",
            )


def listed(folder: Path) -> dict[str, str]:
    """Return file -> sha256 of everything that any generation lists; a broken copy lists
    nothing.
    """
    found: dict[str, str] = {}
    for generation in history(folder):
        try:
            found |= manifests.read(manifests.copy_of(folder, generation)).files
        except TaamctlError:
            continue
    return found


def strays(folder: Path) -> list[Path]:
    """Return what an interrupted command may have left: temporary files, and files of ours for a
    generation that never came to be.
    """
    newest, kept = current(folder).generation, listed(folder)
    mine = [
        p
        for p in files(folder)
        if p.name != "manifest.json" and OURS.fullmatch(p.relative_to(folder).as_posix())
    ]
    late = [
        p
        for p in mine
        if number_of(p.name) > newest and p.relative_to(folder).as_posix() not in kept
    ]
    return sorted([*(p for p in folder.rglob(".*.tmp") if p.is_file()), *late])


def number_of(file: str) -> int:
    """Return the generation that a file was made for."""
    return int(NUMBER.findall(Path(file).name)[0])


def files(folder: Path) -> list[Path]:
    """Return every file below a bank's folder that is not hidden."""
    return sorted(p for p in folder.rglob("*") if p.is_file() and not p.name.startswith("."))


def commit(folder: Path, before: Manifest, after: Manifest) -> Manifest:
    """Write the generation after `before`; hold the lock."""
    made = replace(after, generation=before.generation + 1, previous=before.digest)
    return manifests.write(folder, made)


def stamp(folder: Path, file: str) -> tuple[str, str]:
    """Return (file, sha256) of a file that was just written."""
    return file, provenance.sha256(folder / file)


def find(now: Manifest, number: int) -> Entry:
    """Return a task by its number."""
    for task in now.tasks:
        if task.number == number:
            return task
    raise TaamctlError(
        f"the bank has no task {number}; it has "
        f"{', '.join(str(t.number) for t in now.tasks) or 'none'}",
        "taamctl bank list DIR lists the tasks",
    )
