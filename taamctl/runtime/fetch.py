"""Find raw data files wherever a data root keeps them, and download them with checksums.

A data root is a folder. `--data-root` names it, else the environment variable TAAMCTL_DATA, else it
is ~/.cache/taamctl/data. Downloads go to ROOT/<data set>/; what other tools have put into ROOT is
found in their layouts.
"""

from __future__ import annotations

import hashlib
import io
import os
import zipfile
import zlib
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import IO, TYPE_CHECKING, Any, Protocol

from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.core.progress import SILENT, Progress
from taamctl.runtime.lock import writing

if TYPE_CHECKING:
    from http.client import HTTPResponse

VARIABLE = "TAAMCTL_DATA"
TIMEOUT = 30.0
_CHUNK = 1 << 18


class Downloadable(Protocol):
    """What a data set says about one of its files."""

    @property
    def name(self) -> str:
        """Return the file name."""

    @property
    def url(self) -> str:
        """Return where it comes from."""

    @property
    def sha256(self) -> str:
        """Return its checksum, or an empty string where the publisher gives none."""


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
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
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
        except (OSError, EOFError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
            raise _damaged(str(source.path), error) from error
        yield Path(scratch)


def fetch(
    files: Iterable[Downloadable],
    target_dir: Path,
    progress: Progress = SILENT,
    timeout: float = TIMEOUT,
) -> list[Path]:
    """Download the files that are not there yet; a file appears under its name only when it is
    whole and checked.

    An interrupted download stays as `<name>.part` and is continued. Where no checksum is published,
    that of the first download is kept as `<name>.sha256` and later downloads must match it. Nothing
    is ever asked.

    Args:
        files: what to download.
        target_dir: where to; made if need be.
        progress: told about every file, in bytes.
        timeout: seconds without a byte after which the server counts as gone.

    Returns:
        The paths of all files, downloaded now or before.

    Raises:
        TaamctlError: no network, a wrong checksum, or a folder that cannot be written; the hint
            says what to put where.
    """
    done = []
    for file in files:
        final = target_dir / file.name
        done.append(final)
        if final.is_file():
            progress.line(f"{final} is there")
            continue
        with writing(final, wait=True, tell=progress.line):
            if final.is_file():
                continue
            try:
                _fetch_one(file, final, progress, timeout)
            except OSError as error:
                raise TaamctlError(
                    explain_os_error(error, final).message,
                    "free or open that folder, or name another one with --data-root",
                ) from error
    return done


def _fetch_one(file: Downloadable, final: Path, progress: Progress, timeout: float) -> None:
    part = final.with_name(f"{final.name}.part")
    record = final.with_name(f"{final.name}.sha256")
    _download(file, part, progress, timeout)
    got = _sha256(part)
    expected = file.sha256 or _recorded(record)
    if expected and got != expected:
        part.unlink()
        source = "the published one" if file.sha256 else f"the one recorded in {record}"
        hint = (
            "run the same command again"
            if file.sha256
            else f"if the publisher changed it, delete {record} first"
        )
        raise TaamctlError(
            f"{file.url}: sha256 is {got}, but {source} is {expected}; the download was discarded",
            hint,
        )
    if not expected:
        _write_durably(record, f"{got}  {final.name}\n")
    os.replace(part, final)
    _sync_folder(final.parent)
    progress.line(f"{final}: {final.stat().st_size:,} bytes, sha256 {got}")


def _download(file: Downloadable, part: Path, progress: Progress, timeout: float) -> None:
    """Bring `part` to its full length, continuing what an earlier run left."""
    have = part.stat().st_size if part.exists() else 0
    with _request(file, part.parent, have, timeout) as response:
        if response.status == 416:
            if _total(response) == have:
                return
            part.unlink()
            raise TaamctlError(
                f"{part} did not fit {file.url} and was deleted", "run the same command again"
            )
        if response.status == 206 and _start(response) != have:
            raise TaamctlError(
                f"{file.url}: the server sent another range than asked",
                f"delete {part} and run again",
            )
        if response.status != 206:
            have = 0
        length = response.headers.get("Content-Length")
        total = have + int(length) if length else 0
        progress.start(file.name, total)
        progress.advance(have)
        try:
            with part.open("ab" if have else "wb") as out:
                for chunk in _chunks(response, file, part.parent):
                    out.write(chunk)
                    have += len(chunk)
                    progress.advance(len(chunk))
                out.flush()
                os.fsync(out.fileno())
        finally:
            progress.finish()
    if total and have < total:
        raise _unreachable(
            file, part.parent, f"the connection ended after {have:,} of {total:,} bytes"
        )


def _request(file: Downloadable, folder: Path, start: int, timeout: float) -> HTTPResponse:
    from http.client import HTTPException
    from urllib.error import HTTPError
    from urllib.request import Request, urlopen

    headers = {"User-Agent": "taamctl", "Accept-Encoding": "identity"}
    if start:
        headers["Range"] = f"bytes={start}-"
    try:
        response: HTTPResponse = urlopen(Request(file.url, headers=headers), timeout=timeout)
        return response
    except HTTPError as error:
        if error.code == 416 and start:
            return error  # type: ignore[return-value]
        raise _unreachable(
            file, folder, f"the server answers {error.code} {error.reason}"
        ) from error
    except (OSError, HTTPException, ValueError) as error:
        raise _unreachable(
            file, folder, str(getattr(error, "reason", "") or error or type(error).__name__)
        ) from error


def _chunks(response: HTTPResponse, file: Downloadable, folder: Path) -> Iterator[bytes]:
    from http.client import HTTPException

    while True:
        try:
            chunk = response.read(_CHUNK)
        except (OSError, HTTPException) as error:
            raise _unreachable(file, folder, str(error) or type(error).__name__) from error
        if not chunk:
            return
        yield chunk


def _unreachable(file: Downloadable, folder: Path, reason: str) -> TaamctlError:
    return TaamctlError(
        f"cannot download {file.url}: {reason}",
        f"run the same command again (it continues), or put {file.name} into {folder} by hand",
    )


def _start(response: HTTPResponse) -> int:
    """Return the first byte of a 206 answer, from `Content-Range: bytes 5-9/10`."""
    text = response.headers.get("Content-Range", "").removeprefix("bytes ").partition("-")[0]
    return int(text) if text.isdigit() else -1


def _total(response: HTTPResponse) -> int:
    """Return the full length from `Content-Range: bytes */10`."""
    text = response.headers.get("Content-Range", "").rpartition("/")[2]
    return int(text) if text.isdigit() else -1


def _recorded(record: Path) -> str:
    """Return the checksum in `record`, or an empty string where there is none."""
    return next(iter(record.read_text().split()), "") if record.exists() else ""


def _sha256(path: Path) -> str:
    with path.open("rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _write_durably(path: Path, text: str) -> None:
    draft = path.with_name(f"{path.name}.tmp")
    with draft.open("w") as out:
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    os.replace(draft, path)


def _sync_folder(folder: Path) -> None:
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


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
    import shutil

    with archive.open(member) as source, target.open("wb") as out:
        shutil.copyfileobj(source, out, _CHUNK)


def _damaged(where: str, error: Exception) -> TaamctlError:
    return TaamctlError(
        f"{where} cannot be read: {error}",
        "the file is truncated or not what its name says; delete it and get it again",
    )


def raw_files(root: Path | None, module: Any) -> tuple[Path, ...]:
    """Return the raw files that a data set's `load` would read; none for embedded and generated
    data, or where nothing is there.

    Args:
        module: a data set's module: `LAYOUTS` says where to look, `RAW` (patterns in the same
            folder) what belongs to it; an imported graph has neither but is the file `IMPORTED`.
    """
    imported = getattr(module, "IMPORTED", None)
    if imported is not None:
        return (imported,)
    source = find(root, getattr(module, "LAYOUTS", ()))
    if source is None:
        return ()
    beside = (
        ()
        if source.member
        else tuple(
            p for pattern in getattr(module, "RAW", ()) for p in source.path.parent.glob(pattern)
        )
    )
    return tuple(sorted({source.path, *beside}))
