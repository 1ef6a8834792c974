"""A graph from the files that a user has: which format they are in, which reader takes them, and
what else is said about the nodes.
"""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import column_names, stated_stream
from taamctl.importing.assembly import assemble
from taamctl.importing.bad_rows import lines_in, told_by_lines
from taamctl.importing.file_formats import FORMATS, guess_format, refuse_all
from taamctl.importing.no_label import Said
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import forget, read_table


def read(
    name: str,
    paths: Sequence[Path],
    options: ImportOptions | None = None,
    *,
    kind: str = "",
    tasks: Path | None = None,
    split: Path | None = None,
) -> NodeGraph:
    """Return the graph in a user's files, called `name`: nodes in the file's order, edges as
    stored, `given` as far as the files state it. For the rest see `read_raw`.
    """
    return assemble(name, read_raw(paths, options, kind=kind, tasks=tasks, split=split), options)


def read_raw(
    paths: Sequence[Path],
    options: ImportOptions | None = None,
    *,
    kind: str = "",
    tasks: Path | None = None,
    split: Path | None = None,
    classes: Path | None = None,
) -> RawGraph:
    """Return what a user's files say, unchecked.

    Args:
        paths: the files, such as a node table and an edge list in any order; or one folder.
        options: which column, attribute or key means what; None: guessed.
        kind: one of `FORMATS`; empty: guessed.
        tasks: a table of classes and the tasks that they arrive with.
        split: a table of node ids and their parts.
        classes: a table of the names of the classes that the labels number.

    Raises:
        TaamctlError: missing, damaged or contradicting files; names the file, and where it can the
            row and the value.
    """
    if not paths:
        raise TaamctlError(
            "no file to import is named",
            "name a node table and an edge list, or one file that holds both",
        )
    if kind and kind not in FORMATS:
        raise TaamctlError(
            f"--format {kind}: there is no such format", "there are: " + ", ".join(FORMATS)
        )
    options = options or ImportOptions()
    refuse_all(paths, kind)
    kind = kind or guess_format(paths)
    reader = importlib.import_module(f"taamctl.importing.{FORMATS[kind][0]}")
    raw: RawGraph = reader.read(paths, options)
    if options.ends:
        require_ends(options.ends, raw, FORMATS[kind][2])
    if classes is not None:
        raw = _with_class_names(raw, classes, options)
    if tasks is not None:
        raw = _with_tasks(raw, tasks, options)
    if split is not None:
        raw = _with_parts(raw, split, options)
    forget()
    files = [*paths, *filter(None, (tasks, split, classes))]
    return replace(raw, notes=tuple(by_name(note, files) for note in raw.notes))


def require_ends(ends: str, raw: RawGraph, what: str) -> None:
    """Refuse `--ends` where edges do not end so."""
    if ends == "rows" and raw.by_row:
        return
    if ends == "ids" and not raw.by_row:
        if raw.node_id is not None:
            return
        raise TaamctlError(
            f"--ends ids: edges in {what} do not end so without ids",
            "name what holds the ids with --id, or leave it out",
        )
    raise TaamctlError(f"--ends {ends}: edges in {what} do not end so", "leave it out")


def _with_class_names(raw: RawGraph, path: Path, options: ImportOptions) -> RawGraph:
    """Return the graph with the names of the classes that its labels number."""
    words = ((*column_names.LABEL, "number"),)
    table = read_table(path, options.delimiter, lambda cells: headed(cells, words))
    return replace(raw, class_names=stated_stream.classes_of_table(table))


def _with_tasks(raw: RawGraph, path: Path, options: ImportOptions) -> RawGraph:
    """Return the graph with the tasks of a table of classes."""
    words = (column_names.LABEL, column_names.TASK)
    table = read_table(path, options.delimiter, lambda cells: headed(cells, words))
    said = Said(options.unlabelled, options.class_word)
    with told_by_lines(lines_in(table, options.delimiter)):
        of = stated_stream.tasks_of_table(table, said)
    notes = raw.notes
    if raw.tasks is not None:
        notes = (*notes, f"{path}: tasks of the classes, instead of those that the nodes state")
    return replace(raw, tasks=of, tasks_where=str(path), notes=notes)


def _with_parts(raw: RawGraph, path: Path, options: ImportOptions) -> RawGraph:
    """Return the graph with the parts of a table of nodes."""
    words = (column_names.ID, column_names.PART)
    table = read_table(path, options.delimiter, lambda cells: headed(cells, words))
    with told_by_lines(lines_in(table, options.delimiter)):
        part = stated_stream.parts_of_table(table, raw.node_id, np.shape(raw.features)[0])
    notes = raw.notes
    if raw.part is not None:
        notes = (*notes, f"{path}: parts of the nodes, instead of those that the nodes state")
    return replace(raw, part=part, notes=notes)


def by_name(note: str, paths: Sequence[Path]) -> str:
    """Return a note without the folders that the files happen to lie in: notes are kept with the
    graph.
    """
    for path in paths:
        note = note.replace(str(path), path.name)
    return note


def headed(cells: list[str], words: Sequence[Sequence[str]]) -> bool:
    """Tell whether the cells of a first row are names of columns: one of them is one of the
    usual.
    """
    return any(column_names.guess(cells, w) for w in words)
