"""Hold every artefact below a folder against the record of how it was made: what is damaged,
missing or of another place is named, with the command that makes it again.

Files are read whole, whatever their times say. Whether an artefact is what would be made today is
another question: `taamctl status` answers it.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.runtime import input_gate, provenance
from taamctl.runtime.layout import OUTPUTS
from taamctl.runtime.stage_table import TABLE
from taamctl.store.artefacts import Artefact

SIDECAR = ".provenance.json"
AGAIN = "the command that made it"
REMOVE = "remove it, and run the command that made what lies beside it"
State = Literal["ok", "missing", "damaged", "foreign", "unrecorded"]


@dataclass(frozen=True)
class FileState:
    """One file.

    Attributes:
        path: the file.
        state: `ok`; `missing`: recorded and not there; `damaged`: not as it was written; `foreign`:
            of another data set, method or seed; `unrecorded`: whole in itself, but nothing says how
            it was made.
        mend: the command that makes it again; empty where it is right.
    """

    path: str
    state: State
    mend: str = ""

    @property
    def good(self) -> bool:
        """Tell whether nothing has to be done."""
        return self.state in ("ok", "unrecorded")


def below(folder: Path) -> Iterator[FileState]:
    """Yield the state of every artefact and own graph below a folder, sorted by path."""
    recorded: set[Path] = set()
    for sidecar in sorted(folder.rglob(f"*{SIDECAR}")):
        main = sidecar.with_name(sidecar.name.removesuffix(SIDECAR))
        record = provenance.recorded(main)
        if record is None:
            yield FileState(str(sidecar), "damaged", REMOVE)
            continue
        for file in _files(main, record):
            recorded.add(file)
            yield _state(file, record)
    for file in sorted(folder.rglob("*.h5")):
        if file not in recorded and not file.name.startswith("."):
            yield _alone(file)


def one(file: Path) -> FileState:
    """Return the state of a single file, by the record beside it or by its own checksums.

    Raises:
        TaamctlError: there is neither.
    """
    for sidecar in sorted(file.parent.glob(f"*{SIDECAR}")):
        record = provenance.recorded(sidecar.with_name(sidecar.name.removesuffix(SIDECAR)))
        main = sidecar.with_name(sidecar.name.removesuffix(SIDECAR))
        if record is not None and file in _files(main, record):
            return _state(file, record)
    if file.suffix != ".h5":
        raise TaamctlError(
            f"nothing beside {file} says what it should be", "name an artefact or its folder"
        )
    return _alone(file)


def _files(main: Path, record: Plain) -> list[Path]:
    """Return what a record speaks of; a user's own graph may have been renamed with it."""
    if record.get("stage") == provenance.IMPORT:
        return [main]
    return [main.with_name(name) for name in sorted(record["outputs"])]


def _alone(file: Path) -> FileState:
    """Return the state of an HDF5 file by its own checksums, array by array."""
    try:
        with Artefact(file) as artefact:
            for path in artefact.paths():
                artefact.verify(path)
            own_graph = artefact.kind == "graph"
    except TaamctlError:
        return FileState(str(file), "damaged", AGAIN)
    return FileState(str(file), "ok" if own_graph else "unrecorded")


def _state(file: Path, record: Plain) -> FileState:
    if not file.is_file():
        return FileState(str(file), "missing", _mend(file, record))
    known = provenance.stamp_in(record, file) or {}
    if provenance.sha256(file) != known.get("sha256"):
        return FileState(str(file), "damaged", _mend(file, record))
    place = input_gate.label_of(file)
    if place and place != record.get("label"):
        return FileState(str(file), "foreign", _mend(file, record))
    return FileState(str(file), "ok")


def _mend(file: Path, record: Plain) -> str:
    """Return the command that makes a file of a stage again, by its place."""
    stage = str(record.get("stage", ""))
    words = input_gate.label_of(file).split("/")
    if stage == "report":
        return f"taamctl report{_outputs(file, 2)}"
    if stage == provenance.IMPORT and record.get("command"):
        return f"{record['command']} --force"
    if stage not in TABLE or not words[0]:
        return AGAIN
    options = f" --dataset {words[0]}"
    if len(words) == 3:
        options += f" --method {words[1]} --seed {words[2].removeprefix('seed-')}"
    return f"taamctl {stage}{options}{_outputs(file, len(words) + 2)}"


def _outputs(file: Path, above: int) -> str:
    """Return the option that names the outputs folder so many folders above a file, where that is
    not the usual one.
    """
    root = file.absolute().parents[above - 1]
    if root == OUTPUTS.absolute():
        return ""
    return f" --outputs {shlex.quote(str(root))}"
