"""Files by URL: brought into a folder of this machine, checked, and read from there.

By fsspec, which knows `s3://`, `gs://`, `https://` and more where the package for each is there.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.runtime import provenance
from taamctl.store import atomic_files
from taamctl.store.lock import writing

if TYPE_CHECKING:
    from fsspec import AbstractFileSystem

# of two letters or more: one is a drive of Windows. A path has lost one of two slashes.
URL = re.compile(r"([a-z][a-z0-9+.-]+):/+(.+)", re.DOTALL)
WANTED = re.compile(r"(.+)#sha256=(.*)", re.DOTALL | re.IGNORECASE)
CHECKSUM = re.compile(r"[0-9a-f]{64}")
SECRET = re.compile(r"(?<=//)[^/@]*@|\?.*", re.DOTALL)  # a password, a signature
# what a store says of a file that changes with it
TELLING = {
    *("etag", "mtime", "lastmodified", "last_modified", "created", "updated", "generation"),
    *("md5hash", "content_settings", "checksum"),
}
CHUNK = 1 << 20


def url_of(given: str | Path) -> str | None:
    """Return the URL that is given as text or as a path; None where it is none."""
    text = given.as_posix() if isinstance(given, Path) else given
    found = URL.fullmatch(text)
    if found is None:
        return None
    slashes = ":///" if found[1] == "file" else "://"
    return f"{found[1]}{slashes}{found[2]}"


def shown(url: str) -> str:
    """Return a URL for a message, without what may be secret."""
    return SECRET.sub("", url)


def local(given: str | Path) -> Path:
    """Return a path as it is, and of a URL the file that it was brought into.

    It is brought again where the store says that it changed, or does not say. A URL that ends in
    `#sha256=HEX` is refused where its bytes have another checksum.

    Raises:
        TaamctlError: no such file, a folder, no way to reach it, or other bytes than wanted.
    """
    url = url_of(given)
    if url is None:
        return Path(given)
    name, checksum = _wanted(url)
    with _reaching(name):
        store, place, info = _found(name)
    home = Path.home() / ".cache" / "taamctl" / "remote" / _short(name)
    with writing(home / "file", wait=True, tell=lambda line: None):
        path = _kept(home, info)
        if path is None:
            path = _brought(store, place, name, info, home)
    if checksum and provenance.sha256(path) != checksum:
        raise TaamctlError(
            f"{shown(name)}: sha256 is {provenance.sha256(path)}, and {checksum} was asked for",
            "it is another file, or it changed: compare it with the one that was meant",
        )
    return path


def _wanted(url: str) -> tuple[str, str]:
    """Return a URL and the checksum that is asked for; empty: none is. A server would not see one
    that is mistyped, and it would be held to nothing.
    """
    wanted = WANTED.fullmatch(url)
    if wanted is None:
        return url, ""
    checksum = wanted[2].lower()
    if CHECKSUM.fullmatch(checksum) is None:
        raise TaamctlError(
            f"{shown(url)}: #sha256= is followed by {len(checksum)} signs that are no checksum",
            "give all 64 hexadecimal digits, as sha256sum prints them, or leave #sha256= out",
        )
    return wanted[1], checksum


def _found(url: str) -> tuple[AbstractFileSystem, str, dict[str, str]]:
    """Return the store, the place in it, and what it says of the file: its size, and all that
    changes with it.
    """
    from fsspec.core import url_to_fs

    store, place = url_to_fs(url)
    found = store.info(place)
    if found.get("type") == "directory":
        raise TaamctlError(
            f"{shown(url)} is a folder, and only single files are read by URL",
            "name a file in it; a bank becomes one file by: taamctl bank export DIR FILE.tar",
        )
    info = {k: str(v) for k, v in found.items() if k.lower() in TELLING and v is not None}
    size = {} if found.get("size") is None else {"size": str(found["size"])}
    return store, place, info | size


def _kept(home: Path, info: dict[str, str]) -> Path | None:
    """Return what was brought before, where it is still what the store has. A record that cannot
    be read is none.
    """
    record = home / "file.json"
    if not record.is_file() or not set(info) - {"size"}:
        return None
    try:
        kept = atomic_files.read_json(record)
        path, told, checksum = home / str(kept["path"]), kept["info"], kept["sha256"]
    except (TaamctlError, KeyError, TypeError):
        return None
    if told != info or not path.is_file():
        return None
    return path if provenance.sha256(path) == checksum else None


def _brought(
    store: AbstractFileSystem, place: str, url: str, info: dict[str, str], home: Path
) -> Path:
    """Bring a file, whole or not at all, under a name that says what its bytes are: another process
    may still read those of before.
    """
    digest = hashlib.sha256()
    name = PurePosixPath(shown(place)).name or "file"
    with atomic_files.atomic(home / "coming") as temporary, temporary.open("wb") as out:
        for chunk in _chunks(store, place, url):
            digest.update(chunk)
            out.write(chunk)
        if info.get("size", str(out.tell())) != str(out.tell()):
            raise TaamctlError(
                f"{shown(url)}: {out.tell():,} bytes came, and it has {int(info['size']):,}",
                "run the same command again",
            )
    path = home / digest.hexdigest()[:16] / name
    path.parent.mkdir(exist_ok=True)
    (home / "coming").replace(path)
    record: dict[str, Plain] = {"url": shown(url), "info": info, "sha256": digest.hexdigest()}
    where = path.relative_to(home).as_posix()
    atomic_files.write_json(home / "file.json", {**record, "path": where})
    return path


def _chunks(store: AbstractFileSystem, place: str, url: str) -> Iterator[bytes]:
    with _reaching(url), store.open(place, "rb") as remote:
        while chunk := remote.read(CHUNK):
            yield chunk


@contextmanager
def _reaching(url: str) -> Iterator[None]:
    """Say what stands in the way of a file; every store has exceptions of its own."""
    try:
        yield
    except TaamctlError:
        raise
    except ImportError as error:
        raise TaamctlError(
            f"{shown(url)}: a package is missing that reads such URLs: {str(error)[:200]}",
            "pip install 'taamctl[remote]' and that package; or copy the file here and name it",
        ) from error
    except Exception as error:
        said = f"{type(error).__name__} {shown(str(error))[:200]}"
        raise TaamctlError(
            f"{shown(url)} cannot be read: {said}",
            "check the address and your credentials; or copy the file here and name it",
        ) from error


def _short(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
