"""Write text files whole or not at all, and read JSON back.

A writer fills a temporary file in the target's folder, syncs it and renames it over the target; a
final path is never opened for writing.
"""

from __future__ import annotations

import json
import math
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.core.plain_values import Plain
from taamctl.core.this_system import sync_folder
from taamctl.store import leftovers

TRIES = 20  # to make a folder whose parents another process removes


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success sync it and rename it over `path`, on any
    failure remove it. What writers of this machine left that were killed goes too.
    """
    try:
        make_folder(path.parent)
    except OSError as error:
        raise explain_os_error(error, path) from None
    start = f".{path.name}."
    leftovers.sweep_dead(path.parent, start)
    temporary = path.parent / f"{start}{leftovers.mark()}.tmp"
    try:
        yield temporary
        with temporary.open("r+b") as handle:  # read-only, Windows refuses
            os.fsync(handle.fileno())
        os.replace(temporary, path)
        sync_folder(path.parent)
    except OSError as error:
        raise explain_os_error(error, path) from None
    finally:
        temporary.unlink(missing_ok=True)


def make_folder(folder: Path) -> None:
    """Make a folder and those above it, also while another process removes empty ones."""
    for _ in range(TRIES):
        with suppress(FileNotFoundError):
            folder.mkdir(parents=True, exist_ok=True)
            return
    folder.mkdir(parents=True, exist_ok=True)


def sweep(path: Path) -> None:
    """Remove the temporary files and folders that killed writers of `path` left behind, those of
    other machines too.

    Call it while holding the path's lock.
    """
    start = f".{path.name}."
    for stale in list(path.parent.iterdir()):
        if stale.name.startswith(start) and stale.name.endswith(".tmp"):
            leftovers.remove(stale)


def take(source: Path, target: Path) -> None:
    """Put the same file under a second name, atomically: one copy on the disk where it can be.

    No writer changes a file in place, so neither name can change the other's content.
    """
    with atomic(target) as temporary:
        try:
            os.link(source, temporary)
        except OSError:  # another disk, or one without links
            shutil.copy2(source, temporary)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, with the same bytes on every system."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8", newline="\n")


def write_json(path: Path, value: object) -> None:
    """Write strict JSON atomically; NaN becomes null."""
    write_text(path, json.dumps(strict(value), indent=1, sort_keys=True, allow_nan=False) + "\n")


def strict(value: object) -> Plain:
    """Return a copy that strict JSON can hold: numpy scalars and arrays unwrapped, NaN and
    infinities as null.
    """
    if isinstance(value, Mapping):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(v) for v in value]
    if isinstance(value, np.ndarray):
        return strict(value.tolist())
    if isinstance(value, np.generic):
        return strict(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_json(path: Path, made_by: str = "") -> Plain:
    """Read a JSON artefact, which `write_json` writes without infinities and NaN.

    Raises:
        TaamctlError: missing (the hint names the command that makes it) or broken.
    """
    try:
        text = path.read_text(encoding="utf-8")
        return json.loads(text, parse_float=_finite, parse_constant=_finite)
    except FileNotFoundError:
        hint = f"make it with: {made_by or 'the command that wrote it'}"
        raise TaamctlError(f"no file {path}", hint) from None
    except (ValueError, RecursionError):
        again = f"{made_by} --force" if made_by else "the command that wrote it"
        hint = f"make it again with: {again}"
        raise TaamctlError(f"{path} is broken (no valid JSON)", hint) from None


def _finite(text: str) -> float:
    """Return a number; 1e999 would be an infinity.

    Raises:
        ValueError: it is not finite.
    """
    value = float(text)
    if not math.isfinite(value):
        raise ValueError(text)
    return value
