"""Graphs that come into a folder, answered one after another by one loaded bank.

What was done stands in the names: `NAME.h5`, the checksum of whose bytes begins with 1a2b3c4d, is
answered by `NAME.h5.1a2b3c4d.csv`, or refused by `NAME.h5.1a2b3c4d.refused.txt`. So a watcher that
is started again does nothing twice, and a file that comes with other bytes is answered again.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from glob import escape
from pathlib import Path
from shlex import quote

from taamctl.bank import answers
from taamctl.bank.answers import Answers
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance
from taamctl.store.atomic_files import write_text
from taamctl.store.lock import writing

# tables are no graphs, and are refused with a word on how to import them
TAKEN = (".h5", ".csv", ".tsv", ".txt", ".parquet", ".xlsx")
REFUSED = ".refused.txt"
LETTERS = 200  # bytes; a system's names have 255
Stamp = tuple[int, int, int]  # size, time of the last change, number of the file
Ask = Callable[[Path], Answers]
Tell = Callable[[str], None]


@dataclass
class WatchedFolder:
    """A folder that graphs come into, and one for the answers.

    Attributes:
        folder, into: these two. ending: of an answer's name, such as `.csv`.
        ask: answers a graph file; a TaamctlError refuses it.
        tell: gets a line for people.
    """

    folder: Path
    into: Path
    ending: str
    ask: Ask
    tell: Tell
    _seen: dict[Path, Stamp] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise TaamctlError(
                f"--watch {self.folder}: no such folder", f"mkdir {quote(str(self.folder))}"
            )
        if self.into.resolve() == self.folder.resolve():
            raise TaamctlError(
                f"--into {self.into}: answers would be taken for what has come",
                "name another folder, or leave --into out: answers go into its folder answers",
            )

    def results(self, every: float, *, once: bool) -> Iterator[Path]:
        """Yield the path of every answer and refusal, as soon as it is written.

        A file is taken when it has not changed between two looks.

        Args:
            every: seconds between two looks. once: end after the second look.

        Raises:
            TaamctlError: another process writes into `into`, or it cannot be written.
        """
        with writing(self.into / "answers", wait=False, tell=self.tell):
            before = self._look()
            while True:
                time.sleep(every)
                now = self._look()
                for path, stamp in now.items():
                    if before.get(path) == stamp:
                        yield from self._take(path, stamp)
                    elif once:
                        self.tell(f"{path} is still being written: left for the next time")
                if once:
                    return
                before = now

    def _look(self) -> dict[Path, Stamp]:
        """Return what lies in the folder, by name."""
        found = {}
        try:
            there = sorted(self.folder.iterdir())
        except OSError as error:
            raise TaamctlError(
                f"--watch {self.folder} cannot be read any more: {error.strerror}",
                "put it there again, and run the same command again: nothing is done twice",
            ) from None
        for path in there:
            if path.suffix in TAKEN and not path.name.startswith(".") and path.is_file():
                stamp = _stamp(path)
                if stamp is not None:
                    found[path] = stamp
        return found

    def _take(self, path: Path, stamp: Stamp) -> Iterator[Path]:
        """Answer or refuse a file, unless that is done."""
        if self._seen.get(path) == stamp:
            return
        try:
            name = f"{_begin(path.name)}.{provenance.sha256(path)[:8]}"
        except OSError as error:
            self.tell(f"{path} cannot be read: {error.strerror}")
            self._seen[path] = stamp
            return
        answer = self.into / f"{name}{self.ending}"
        refusal = self.into / f"{name}{REFUSED}"
        if not answer.exists() and not refusal.exists():
            try:
                found = self.ask(path)
            except TaamctlError as error:
                if _stamp(path) != stamp:  # taken away or written anew in the meantime
                    return
                write_text(refusal, f"error: {error.message}\nhint: {error.hint}\n")
                self.tell(f"{path} is refused: {error.message}")
                yield refusal
            else:
                if _stamp(path) != stamp:
                    return
                answers.save(found, answer)
                self._tell_of(path, found)
                self._forget_refusals(path)
                yield answer
        self._seen[path] = stamp

    def _tell_of(self, path: Path, found: Answers) -> None:
        for note in found.notes:
            self.tell(f"warning: {path}: {note}")
        unknown = int(found.unknown.sum())
        self.tell(f"{path}: {len(found.label):,} nodes, {unknown:,} of them unknown")

    def _forget_refusals(self, path: Path) -> None:
        """Remove what was said of earlier bytes of a file that is answered now."""
        for old in self.into.glob(f"{escape(_begin(path.name))}.{'[0-9a-f]' * 8}{REFUSED}"):
            old.unlink()


def _begin(name: str) -> str:
    """Return as much of a file's name as leaves room for what an answer's name, and that of the
    file that it is written to first, have more; the checksum tells what the rest told.
    """
    whole = os.fsencode(name)
    if len(whole) <= LETTERS:
        return name
    return whole[:LETTERS].decode(errors="ignore")


def _stamp(path: Path) -> Stamp | None:
    """Return what changes when a file is written; None where it is gone."""
    with suppress(OSError):
        facts = path.stat()
        return facts.st_size, facts.st_mtime_ns, facts.st_ino
    return None
