"""Which files of a bank hold what is to be forgotten: those of earlier generations too."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from taamctl.bank import store, task_file
from taamctl.bank.manifest import Manifest
from taamctl.bank.node_record import TRAIN
from taamctl.core.types import Array

NEVER = 1 << 62  # later than every generation


@dataclass(frozen=True)
class Touched:
    """What nodes touched in a bank's folder.

    Attributes:
        wanted: keys of the nodes. known: those that any file knows.
        first: the generation whose sums were the first to have any of them.
        files: all files that hold something of them, of the present generation too.
    """

    wanted: frozenset[bytes]
    known: frozenset[bytes]
    first: int
    files: frozenset[str]

    def trained_before(self, file: str) -> bool:
        """Tell whether the bank's sums had any of the nodes when a file was made."""
        return store.number_of(file) >= self.first

    def gone(self, after: Manifest) -> set[str]:
        """Return the files that a generation has deleted because of these nodes."""
        return set(after.gone) & self.files


def touched_files(folder: Path, keys: Array) -> Touched:
    """Look through the records of all task files that are there, of whatever generation.

    Args:
        keys: [K, 16] uint8, of the nodes.
    """
    wanted = frozenset(key.tobytes() for key in keys)
    there = _there(folder)
    known: set[bytes] = set()
    holding: set[str] = set()
    first = NEVER
    tasks: set[str] = set()
    for file, trained, found in _records(folder, there, wanted):
        known |= found
        if found:
            holding.add(file)
        if found & trained:
            first = min(first, store.number_of(file))
            tasks.add(_task_of(file))
    # a file of such a task that is gone may have had them before any that is left
    gone = [f for f in store.listed(folder) if _task_of(f) in tasks and f not in there]
    first = min([first, *map(store.number_of, gone)])
    later = {
        file for file in there if store.number_of(file) >= first and not file.startswith("shared-")
    }
    return Touched(wanted, frozenset(known), first, frozenset(holding | later))


def _records(
    folder: Path, there: Sequence[str], wanted: frozenset[bytes]
) -> Iterator[tuple[str, set[bytes], set[bytes]]]:
    """Yield (file, keys that it was trained on, those of the wanted that it knows)."""
    for file in there:
        if file.startswith("tasks/"):
            record = task_file.read_known(folder / file)
            trained = {key.tobytes() for key in record.key[record.part == TRAIN]}
            yield file, trained, {key.tobytes() for key in record.key} & wanted


def _task_of(file: str) -> str:
    """Return what the names of all files of one task end with."""
    return file.rpartition("-")[2]


def _there(folder: Path) -> list[str]:
    """Return the files of all generations that are there, whether or not any manifest lists
    them.
    """
    names = (path.relative_to(folder).as_posix() for path in store.files(folder))
    return [name for name in names if store.OURS.fullmatch(name) and name.endswith(".h5")]
