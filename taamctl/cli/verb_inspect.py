"""`taamctl inspect`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from taamctl.cli import console
from taamctl.core.errors import TaamctlError

SHOWN = ("params", "kind", "schema_version")


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
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON on stdout.")] = False,
) -> None:
    """Show an artefact as a tree: shapes, dtypes, dimensions, checksums, first rows, and the
    parameters that made it.
    """
    from taamctl.runtime import provenance
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
    made = _sidecar(file)
    if made and made.get("outputs", {}).get(file.name, {}).get("sha256") not in (
        None,
        provenance.sha256(file),
    ):
        console.say(
            f"note: {file} is not the file that its sidecar records (damaged, replaced by hand, or "
            "checked out by DVC)"
        )
        made = None
    with artefacts.Artefact(file) as artefact:
        entries: list[dict[str, Any]] = []
        for path in artefact.paths():
            entry = artefact.describe(path)
            entry["head"] = atomic_files.strict(artefact.head(path, rows)) if rows else []
            if check:
                artefact.read(path)
            entries.append(entry)
        top = {
            "file": str(file),
            "kind": artefact.kind,
            "schema_version": artefact.version,
            "params": artefact.params,
            "made": made,
            "attributes": {
                k: v
                for k, v in atomic_files.strict(artefact.attributes()).items()
                if k not in SHOWN
            },
        }
    if as_json:
        print(json.dumps({**top, "entries": entries}, indent=1, allow_nan=False))
    else:
        _show(top, entries, check)


def _sidecar(file: Path) -> dict[str, Any] | None:
    from taamctl.runtime import provenance
    from taamctl.store import atomic_files

    try:
        made = atomic_files.read_json(provenance.sidecar_of(file))
    except (TaamctlError, OSError):
        return None
    return (
        made
        if isinstance(made, dict)
        and all(isinstance(made.get(k, {}), dict) for k in ("outputs", "cost"))
        else None
    )


def _show(top: dict[str, Any], entries: list[dict[str, Any]], check: bool) -> None:
    from rich.markup import escape
    from rich.tree import Tree

    tree = Tree(
        escape(
            f"{top['file']}: {top['kind']}, schema {top['schema_version']}"
            + (", all checksums right" if check else "")
        )
    )
    tree.add(escape(f"params {json.dumps(top['params'])}"))
    for name, value in top["attributes"].items():
        tree.add(escape(f"{name}: {value}"))
    if top["made"]:
        cost = {"wall_s": "?", "cpu_s": "?", "peak_memory_mib": "?", **top["made"].get("cost", {})}
        tree.add(
            escape(
                f"made in {cost['wall_s']} s ({cost['cpu_s']} s of CPU, peak "
                f"{cost['peak_memory_mib']} MiB)"
            )
        )
    folders: dict[str, Any] = {"": tree}
    for entry in entries:
        *parents, name = entry["path"].split("/")
        for depth in range(len(parents)):
            here, above = "/".join(parents[: depth + 1]), "/".join(parents[:depth])
            if here not in folders:
                folders[here] = folders[above].add(escape(parents[depth] + "/"))
        dims = (
            " x ".join(
                f"{d}={n}" if d else str(n)
                for d, n in zip(entry["dims"], entry["shape"], strict=True)
            )
            or "scalar"
        )
        leaf = folders["/".join(parents)].add(
            escape(f"{name}  {entry['dtype']} [{dims}]  crc32 {entry['crc32']}  {entry['doc']}")
        )
        for row in entry["head"] if isinstance(entry["head"], list) else [entry["head"]]:
            leaf.add(escape(_short(row)))
    out = console.sheet()
    out.print(tree, soft_wrap=not out.is_terminal)


def _short(row: Any) -> str:
    if isinstance(row, list):
        return (
            "["
            + ", ".join(_short(v) for v in row[:6])
            + (f", ... {len(row)} in all]" if len(row) > 6 else "]")
        )
    return f"{row:.5g}" if isinstance(row, float) else str(row)
