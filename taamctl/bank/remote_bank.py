"""A bank by URL: the file that `taamctl bank export` wrote is brought here, verified, and read."""

from __future__ import annotations

import shutil
from contextlib import suppress
from pathlib import Path

from taamctl.bank import manifest as manifests
from taamctl.bank import store
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance, remote_files
from taamctl.store.lock import writing


def folder_of(given: str | Path) -> Path:
    """Return a bank's folder as it is given, and of a URL the folder that it was unpacked into.

    Raises:
        TaamctlError: it cannot be read, or is no exported bank.
    """
    if remote_files.url_of(given) is None:
        return Path(given)
    from taamctl.bank import transfer

    file = remote_files.local(given)
    folder = file.parent / "bank"
    with writing(folder, wait=True, tell=lambda line: None):
        if not _whole(folder):
            shutil.rmtree(folder, ignore_errors=True)
            transfer.restore(file, folder)
    return folder


def _whole(folder: Path) -> bool:
    """Tell whether an unpacked bank is there, and as it was."""
    if not (folder / manifests.NAME).is_file():
        return False
    with suppress(TaamctlError, OSError):
        files = store.current(folder).files
        return all(provenance.sha256(folder / name) == digest for name, digest in files.items())
    return False
