"""A bank by URL: the file that `taamctl bank export` wrote is brought here, verified, and read."""

from __future__ import annotations

from pathlib import Path

from taamctl.bank import manifest as manifests
from taamctl.runtime import remote_files
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
        if not (folder / manifests.NAME).is_file():
            transfer.restore(file, folder)
    return folder
