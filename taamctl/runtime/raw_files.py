"""Find raw data files wherever a data root keeps them.

A data root is a folder. `--data-root` names it, else the environment variable TAAMCTL_DATA, else it
is ~/.cache/taamctl/data. Downloads go to ROOT/<data set>/; what other tools have put into ROOT is
found in their layouts.
"""

from __future__ import annotations

import io
import os
import shutil
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO

from taamctl.core.data_set import DataSet
from taamctl.core.errors import TaamctlError

VARIABLE = "TAAMCTL_DATA"
UNREADABLE = (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error)


@dataclass(frozen=True)
class Source:
    """A raw file: a plain one, or the member of a zip archive that is read where it lies."""

    path: Path
    member: str = ""

    def __str__(self) -> str:
        """Return the path, and the member after `::`."""
        return f"{self.path}::{self.member}" if self.member else str(self.path)

    def sibling(self, name: str) -> Source:
        """Return the file called `name` in the same folder or archive folder."""
        if self.member:
            return Source(self.path, str(PurePosixPath(self.member).with_name(name)))
        return Source(self.path.with_name(name))

    def open(self) -> IO[bytes]:
        """Open for reading; the stream is seekable, so a member of an archive is held in memory.

        Raises:
            TaamctlError: the file is missing, unreadable, or a damaged member of its archive.
        """
        try:
            if not self.member:
                return self.path.open("rb")
            with zipfile.ZipFile(self.path) as archive:
                return io.BytesIO(archive.read(self.member))
        except (FileNotFoundError, KeyError):
            raise TaamctlError(
                f"{self} is missing",
                "the data set is incomplete there; put that file in, or get it again",
            ) from None
        except UNREADABLE as error:
            raise _damaged(str(self), error) from error


def data_root(option: Path | None) -> Path | None:
    """Return the data root that the user named: the option, else TAAMCTL_DATA, else None for the
    default folder.
    """
    if option is not None:
        return option.expanduser()
    named = os.environ.get(VARIABLE, "").strip()
    return Path(named).expanduser() if named else None


def resolve(root: Path | None) -> Path:
    """Return `root`, or the default folder ~/.cache/taamctl/data where it is None."""
    return Path.home() / ".cache" / "taamctl" / "data" if root is None else root


def places(
    folders: Iterable[str], files: Iterable[str], archives: Iterable[str] = ()
) -> tuple[str, ...]:
    """List where any of `files` may lie: in every folder, then inside every archive, as patterns
    for `find`.
    """
    files = tuple(files)
    plain = [f"{folder}/{file}" if folder else file for folder in folders for file in files]
    return (*plain, *(f"{archive}::{file}" for archive in archives for file in files))


def find(root: Path | None, candidates: Iterable[str]) -> Source | None:
    """Return the first candidate that exists under the data root; the order of `candidates` is the
    search order.

    Args:
        root: the data root; None for the default folder.
        candidates: glob patterns relative to it; `ARCHIVE::FILE` is a file of that name in any
            folder of a zip archive.

    Raises:
        TaamctlError: an archive that is no readable zip file.
    """
    base = resolve(root)
    for candidate in candidates:
        pattern, _, member = candidate.partition("::")
        for path in sorted(p for p in base.glob(pattern) if p.is_file()):
            inside = _member(path, member) if member else ""
            if inside or not member:
                return Source(path, inside)
    return None


def locate(root: Path | None, name: str, candidates: Iterable[str], file: str) -> Source:
    """Return the raw file of data set `name`, or say which file is missing and where to put it."""
    found = find(root, candidates)
    if found is None:
        base = resolve(root)
        option = "" if root is None else f" --data-root {base}"
        raise TaamctlError(
            f"{name}: no raw data under {base}; looked for {base / name / file} "
            "and for the layouts of DGL, PyG and OGB",
            f"put {file} into {base / name}, or run `taamctl data fetch {name}{option}`",
        )
    return found


@contextmanager
def as_folder(source: Source, names: Iterable[str]) -> Iterator[Path]:
    """Give the folder that holds `source`, for readers that take nothing else.

    Members of an archive are copied into a temporary folder (those of `names` that exist) for the
    time of the body.
    """
    import tempfile

    if not source.member:
        yield source.path.parent
        return
    with tempfile.TemporaryDirectory(prefix="taamctl-") as scratch:
        try:
            with zipfile.ZipFile(source.path) as archive:
                there = set(archive.namelist())
                for name in names:
                    member = source.sibling(name).member
                    if member in there:
                        _copy_member(archive, member, Path(scratch) / name)
        except UNREADABLE as error:
            raise _damaged(str(source.path), error) from error
        yield Path(scratch)


def raw_files(root: Path | None, data_set: DataSet) -> tuple[Path, ...]:
    """Return the raw files that a data set would read; none for embedded and generated data, or
    where nothing is there.
    """
    if data_set.imported is not None:
        return (data_set.imported,)
    source = find(root, data_set.layouts)
    if source is None:
        return ()
    found = {source.path}
    if not source.member:
        for pattern in data_set.beside:
            found |= set(source.path.parent.glob(pattern))
    return tuple(sorted(found))


def _member(path: Path, name: str) -> str:
    """Return the full name of the archive's first member called `name`, or an empty string."""
    try:
        with zipfile.ZipFile(path) as archive:
            hits = [
                n
                for n in archive.namelist()
                if PurePosixPath(n).name == name and not n.startswith("__MACOSX/")
            ]
    except (OSError, zipfile.BadZipFile) as error:
        raise _damaged(str(path), error) from error
    return min(hits, default="")


def _copy_member(archive: zipfile.ZipFile, member: str, target: Path) -> None:
    with archive.open(member) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out)


def _damaged(where: str, error: Exception) -> TaamctlError:
    return TaamctlError(
        f"{where} cannot be read: {error}",
        "the file is truncated or not what its name says; delete it and get it again",
    )
