"""Bring a user's own graph in: read the files, and keep the graph as `NAME.h5` with a record of
what it was made from.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import NamedTuple

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain, canonical
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph import feature_sizes, telling_features
from taamctl.importing import (
    command_line,
    context_edges,
    file_formats,
    folder_format,
    importers,
)
from taamctl.importing.assembly import assemble
from taamctl.importing.context_names import Context, known
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.ways import Unclear, with_commands
from taamctl.runtime.provenance import sha256
from taamctl.store.atomic_files import sweep
from taamctl.store.lock import writing

PACKAGE = "taamctl.datasets"
TABLES = {"tasks": "tasks", "split": "split", "classes": "class-names"}  # -> option


class Imported(NamedTuple):
    """The file that was written or would be, the graph, and the command that leaves nothing to
    guess.
    """

    path: Path
    graph: NodeGraph
    command: str


def import_graph(
    name: str,
    sources: Sequence[Path],
    into: Path,
    *,
    options: Mapping[str, Plain],
    kind: str = "",
    tasks: Path | None = None,
    split: Path | None = None,
    context: Path | None = None,
    classes: Path | None = None,
    directed: bool = False,
    about: Mapping[str, str] | None = None,
    overwrite: bool = False,
    write: bool = True,
) -> Imported:
    """Write the graph in `sources` as `into/NAME.h5`, whole or not at all.

    Args:
        options: what `ImportOptions` holds, by name.
        kind: a format; empty: guessed.
        tasks, split, classes: tables of classes and tasks, of nodes and parts, and of the names of
            classes that labels number.
        context: the file of an imported graph, to whose nodes edges may lead.
        directed: the edges have a direction that is to be kept.
        about: licence, citation and homepage, shown by `taamctl data info`.
        overwrite: replace a file that is there.
        write: off: read and check only.

    Raises:
        TaamctlError: the name is taken or none, the file is there, or the files are no graph.
    """
    registry.refuse_taken(PACKAGE, name)
    path = into / f"{name}.h5"
    if write:
        _require_free(path, overwrite)
    chosen = ImportOptions(**options)
    stated, kind = kind, kind or file_formats.guess_format(sources)
    tables = {"tasks": tasks, "split": split, "classes": classes}
    given = {TABLES[name]: str(table) for name, table in tables.items() if table is not None}
    if context is not None:
        given["context"] = str(context)
    further = {"name": name, "format": kind, "into": str(into), "directed": directed}
    further |= {**given, **(about or {})}
    files = [str(path) for path in sources]
    try:
        with known(other := _other(context)):
            raw = importers.read_raw(sources, chosen, kind=kind, **tables)
        graph = _assembled(name, raw, chosen, sources, other)
    except Unclear as question:
        call = command_line.command(
            files, chosen, {**further, "format": stated, "force": overwrite}
        )
        raise with_commands(question, call) from question
    made = Imported(path, graph, command_line.command(files, raw.taken or chosen, further))
    if not write:
        return made
    source = _source(kind, [*_all_files(sources), *map(Path, given.values())], chosen, about or {})
    _keep(path, graph, source, directed, overwrite, made.command)
    return made


def save_graph(
    graph: NodeGraph,
    name: str,
    into: str | Path = "data",
    *,
    directed: bool = False,
    about: Mapping[str, str] | None = None,
    overwrite: bool = False,
) -> Path:
    """Write a graph as `into/NAME.h5`, whole or not at all, and return the file; where that is the
    folder data, NAME is a data set like any other.

    Args:
        graph: as `graph_of` gives it.
        directed: the edges have a direction that is to be kept.
        about: licence, citation and homepage, shown by `taamctl data info`.
        overwrite: replace a file that is there.

    Raises:
        TaamctlError: the name is taken or none, or the file is there.
    """
    registry.refuse_taken(PACKAGE, name)
    path = Path(into) / f"{name}.h5"
    _require_free(path, overwrite)
    source = _source("python", [], ImportOptions(), about or {})
    _keep(path, replace(graph, name=name), source, directed, overwrite, "")
    return path


def _keep(
    path: Path,
    graph: NodeGraph,
    source: Mapping[str, Plain],
    directed: bool,
    overwrite: bool,
    command: str,
) -> None:
    with writing(path, wait=True, tell=lambda line: None):
        _require_free(path, overwrite)  # another import may have written it meanwhile
        sweep(path)  # what a killed import left
        _imported.write(path, graph, source, directed, command)


def _other(context: Path | None) -> Context | None:
    """Return the graph to whose nodes edges may lead."""
    if context is None:
        return None
    return context_edges.context_of(context)


def _assembled(
    name: str,
    raw: RawGraph,
    chosen: ImportOptions,
    sources: Sequence[Path],
    other: Context | None,
) -> NodeGraph:
    """Return the graph; no note names a folder, for they are kept with it."""
    graph = assemble(name, raw, chosen, other)
    return replace(graph, notes=tuple(importers.by_name(note, sources) for note in graph.notes))


def _source(
    kind: str, files: Sequence[Path], chosen: ImportOptions, about: Mapping[str, str]
) -> dict[str, Plain]:
    """Return what a graph is made from."""
    usual = asdict(ImportOptions())
    stated = {key: value for key, value in asdict(chosen).items() if value != usual[key]}
    return {
        "format": kind,
        "files": [{"name": file.name, "sha256": sha256(file)} for file in files],
        "options": canonical(stated),
        **{key: text for key, text in about.items() if text},
    }


def warnings(graph: NodeGraph) -> list[str]:
    """Return what to say of features that tell the class, or are none, or outweigh the others; they
    are taken all the same, and `taamctl data doctor` says so again.
    """
    names = graph.feature_names
    out = [
        f"warning: {telling_features.sentence(found, names)}; {telling_features.mend(found, names)}"
        for found in telling_features.telling(graph)
    ]
    apart = feature_sizes.outlying(graph.features)
    if apart is not None:
        out.append(f"warning: {feature_sizes.sentence(apart, names)}; {feature_sizes.MEND}")
    return out


def _require_free(path: Path, overwrite: bool) -> None:
    if path.exists() and not overwrite:
        raise TaamctlError(
            f"{path} is there already", "choose another name, or replace it with --force"
        )
    if path.parent.exists() and not path.parent.is_dir():
        raise TaamctlError(f"--into {path.parent} is a file", "name a folder")


def _all_files(sources: Sequence[Path]) -> Iterator[Path]:
    for given in sources:
        if given.is_dir():
            yield from folder_format.read_files(given)
        else:
            yield given
