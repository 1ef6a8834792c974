"""URLs are for reading graphs and banks: everything else that a verb takes lies on this machine."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from taamctl.core.errors import TaamctlError

READ = {"graph", "bank", "before"}  # and --context, which may be a name too


def require(given: Mapping[str, object]) -> None:
    """Refuse a URL where a file or folder of this machine is meant, before any work.

    Args:
        given: parameter of a verb -> what it was given.

    Raises:
        TaamctlError: there is one.
    """
    for name, value in given.items():
        several = value if isinstance(value, (list, tuple)) else [value]
        for path in several:
            if isinstance(path, Path) and name not in READ:
                _require_here(name, path)


def _require_here(name: str, path: Path) -> None:
    if ":" not in str(path):  # most have none, and what knows URLs takes time to import
        return
    from taamctl.runtime import remote_files

    url = remote_files.url_of(path)
    if url is not None:
        raise TaamctlError(
            f"{name} {remote_files.shown(url)}: taamctl reads graphs and exported banks by URL, "
            "and all else is on this machine",
            "name a file or folder here, and copy it; a bank becomes one file by: taamctl bank "
            "export DIR FILE.tar",
        )
