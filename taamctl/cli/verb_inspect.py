"""`taamctl inspect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from taamctl.cli.artefact_tree import Entry, show
from taamctl.cli.shared_options import JsonOnStdout
from taamctl.core.errors import TaamctlError

SHOWN = ("params", "kind", "schema_version")  # attributes that have a place of their own
Record = dict[str, dict[str, object]]  # what a sidecar records


def command(
    file: Annotated[
        Path, Argument(help="An HDF5 artefact, such as outputs/precompute/debian/features.h5.")
    ],
    rows: Annotated[int, Option("--rows", help="First rows to show of every array.", min=0)] = 2,
    check: Annotated[
        bool, Option("--check", help="Read every array and compare it with its checksum.")
    ] = False,
    as_json: JsonOnStdout = False,
) -> None:
    """Show an artefact as a tree: shapes, dtypes, dimensions, checksums, first rows, and the
    parameters that made it.
    """
    from taamctl.store import artefacts, atomic_files

    _require_artefact(file)
    record = _record(file)
    with artefacts.Artefact(file) as artefact:
        entries: list[Entry] = []
        for path in artefact.paths():
            head = []
            if rows:
                head = atomic_files.strict(artefact.head(path, rows))
            if check:
                artefact.read(path)
            entries.append(Entry(**artefact.describe(path), head=head))
        kind = artefact.kind
        version = artefact.version
        params = artefact.params
        attributes = atomic_files.strict(artefact.attributes())
    attributes = {name: value for name, value in attributes.items() if name not in SHOWN}
    if as_json:
        facts = {
            "file": str(file),
            "kind": kind,
            "schema_version": version,
            "params": params,
            "made": record,
            "attributes": attributes,
            "entries": [vars(entry) for entry in entries],
        }
        print(json.dumps(facts, indent=1, allow_nan=False))
        return
    title = f"{file}: {kind}, schema {version}"
    if check:
        title += ", all checksums right"
    lines = [f"params {json.dumps(params)}", *(f"{k}: {v}" for k, v in attributes.items())]
    if record:
        cost = {"wall_s": "?", "cpu_s": "?", "peak_memory_mib": "?", **record.get("cost", {})}
        lines.append(
            f"made in {cost['wall_s']} s ({cost['cpu_s']} s of CPU, peak "
            f"{cost['peak_memory_mib']} MiB)"
        )
    show(title, lines, entries)


def _require_artefact(file: Path) -> None:
    if file.is_dir():
        raise TaamctlError(f"{file} is a folder", "name an artefact in it, such as features.h5")
    if not file.is_file():
        raise TaamctlError(f"no file {file}", "artefacts lie below outputs/")
    if file.suffix != ".h5":
        raise TaamctlError(
            f"{file} is no HDF5 artefact",
            "inspect shows .h5 files; the others are text and can be read as they are",
        )


def _record(file: Path) -> Record | None:
    """Return what the sidecar records of a file, or None where there is no record.

    Raises:
        TaamctlError: it records another content.
    """
    from taamctl.runtime import provenance
    from taamctl.store import atomic_files

    try:
        record = atomic_files.read_json(provenance.sidecar_of(file))
    except (TaamctlError, OSError):
        return None
    if not isinstance(record, dict):
        return None
    if not all(isinstance(record.get(key, {}), dict) for key in ("outputs", "cost")):
        return None
    known = provenance.stamp_in({"outputs": {}, **record}, file) or {}
    if known.get("sha256") not in (None, provenance.sha256(file)):
        # HDF5 may hang or crash over damaged bytes: it is not asked to open them.
        raise TaamctlError(
            f"{file} is not as it was written: it is damaged, or another file was put here",
            f"make it again, or remove {provenance.sidecar_of(file)} to look at it as it is",
        )
    return record
