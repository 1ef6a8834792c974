"""Which files of a bank hold what is to be forgotten: those of earlier generations too."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
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


def touched_files(folder: Path, now: Manifest, keys: Array) -> Touched:
    """Look through the records of all task files that are there, of whatever generation.

    Args:
        keys: [K, 16] uint8, of the nodes.
    """
    wanted = frozenset(key.tobytes() for key in keys)
    listed: Mapping[str, str] = store.listed(folder)
    known: set[bytes] = set()
    holding: set[str] = set()
    first = NEVER
    for file, trained, found in _records(folder, listed, wanted):
        known |= found
        if found:
            holding.add(file)
        if found & trained:
            first = min(first, store.number_of(file))
    later = {
        file for file in listed if store.number_of(file) >= first and not file.startswith("shared-")
    }
    return Touched(wanted, frozenset(known), first, frozenset(holding | later))


def _records(
    folder: Path, listed: Mapping[str, str], wanted: frozenset[bytes]
) -> Iterator[tuple[str, set[bytes], set[bytes]]]:
    """Yield (file, keys that it was trained on, those of the wanted that it knows)."""
    for file in sorted(listed):
        if file.startswith("tasks/") and (folder / file).is_file():
            record = task_file.read_known(folder / file)
            trained = {key.tobytes() for key in record.key[record.part == TRAIN]}
            yield file, trained, {key.tobytes() for key in record.key} & wanted
