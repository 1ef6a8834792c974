"""The gate that every artefact passes before a stage reads it: it is there, it is what was written,
it is of this place, and no other command has changed it since this one made it.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.runtime import provenance
from taamctl.runtime.job import Context, Job

APART = "run one after the other, or give each its own folder with --outputs"


def require(context: Context, job: Job) -> None:
    """Refuse inputs that are missing, damaged, of another place, or of another command.

    An input without a sidecar is taken as it is: nothing is known of it.

    Raises:
        TaamctlError: one is not right; the hint says what makes it again.
    """
    for path, made_by in job.inputs:
        if not path.is_file():
            raise TaamctlError(
                f"{job.stage} needs {path}, which is not there", f"make it with: {made_by}"
            )
        record = provenance.recorded(path)
        if record is not None:
            _require_right(path, record, made_by)
        require_own(context, path)


def require_unchanged(context: Context, job: Job, key: Plain) -> None:
    """Refuse to keep what was computed, where an input was changed while it was read.

    Args:
        key: of the job, as it was before.
    """
    for path, _ in job.inputs:
        if not path.is_file() or _digest(path) != key["inputs"][context.layout.name(path)]:
            raise TaamctlError(
                f"{path} was changed by another command while {job.stage} read it", APART
            )


def require_same_code(
    context: Context, files: Iterable[Path], same: Callable[[], bool] = lambda: False
) -> None:
    """Refuse code that was edited since this command began: what runs may be neither version.

    Args:
        same: tells whether what counts of the code is the same in spite of it.
    """
    now = time.time()
    for file in files:
        # A time that is still to come was not made by an edit: the clocks of two machines differ.
        if context.began < file.stat().st_mtime <= now and not same():
            raise TaamctlError(
                f"{file} was edited while this command ran", "run the same command again"
            )


def note_outputs(context: Context, outputs: tuple[Path, ...], record: Plain) -> None:
    """Remember what this command has made or reused, for `require`."""
    for output in outputs:
        context.made[output] = record["outputs"][output.name]["sha256"]


def _require_right(path: Path, record: Plain, made_by: str) -> None:
    again = f"make it again with: {made_by}"
    label = record.get("label")
    place = label_of(path)
    if place and label != place:
        raise TaamctlError(f"{path} is of {label}, not of {place}: it was put here", again)
    known = record["outputs"].get(path.name)
    if known is not None and provenance.artefact_digest(path, known) != known["sha256"]:
        raise TaamctlError(
            f"{path} is not as it was written: it is damaged, or another file was put here", again
        )


def require_own(context: Context, path: Path) -> None:
    """Refuse a file that this command made, and that another one has replaced since."""
    made = context.made.get(path)
    if made is not None and _digest(path) != made:
        raise TaamctlError(f"{path} was changed by another command while this one ran", APART)


def _digest(path: Path) -> str:
    known = (provenance.recorded(path) or {}).get("outputs", {}).get(path.name)
    return provenance.artefact_digest(path, known)


def label_of(path: Path) -> str:
    """Return what an artefact at this place is about; empty where the place says nothing."""
    folders = path.absolute().parent.parts
    if folders and folders[-1].startswith("seed-"):
        return "/".join(folders[-3:])
    return folders[-1] if path.name in ("split.h5", "features.h5") and folders else ""
