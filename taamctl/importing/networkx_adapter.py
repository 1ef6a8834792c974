"""Graphs that networkx reads: the one module that imports it, and only where it is needed."""

from __future__ import annotations

import importlib
from collections.abc import Mapping, Sequence
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import only
from taamctl.importing.elements import Elements
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.reader_graphml import raw_of
from taamctl.importing.tables import opened

DRAWN = ("x", "y", "shape", "graphics", "viz", "start", "end", "id")  # of a drawing, or the id


def read_by(
    function: str, paths: Sequence[Path], options: ImportOptions, what: str, **more: Plain
) -> RawGraph:
    """Return what a function of networkx reads; an undirected edge is stored both ways.

    Args:
        function: its name. what: the format, for messages. more: what it is called with besides.

    Raises:
        TaamctlError: networkx is missing, or finds the file damaged.
    """
    path = only(paths, what)
    where = str(path)
    try:
        networkx = importlib.import_module("networkx")
    except ImportError as error:
        raise TaamctlError(
            f"reading {where} needs the package networkx, which is missing",
            "pip install networkx, or save the graph as GraphML",
        ) from error
    with opened(path) as stream:
        try:
            with reading(where):
                graph = getattr(networkx, function)(stream, **more)
        except (networkx.NetworkXError, SyntaxError) as error:  # of XML: ParseError
            raise TaamctlError(
                f"{where} cannot be read: {' '.join(str(error).split())[:200]}",
                f"it is no {what}, or damaged; write it again",
            ) from error
    return _raw(graph, options, where)


def _raw(graph: Plain, options: ImportOptions, where: str) -> RawGraph:
    nodes = list(graph.nodes(data=True))
    edges = list(graph.edges(data=True))
    hidden = _hidden([cells for _, cells in nodes], options)
    return raw_of(
        Elements(
            [str(node) for node, _ in nodes],
            [{k: v for k, v in cells.items() if k not in hidden} for _, cells in nodes],
            [str(source) for source, _, _ in edges],
            [str(target) for _, target, _ in edges],
            [not graph.is_directed()] * len(edges),
            set().union(*(cells for _, _, cells in edges)) - {"id"},
        ),
        options,
        where,
    )


def _hidden(cells: Sequence[Mapping[str, object]], options: ImportOptions) -> set[str]:
    """Return the attributes that only a drawing needs, but for those that the user names: also
    what it writes beside a node, where that is different for every one.
    """
    written = {str(of_one.get("label")) for of_one in cells}
    drawn = {*DRAWN, *["label"] * (len(written) == len(cells) > 1)}
    return drawn - {options.id, options.label, options.time, *options.features}
