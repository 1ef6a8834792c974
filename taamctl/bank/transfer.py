"""A whole bank as one file: a plain tar of the newest generation and the list of all
generations.
"""

from __future__ import annotations

import io
import shutil
import tarfile
from pathlib import Path, PurePosixPath
from shlex import quote

from taamctl.bank import manifest as manifests
from taamctl.bank import store
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance
from taamctl.store import atomic_files, leftovers


def export(folder: Path, path: Path) -> None:
    """Write the bank as one tar, whole or not at all; the same bank gives the same bytes.

    Files that only earlier generations need stay behind.

    Raises:
        TaamctlError: a file of the bank is missing or was changed, the manifest of an earlier
            generation included.
    """
    now = store.current(folder)
    for file, digest in now.files.items():
        if not (folder / file).is_file() or provenance.sha256(folder / file) != digest:
            raise TaamctlError(
                f"{folder / file} is missing or was changed",
                f"taamctl bank verify {quote(str(folder))} tells all that is wrong",
            )
    copies = [
        manifests.copy_of(folder, g).relative_to(folder).as_posix()
        for g in store.history(folder)
        if g <= now.generation
    ]
    for copy in copies:
        manifests.read(folder / copy)  # refuses one that is not as it was written
    with (
        atomic_files.atomic(path) as temporary,
        tarfile.open(temporary, "w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name in [manifests.NAME, *copies, *sorted(now.files)]:
            data = (folder / name).read_bytes()
            member = tarfile.TarInfo(name)
            member.size, member.mode = len(data), 0o644
            archive.addfile(member, io.BytesIO(data))


def restore(path: Path, folder: Path) -> manifests.Manifest:
    """Make a bank from an exported file, and verify it before it is there.

    Raises:
        TaamctlError: no such file, not an exported bank, damaged, or the folder is taken.
    """
    if folder.exists():
        raise TaamctlError(f"{folder} is there already", "choose a new folder for the bank")
    if not path.is_file():
        raise TaamctlError(f"no file {path}", "make it with: taamctl bank export DIR FILE.tar")
    folder.parent.mkdir(parents=True, exist_ok=True)
    with leftovers.scratch(folder.parent, ".bank-") as temporary:
        inside = temporary / "bank"
        inside.mkdir()
        try:
            with tarfile.open(path, "r:") as archive:
                for member in archive:
                    _unpack(archive, member, inside, path)
        except tarfile.TarError:
            raise TaamctlError(
                f"{path} is no exported bank, or was cut off",
                "make it again with: taamctl bank export DIR FILE.tar",
            ) from None
        bad = [f for f in verify(inside) if not f.good]
        if bad:
            raise TaamctlError(
                f"{path} is damaged: {bad[0].what}: {bad[0].said}", "export the bank again"
            )
        inside.rename(folder)
    return store.current(folder)


def _unpack(archive: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, path: Path) -> None:
    """Write one member whose name is one of ours; anything else is refused, so nothing lands
    outside of the folder.
    """
    # a sparse member, which no bank has, may claim any size
    if not member.isfile() or member.issparse() or not store.OURS.fullmatch(member.name):
        raise TaamctlError(
            f"{path} is no exported bank: it holds {member.name[:60]!r}",
            "make it again with: taamctl bank export DIR FILE.tar",
        )
    target = folder / PurePosixPath(member.name)
    if target.exists():
        raise TaamctlError(
            f"{path} is no exported bank: it holds {member.name} twice",
            "make it again with: taamctl bank export DIR FILE.tar",
        )
    target.parent.mkdir(exist_ok=True)
    data = archive.extractfile(member)
    assert data is not None
    with target.open("wb") as out:
        shutil.copyfileobj(data, out)
