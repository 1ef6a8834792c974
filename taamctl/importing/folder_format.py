"""Formats that are told by a folder, or by the names of several files that belong together."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path

from taamctl.graph.ogb_adapter import BINARY_FILES, CSV_FILES
from taamctl.importing import table_folder
from taamctl.importing.arrow_tables import files_of_table, is_typed, parts_of

PLANETOID = re.compile(r"ind\..+\.(x|y|tx|ty|allx|ally|graph|test\.index)")
MUSAE = re.compile(r".*(feature|edge|target).*\.(json|[ct]sv)(\.gz)?", re.IGNORECASE)

_KINDS = ("ogb", "table")  # of a folder, whether it holds tables
OGB = frozenset({CSV_FILES[0], BINARY_FILES[0]})


def of_folders(paths: Sequence[Path]) -> str:
    """Return the format of a folder, or of folders and files that are tables each."""
    if len(paths) > 1:
        tables = all(path.is_file() or is_typed(path) for path in paths)
        return _KINDS[tables]
    (folder,) = paths
    files = files_of(folder)
    kind = of_names(files)
    if kind:
        return kind
    if OGB & {path.name for path in files}:
        return "ogb"
    return _KINDS[len(table_folder.tables_of(folder)) == 2]


def of_names(paths: Sequence[Path]) -> str:
    """Return the format that the names of files tell together; empty where they do not."""
    names = [path.name for path in paths]
    if any(PLANETOID.fullmatch(name) for name in names):
        return "planetoid"
    return "musae" if _like_musae(names) else ""


def _like_musae(names: Sequence[str]) -> bool:
    """Tell whether names are those of features, edges and targets: one JSON file and two tables, or
    tables that are called so.
    """
    kinds = sorted(Path(name.lower().removesuffix(".gz")).suffix for name in names)
    if kinds in ([".csv", ".csv", ".json"], [".json", ".tsv", ".tsv"]):
        return True
    like = [match for name in names if (match := MUSAE.fullmatch(name))]
    words, suffixes = {match[1].lower() for match in like}, {match[2].lower() for match in like}
    return len(words) == 3 or (len(suffixes) == 2 and "json" in suffixes)


def files_of(folder: Path) -> list[Path]:
    """Return the files of a folder, or of the one called raw in it."""
    if (folder / "raw").is_dir():
        folder = folder / "raw"
    return sorted(path for path in folder.iterdir() if path.is_file())


def read_files(folder: Path) -> list[Path]:
    """Return the files that an import of a folder reads, or looks at: those of two tables and
    their parts, else all.
    """
    if parts_of(folder) and len(table_folder.tables_of(folder)) != 2:
        return parts_of(folder)
    if of_folders([folder]) != "table":
        return files_of(folder)
    return [part for table in table_folder.tables_of(folder) for part in files_of_table(table)]


def unpacked(paths: Sequence[Path]) -> list[Path]:
    """Return files as they are, and those of a folder."""
    found = list[Path]()
    for path in paths:
        found += files_of(path) if path.is_dir() else [path]
    return found
