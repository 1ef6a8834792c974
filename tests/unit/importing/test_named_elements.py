"""Formats whose nodes carry attributes: node-link JSON, GML, GEXF, Pajek."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import networkx as nx
import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions


def made(directed: bool = False) -> Any:
    graph = (nx.DiGraph if directed else nx.Graph)()
    for name, kind, p in (("a", "x", 1.5), ("b", "y", 0.25), ("c", "x", 3.0)):
        graph.add_node(name, kind=kind, p=p)
    graph.add_edge("a", "b", weight=2.0)
    graph.add_edge("b", "c", weight=1.0)
    return graph


def check(graph: NodeGraph, edges: int = 4, features: tuple[str, ...] = ("p",)) -> None:
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["a", "b", "c"]
    assert (graph.class_names, graph.labels.tolist()) == (("x", "y"), [0, 1, 0])
    assert (graph.feature_names, graph.adjacency.nnz) == (features, edges)
    assert np.asarray(graph.features)[:, 0].tolist() == [1.5, 0.25, 3.0]


KIND = ImportOptions(label="kind")


@pytest.mark.parametrize("directed", [False, True])
def test_node_link_json_of_networkx(tmp_path: Path, directed: bool) -> None:
    path = tmp_path / "g.json"
    for links in ("links", "edges"):
        data = nx.node_link_data(made(directed), edges=links)
        path.write_text(json.dumps(data))
        check(importers.read("g", [path], KIND), 2 if directed else 4)
    vectors = made(directed)
    for node in vectors:
        vectors.nodes[node]["p"] = [vectors.nodes[node]["p"], 1]
    path.write_text(json.dumps(nx.node_link_data(vectors, edges="links")))
    check(importers.read("g", [path], KIND), 2 if directed else 4, ("p[0]", "p[1]"))


def test_json_of_cytoscape_and_d3(tmp_path: Path) -> None:
    path = tmp_path / "g.json"
    path.write_text(json.dumps(nx.cytoscape_data(made())))
    graph = importers.read("g", [path], ImportOptions(label="kind", ignore=("value", "name")))
    check(graph)
    nodes = [{"name": n, "kind": k, "p": p} for n, k, p in (("a", "x", 1.5), ("b", "y", 2))]
    path.write_text(json.dumps({"nodes": nodes, "links": [{"source": 0, "target": 1}]}))
    graph = importers.read("g", [path], ImportOptions(label="kind", ignore=("name",)))
    assert (graph.num_nodes, graph.adjacency.nnz, graph.given.node_id) == (2, 2, None)
    path.write_text(json.dumps({"nodes": nodes, "links": [{"source": "a", "target": "b"}]}))
    graph = importers.read("g", [path], ImportOptions(label="kind", ignore=("name",)))
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["a", "b"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", "cannot be read: Expecting property name"),
        ("[1]", "is no node-link JSON; it holds list"),
        ('{"0": [1, 2]}', "is no node-link JSON; it holds 0"),
        ('{"nodes": [{"id": 1}], "links": [{"source": 1}]}', "link 0 goes from 1 to None"),
        ('{"nodes": [{"id": 1}, {}], "links": []}', "node 1 has no id"),
        ('{"nodes": [], "links": []}', "holds no node"),
    ],
)
def test_json_of_another_shape(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "g.json"
    path.write_text(content)
    with pytest.raises(TaamctlError, match=message):
        importers.read("g", [path])


@pytest.mark.parametrize("kind", ["gml", "gexf"])
@pytest.mark.parametrize("directed", [False, True])
def test_what_networkx_reads(tmp_path: Path, kind: str, directed: bool) -> None:
    path = tmp_path / f"g.{kind}"
    getattr(nx, f"write_{kind}")(made(directed), path)
    graph = importers.read("g", [path], KIND)
    if kind == "gml":  # whose ids are numbers; the names are labels of the drawing
        assert graph.given.node_id is None
        assert (graph.num_nodes, graph.adjacency.nnz) == (3, 2 if directed else 4)
        assert (graph.class_names, graph.feature_names) == (("x", "y"), ("p",))
        named = importers.read("g", [path], ImportOptions(label="kind", id="label"))
        check(named, 2 if directed else 4)
    else:
        check(graph, 2 if directed else 4)
    path.write_text("graph [ node [ id" if kind == "gml" else "<gexf><a>")
    with pytest.raises(TaamctlError, match="cannot be read"):
        importers.read("g", [path])


def test_pajek(tmp_path: Path) -> None:
    path = tmp_path / "g.net"
    path.write_text(
        '*Vertices 3\n1 "a" 0.1 0.2 ellipse kind x p 1.5\n2 "b" 0.1 0.3 ellipse kind y p 0.25\n'
        '3 "c" 0.4 0.2 ellipse kind x p 3\n*Edges\n1 2\n2 3\n'
    )
    check(importers.read("g", [path], KIND))


def test_without_networkx_the_way_out_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "g.gml"
    path.write_text("graph [ ]")
    monkeypatch.setitem(__import__("sys").modules, "networkx", None)
    with pytest.raises(TaamctlError, match="needs the package networkx") as error:
        importers.read("g", [path])
    assert "pip install networkx" in error.value.hint
