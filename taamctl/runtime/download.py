"""Download raw data files with checksums; what is interrupted is continued.

By urllib: pooch, the usual library for this, cannot continue a download.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.core.progress import SILENT, Progress
from taamctl.core.this_system import sync_folder
from taamctl.runtime.provenance import sha256
from taamctl.store.atomic_files import write_text
from taamctl.store.lock import writing

if TYPE_CHECKING:
    from http.client import HTTPResponse

TIMEOUT = 30.0
CHUNK = 1 << 18


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
    got = sha256(part)
    expected = file.sha256 or _recorded(record)
    if expected and got != expected:
        part.unlink()
        source = f"the one recorded in {record}"
        hint = f"if the publisher changed it, delete {record} first"
        if file.sha256:
            source = "the published one"
            hint = "run the same command again"
        raise TaamctlError(
            f"{file.url}: sha256 is {got}, but {source} is {expected}; the download was discarded",
            hint,
        )
    if not expected:
        write_text(record, f"{got}  {final.name}\n")
    os.replace(part, final)
    sync_folder(final.parent)
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
    from urllib.error import HTTPError, URLError
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
        reason = error.reason if isinstance(error, URLError) else error
        raise _unreachable(file, folder, str(reason) or type(error).__name__) from error


def _chunks(response: HTTPResponse, file: Downloadable, folder: Path) -> Iterator[bytes]:
    from http.client import HTTPException

    while True:
        try:
            chunk = response.read(CHUNK)
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
    return next(iter(record.read_text(encoding="utf-8").split()), "") if record.exists() else ""
