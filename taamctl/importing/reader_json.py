"""Node-link JSON, as networkx, d3 and Cytoscape write it: nodes with attributes, and links."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import only
from taamctl.importing.elements import Elements
from taamctl.importing.messages import shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.reader_graphml import raw_of
from taamctl.importing.tables import opened

_SHAPE = (
    'it holds {"nodes": [{"id": ...}, ...], "links": [{"source": ..., "target": ...}, ...]}, as '
    "networkx.node_link_data makes it"
)
_PLACES = ("position", "selected", "index", "vx", "vy", "fx", "fy")  # where a drawing has a node


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a node-link JSON says; an undirected link is stored both ways.

    Ends of links are the nodes' ids; where nodes have none, their names, or their row numbers.

    Raises:
        TaamctlError: no JSON, or of another shape; the message names the node or the link.
    """
    path = only(paths, "node-link JSON")
    where = str(path)
    with opened(path) as stream, reading(where):
        content = json.loads(stream.read().decode("utf-8-sig"))
    nodes, links = _lists(content, where)
    ends = [_ends(link, at, where) for at, link in enumerate(links)]
    ids = _ids(nodes, {end for pair in ends for end in pair}, where)
    directed = bool(content.get("directed", False))
    return raw_of(
        Elements(
            ids,
            [{k: v for k, v in node.items() if k not in ("id", *_PLACES)} for node in nodes],
            [source for source, _ in ends],
            [target for _, target in ends],
            [not directed] * len(ends),
            {key for link in links for key in link} - {"id", "source", "target", "key"},
        ),
        options,
        where,
    )


Dicts = list[Mapping[str, object]]


def _lists(content: object, where: str) -> tuple[Dicts, Dicts]:
    """Return the nodes and the links, Cytoscape's without the shell around each."""
    found = content if isinstance(content, dict) else {}
    shell = found.get("elements")
    if isinstance(shell, dict):
        found = shell
    lists = (found.get("nodes"), found.get("links", found.get("edges")))
    if not all(map(_are_dicts, lists)):
        has = ", ".join(map(str, list(found)[:5])) or type(content).__name__
        raise TaamctlError(f"{where} is no node-link JSON; it holds {shown(has)}", _SHAPE)
    nodes, links = ([_inner(element) for element in one or ()] for one in lists)
    return nodes, links


def _are_dicts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(element, dict) for element in value)


def _inner(element: Mapping[str, object]) -> Mapping[str, object]:
    data = element.get("data")
    return data if isinstance(data, dict) else element


def _ends(link: Mapping[str, object], at: int, where: str) -> tuple[str, str]:
    pair = (link.get("source"), link.get("target"))
    if any(isinstance(end, (dict, list, float)) or end is None for end in pair):
        raise TaamctlError(
            f"{where}: link {at} goes from {shown(pair[0])} to {shown(pair[1])}, which are no "
            "names of two nodes",
            _SHAPE,
        )
    return str(pair[0]), str(pair[1])


def _ids(nodes: Dicts, ends: set[str], where: str) -> list[str]:
    """Return what the links call the nodes: their ids, their names, or their row numbers."""
    for key in ("id", "name"):
        ids = [str(node[key]) for node in nodes if node.get(key) is not None]
        if len(ids) == len(nodes) and (key == "id" or ends <= set(ids)):
            return ids
        if key == "id" and ids:
            at = next(i for i, node in enumerate(nodes) if node.get(key) is None)
            raise TaamctlError(f"{where}: node {at} has no id", "every node has one, or none has")
    return [str(row) for row in range(len(nodes))]
