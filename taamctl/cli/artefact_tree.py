"""An artefact as a tree on the terminal."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taamctl.cli.console import sheet

if TYPE_CHECKING:
    from rich.tree import Tree

LONGEST = 6  # values shown of a row


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


def show(title: str, lines: Iterable[str], entries: Iterable[Entry]) -> None:
    """Print an artefact as a tree, a branch per folder in it."""
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(title))
    for line in lines:
        tree.add(Text(line))
    folders = {"": tree}
    for entry in entries:
        folder, _, name = entry.path.rpartition("/")
        leaf = _branch(folders, folder).add(
            Text(f"{name}  {entry.dtype} [{_size(entry)}]  crc32 {entry.crc32}  {entry.doc}")
        )
        head = entry.head
        if not isinstance(head, list):
            head = [head]
        for row in head:
            leaf.add(Text(_short(row)))
    out = sheet()
    out.print(tree, soft_wrap=not out.is_terminal)


def _branch(folders: dict[str, Tree], folder: str) -> Tree:
    """Return the branch of a folder, made where it is missing."""
    from rich.text import Text

    if folder not in folders:
        above, _, name = folder.rpartition("/")
        folders[folder] = _branch(folders, above).add(Text(f"{name}/"))
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
