"""Remove what was found to remain, under the lock of whoever writes it."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.pipeline.remains import Remain, stamp_of
from taamctl.store import leftovers
from taamctl.store.lock import writing


def remove(remain: Remain, root: Path) -> str:
    """Remove the files, and the folders below `root` that are empty then.

    Args:
        root: the outputs folder, which stays, as does all above it.

    Returns:
        Why they stay, where they do: somebody writes them, or wrote them since they were looked
        at. Empty where they are gone.
    """
    try:
        with ExitStack() as held:
            for lock in remain.locks:
                if lock.parent.is_dir():  # else nobody can be writing there
                    held.enter_context(writing(lock, wait=False, tell=lambda line: None))
            return _removed(remain, root)
    except TaamctlError as error:
        return error.message


def _removed(remain: Remain, root: Path) -> str:
    for path, stamp in remain.files:
        try:
            if stamp_of(path) != stamp:
                return f"{path} was written since it was looked at"
        except FileNotFoundError:
            continue  # gone already
    for path, _ in remain.files:
        path.unlink(missing_ok=True)
    if remain.kind == "left behind":
        leftovers.remove(remain.main)
    _drop_empty(remain.main, root)
    return ""


def _drop_empty(folder: Path, root: Path) -> None:
    """Remove a folder, and those above it below `root`, as long as they are empty."""
    for each in (folder, *folder.parents):
        if each == root:
            return
        try:
            each.rmdir()
        except FileNotFoundError:
            continue
        except OSError:  # something is in it, or it is a file
            return
