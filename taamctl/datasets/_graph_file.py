"""The file of a user's own graph, and the record beside it that tells whether it is as it was
written: of every byte, so of the metadata too, which no checksum inside the file covers.
"""

from __future__ import annotations

import shlex
from pathlib import Path

from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.runtime import provenance
from taamctl.store import atomic_files
from taamctl.store.artefacts import Artefact
from taamctl.store.graph_kind import GRAPH

MADE_BY = "taamctl data import"
SHOWN = 300  # characters of a command in a hint; one with many features is longer


def opened(path: Path) -> Artefact:
    """Open a graph; nothing of it is read before its bytes are held against the record.

    A graph without a record, from before there was one, is opened as it is.

    Raises:
        TaamctlError: missing, damaged, unfinished, or no imported graph.
    """
    record = provenance.recorded(path)
    while record is not None and path.is_file():
        stamp = provenance.stamp_in(record, path)
        known = stamp if isinstance(stamp, dict) and "sha256" in stamp else {"sha256": ""}
        if provenance.artefact_digest(path, known) == known["sha256"]:
            break
        before, record = record, provenance.recorded(path)
        if before == record:  # else it was imported anew in this very moment
            sidecar = provenance.sidecar_of(path)
            again = f"{record.get('command') or MADE_BY!s} --force"
            if len(again) > SHOWN:
                again = f"the command in {sidecar}"
            raise TaamctlError(
                f"{path} is not as it was written: it is damaged, or another file was put here",
                f"make it again with: {again}; or, if another file is meant to be here: "
                f"rm {shlex.quote(str(sidecar))}",
            )
    return Artefact(path, GRAPH, MADE_BY)


def forget(path: Path) -> None:
    """Remove the record of a graph, before the graph is replaced: a command that is killed in
    between leaves a graph without a record, not one that its record calls damaged.
    """
    sidecar = provenance.sidecar_of(path)
    try:
        sidecar.unlink(missing_ok=True)
    except OSError as error:
        raise explain_os_error(error, path) from None


def keep(path: Path, command: str = "") -> None:
    """Record a graph that was just written, or whose arrays were all found right.

    Args:
        command: that makes it again.
    """
    record = {
        "stage": provenance.IMPORT,
        "label": path.stem,
        "outputs": {path.name: provenance.stamp(path)},
        "command": command,
        **{name: {} for name in ("key", "asked", "raw", "cost")},
    }
    atomic_files.write_json(provenance.sidecar_of(path), record)
