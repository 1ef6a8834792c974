"""`taamctl inspect`."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taamctl.cli.console import say, sheet
from taamctl.cli.shared_options import JsonOnStdout
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from rich.tree import Tree

SHOWN = ("params", "kind", "schema_version")  # attributes that have a place of their own
LONGEST = 6  # values shown of a row
Record = dict[str, dict[str, object]]  # what a sidecar records


@dataclass(frozen=True)
class Entry:
    """An array of an artefact."""

    path: str
    shape: list[int]
    dtype: str
    dims: list[str]
    crc32: str
    doc: str
    head: object


def command(
    file: Annotated[
        Path,
        typer.Argument(help="An HDF5 artefact, such as outputs/precompute/debian/features.h5."),
    ],
    rows: Annotated[
        int, typer.Option("--rows", help="First rows to show of every array.", min=0)
    ] = 2,
    check: Annotated[
        bool, typer.Option("--check", help="Read every array and compare it with its checksum.")
    ] = False,
    as_json: JsonOnStdout = False,
) -> None:
    """Show an artefact as a tree: shapes, dtypes, dimensions, checksums, first rows, and the
    parameters that made it.
    """
    from taamctl.store import artefacts, atomic_files

    if file.is_dir():
        raise TaamctlError(f"{file} is a folder", "name an artefact in it, such as features.h5")
    if not file.is_file():
        raise TaamctlError(f"no file {file}", "artefacts lie below outputs/")
    if file.suffix != ".h5":
        raise TaamctlError(
            f"{file} is no HDF5 artefact",
            "inspect shows .h5 files; the others are text and can be read as they are",
        )
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
    _show(title, lines, entries)


def _record(file: Path) -> Record | None:
    """Return what the sidecar records, or None where it has nothing on the present file."""
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
    known = record.get("outputs", {}).get(file.name, {}).get("sha256")
    if known not in (None, provenance.sha256(file)):
        say(
            f"note: {file} is not the file that its sidecar records (damaged, replaced by hand, or "
            "checked out by DVC)"
        )
        return None
    return record


def _show(title: str, lines: list[str], entries: list[Entry]) -> None:
    """Print an artefact as a tree, a branch per folder in it."""
    from rich.markup import escape
    from rich.tree import Tree

    tree = Tree(escape(title))
    for line in lines:
        tree.add(escape(line))
    folders = {"": tree}
    for entry in entries:
        folder, _, name = entry.path.rpartition("/")
        leaf = _branch(folders, folder).add(
            escape(f"{name}  {entry.dtype} [{_size(entry)}]  crc32 {entry.crc32}  {entry.doc}")
        )
        head = entry.head
        if not isinstance(head, list):
            head = [head]
        for row in head:
            leaf.add(escape(_short(row)))
    out = sheet()
    out.print(tree, soft_wrap=not out.is_terminal)


def _branch(folders: dict[str, Tree], folder: str) -> Tree:
    """Return the branch of a folder, made where it is missing."""
    from rich.markup import escape

    if folder not in folders:
        above, _, name = folder.rpartition("/")
        folders[folder] = _branch(folders, above).add(escape(f"{name}/"))
    return folders[folder]


def _size(entry: Entry) -> str:
    named = zip(entry.dims, entry.shape, strict=True)
    return " x ".join(f"{d}={n}" if d else str(n) for d, n in named) or "scalar"


def _short(row: object) -> str:
    if isinstance(row, list):
        values = [_short(value) for value in row[:LONGEST]]
        if len(row) > LONGEST:
            values.append(f"... {len(row)} in all")
        return f"[{', '.join(values)}]"
    if isinstance(row, float):
        return f"{row:.5g}"
    return str(row)
