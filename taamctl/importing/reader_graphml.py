"""GraphML: nodes and edges as they stand, node attributes as columns; read as a stream, without
any entity or outside reference.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from xml.parsers import expat

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import roles
from taamctl.importing.arrays import only
from taamctl.importing.column_names import whole_names
from taamctl.importing.elements import HasElements
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import Table, opened
from taamctl.importing.vectors import unfolded

ID = "node id"  # the column of the ids of the elements; attributes may be called id too
_KINDS = {
    "int": np.int64,
    "long": np.int64,
    "float": np.float64,
    "double": np.float64,
    "boolean": np.bool_,
}


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a GraphML file says; an undirected edge is stored both ways.

    Raises:
        TaamctlError: no well-formed XML, a document type, several or nested graphs, hyperedges,
            edges without ends.
    """
    path = only(paths, "GraphML")
    document = _Document(path)
    parser = expat.ParserCreate(namespace_separator=" ")
    parser.buffer_text = True
    parser.StartElementHandler, parser.EndElementHandler, parser.CharacterDataHandler = (
        document.start,
        document.end,
        document.text,
    )
    parser.StartDoctypeDeclHandler = document.refuse_doctype
    with opened(path) as stream:
        try:
            parser.ParseFile(stream)
        except expat.ExpatError as error:
            raise TaamctlError(
                f"{path} cannot be read: {error}",
                "the file is truncated or no GraphML; write it again",
            ) from error
        except (EOFError, OSError, ValueError, LookupError) as error:
            raise TaamctlError(
                f"{path} cannot be read: {' '.join(str(error).split())}",
                "the file is damaged; write it again",
            ) from error
    return raw_of(document, options, str(path))


def raw_of(document: HasElements, options: ImportOptions, where: str) -> RawGraph:
    """Return what nodes and edges with attributes say.

    Raises:
        TaamctlError: no node, or what `roles.nodes` refuses.
    """
    if not document.ids:
        raise TaamctlError(
            f"{where} holds no node", "check that the file is complete, and of its format"
        )
    attributes, own = document.columns(), ID
    while own in attributes:
        own += "_"
    table = Table(where, {own: np.array(document.ids, object), **attributes})
    options = whole_names(options, list(table.columns))
    free = [n for n in roles.roles(list(table.columns), options, where).features if n != own]
    table = replace(table, columns=unfolded(table.columns, free, where, options.decimal))
    raw = roles.nodes(
        table,
        replace(options, ignore=(*options.ignore, own)) if options.id else replace(options, id=own),
    )
    both = np.array(document.both, bool)
    source, target = (np.array(e, object) for e in (document.sources, document.targets))
    notes = []
    if both.any():
        loops = both & (source == target)
        back = both & ~loops
        source, target = (
            np.concatenate([source, target[back]]),
            np.concatenate([target, source[back]]),
        )
        notes.append(f"{where}: {int(both.sum()):,} undirected edges stored both ways")
    if document.edge_keys:
        notes.append(
            f"{where}: columns of the edges not read: {', '.join(sorted(document.edge_keys))}"
        )
    if options.id:  # edges name the elements' ids, whatever the nodes shall be called
        names = dict(zip(document.ids, np.asarray(raw.node_id).tolist(), strict=True))
        source, target = (
            np.array([names.get(e, e) for e in ends], object) for ends in (source, target)
        )
    notes = [*raw.notes, *notes]
    taken = _without_own_ids(raw.taken, options.id, own)
    return replace(raw, source=source, target=target, notes=tuple(notes), taken=taken)


def _without_own_ids(taken: ImportOptions | None, named: str, own: str) -> ImportOptions | None:
    """Return what was taken, without the ids of the elements: no option names them."""
    if taken is None:
        return None
    kept = tuple(name for name in taken.ignore if name != own)
    return replace(taken, id=named, ignore=kept, header="")


class _Document:
    """What has been read so far.

    Attributes:
        ids: the ids of the nodes, in the file's order.
        sources, targets, both: the ends of every edge, and whether it is undirected.
        edge_keys: the names of the edges' attributes.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._keys: dict[str, dict[str, str]] = {}
        self._cells: dict[str, dict[int, str]] = {}
        self._inside: list[str] = []
        self._data: tuple[str, str] | None = None
        self._text: list[str] = []
        self._undirected, self._graphs = False, 0
        self.ids: list[str] = []
        self.sources: list[str] = []
        self.targets: list[str] = []
        self.both: list[bool] = []
        self.edge_keys: set[str] = set()

    def refuse_doctype(self, *_: Any) -> None:
        """Refuse what could define entities."""
        raise TaamctlError(
            f"{self._path} declares a document type, which GraphML does not need",
            "delete the line that starts with <!DOCTYPE, if you trust the file",
        )

    def start(self, name: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        name = name.rpartition(" ")[2]
        above = self._inside[-1] if self._inside else ""
        self._inside.append(name)
        if name == "key":
            self._keys[self._need(name, attributes, "id")] = {**attributes, "default": ""}
        elif name == "graph":
            self._graphs += 1
            if self._graphs > 1:
                raise TaamctlError(
                    f"{self._path} holds several or nested graphs, expected one",
                    "write the one that is meant",
                )
            self._undirected = attributes.get("edgedefault", "undirected") != "directed"
        elif name == "node":
            self.ids.append(self._need(name, attributes, "id"))
        elif name == "edge":
            ends = [self._need(name, attributes, end) for end in ("source", "target")]
            self.sources.append(ends[0])
            self.targets.append(ends[1])
            stated = attributes.get("directed")
            self.both.append(
                self._undirected if stated is None else stated.lower() not in ("true", "1")
            )
        elif name == "hyperedge":
            raise TaamctlError(
                f"{self._path} holds hyperedges, expected edges of two ends",
                "write every pair as an edge",
            )
        elif name == "data":
            self._data, self._text = (above, self._need(name, attributes, "key")), []
        elif name == "default":
            self._text = []

    def text(self, data: str) -> None:
        """Take what stands in an element."""
        self._text.append(data)

    def end(self, name: str) -> None:
        """End an element."""
        self._inside.pop()
        name = name.rpartition(" ")[2]
        if name == "default" and self._keys:
            self._keys[next(reversed(self._keys))]["default"] = "".join(self._text).strip()
        elif name == "data" and self._data is not None:
            (of, key), self._data = self._data, None
            spelled = self._keys.get(key, {}).get("attr.name", key)
            if of == "node":
                self._cells.setdefault(key, {})[len(self.ids) - 1] = "".join(self._text).strip()
            elif of == "edge":
                self.edge_keys.add(spelled)

    def columns(self) -> dict[str, Array]:
        """Return the nodes' attributes: numbers where their type says so and no cell is empty,
        else text.
        """
        found: dict[str, Array] = {}
        for key in self._node_keys():
            about = self._keys.get(key, {})
            name = about.get("attr.name", key)
            if name in found:
                raise TaamctlError(
                    f"{self._path}: two attributes of nodes are called {name!r}",
                    "rename one of them",
                )
            stated = self._cells.get(key, {})
            default = about.get("default", "")
            cells = np.array([stated.get(i, default) for i in range(len(self.ids))], object)
            kind = _KINDS.get(about.get("attr.type", ""))
            if kind in (np.int64, np.float64) and all(cells):
                # what is no number stays text: its reader names row and value
                with contextlib.suppress(ValueError, OverflowError):
                    cells = cells.astype(kind)
            found[name] = cells
        return found

    def _node_keys(self) -> Iterator[str]:
        """Yield the keys of attributes that nodes have, declared ones first."""
        for key, about in self._keys.items():
            of_nodes = about.get("for", "all") in ("node", "all")
            if of_nodes and (key in self._cells or about["default"]):
                yield key
        yield from (key for key in self._cells if key not in self._keys)

    def _need(self, element: str, attributes: dict[str, str], name: str) -> str:
        if name not in attributes:
            raise TaamctlError(
                f"{self._path}: {element} "
                f"{len(self.ids) if element == 'node' else len(self.sources)} has no {name}",
                "the file is no complete GraphML; write it again",
            )
        return attributes[name]
