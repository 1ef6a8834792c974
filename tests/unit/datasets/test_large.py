"""Data sets too large to be at hand: small stand-ins in every layout, with META's counts set to
theirs.
"""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import content_hash, to_scipy

EDGES = np.array([[0, 1, 2, 2], [1, 2, 0, 2]])
FEATURES = np.array([[0.5, 1], [0.25, -1], [2, 3]])
LABELS = [1, 0, 1]


def shrink(monkeypatch: pytest.MonkeyPatch, name: str) -> ModuleType:
    """Return the data set's module, made to expect 3 nodes with 2 features."""
    module = registry.load("taamctl.datasets", name)
    monkeypatch.setattr(module, "META", replace(module.META, nodes=3, features=2))
    return module


def put(root: Path, where: str, files: dict[str, bytes], prefix: str = "") -> Path:
    """Write `files` into the folder or zip archive `where` below `root`."""
    path = root / where
    if not where.endswith(".zip"):
        path.mkdir(parents=True, exist_ok=True)
        for name, data in files.items():
            (path / name).write_bytes(data)
        return path
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w") as archive:
        for name, data in files.items():
            archive.writestr(prefix + name, data)
    return path


def entries(graph: NodeGraph) -> list[tuple[int, int]]:
    """Return the stored entries as (source, target)."""
    target, source = np.nonzero(to_scipy(graph.adjacency).toarray())
    return sorted(zip(source.tolist(), target.tolist(), strict=True))


def wikics_files() -> dict[str, bytes]:
    """Return WikiCS's file."""
    links = [EDGES[1][EDGES[0] == u].tolist() for u in range(3)]
    return {
        "data.json": json.dumps(
            {"features": FEATURES.tolist(), "labels": LABELS, "links": links}
        ).encode()
    }


def test_wikics_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = shrink(monkeypatch, "wikics")
    hashes = set()
    layouts = (
        "wikics",
        "WikiCS/raw",
        "raw",
        "wiki_cs_58d9b421",
        "",
        "wiki_cs.zip",
        "wikics/wiki_cs.zip",
    )
    for i, where in enumerate(layouts):
        put(tmp_path / str(i), where, wikics_files())
        graph = module.load(tmp_path / str(i))
        hashes.add(content_hash(graph))
    assert len(hashes) == 1
    assert entries(graph) == [
        (0, 1),
        (0, 2),
        (1, 0),
        (1, 2),
        (2, 0),
        (2, 1),
        (2, 2),
    ]  # both directions, one loop
    assert (graph.labels.tolist(), graph.class_names[9]) == (LABELS, "class 9")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "data.json cannot be read"),
        ("[]", "data.json: no key 'features'"),
        ('{"features": [[1, 2]], "labels": [0]}', "data.json: no key 'links'"),
        (
            '{"features": [[1, 2], [3]], "labels": [0, 1], "links": [[], []]}',
            "data.json cannot be read",
        ),
        ('{"features": [[1, 2]], "labels": [0], "links": [[5]]}', r"wikics: edge 0 is \(0, 5\)"),
        (
            '{"features": [[1, 2]], "labels": [0], "links": [[0]]}',
            "data.json holds 1 nodes with 2 features; wikics has 3",
        ),
    ],
)
def test_wikics_faults(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str
) -> None:
    module = shrink(monkeypatch, "wikics")
    (tmp_path / "data.json").write_text(text)
    with pytest.raises(TaamctlError, match=message):
        module.load(tmp_path)


def reddit_files(folder: Path, kind: type[Any]) -> dict[str, bytes]:
    """Return Reddit's files, written as DGL's archive has them."""
    folder.mkdir(parents=True)
    np.savez(
        folder / "reddit_data.npz",
        feature=FEATURES,
        label=LABELS,
        node_types=[1, 2, 3],
        node_ids=[0, 1, 2],
    )
    sp.save_npz(folder / "reddit_graph.npz", kind((np.ones(4), EDGES), shape=(3, 3)))
    return {p.name: p.read_bytes() for p in folder.iterdir()}


@pytest.mark.parametrize("kind", [sp.coo_matrix, sp.csr_matrix])
def test_reddit_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Any]) -> None:
    module = shrink(monkeypatch, "reddit")
    files = reddit_files(tmp_path / "made", kind)
    hashes = set()
    layouts = (
        "reddit",
        "Reddit/raw",
        "raw",
        "reddit_69f818f5",
        "",
        "reddit.zip",
        "reddit/reddit.zip",
    )
    for i, where in enumerate(layouts):
        put(tmp_path / str(i), where, files)
        graph = module.load(tmp_path / str(i))
        hashes.add(content_hash(graph))
    assert len(hashes) == 1
    assert entries(graph) == [(0, 1), (1, 2), (2, 0), (2, 2)]
    assert graph.notes == ("features cast from float64 to float32",)


def test_reddit_needs_both_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = shrink(monkeypatch, "reddit")
    files = reddit_files(tmp_path / "reddit", sp.coo_matrix)
    (tmp_path / "reddit" / "reddit_graph.npz").write_bytes(files["reddit_graph.npz"][:50])
    with pytest.raises(TaamctlError, match="reddit/reddit_graph.npz cannot be read"):
        module.load(tmp_path)
    (tmp_path / "reddit" / "reddit_graph.npz").unlink()
    with pytest.raises(TaamctlError, match="reddit/reddit_graph.npz is missing"):
        module.load(tmp_path)


def ogb_files(folder: Path, binary: bool) -> dict[str, bytes]:
    """Return an OGB raw folder."""
    import gzip

    if binary:
        folder.mkdir(parents=True)
        np.savez(
            folder / "data.npz",
            edge_index=EDGES,
            node_feat=FEATURES.astype(np.float32),
            num_nodes_list=[3],
            num_edges_list=[4],
        )
        np.savez(folder / "node-label.npz", node_label=np.array(LABELS)[:, None])
        return {p.name: p.read_bytes() for p in folder.iterdir()}
    tables: dict[str, list[list[float]]] = {
        "edge": EDGES.T.tolist(),
        "node-feat": FEATURES.tolist(),
        "node-label": [[label] for label in LABELS],
        "num-node-list": [[3]],
        "num-edge-list": [[4]],
    }
    text = {
        name: "".join(",".join(map(str, row)) + "\n" for row in table)
        for name, table in tables.items()
    }
    return {f"{name}.csv.gz": gzip.compress(lines.encode()) for name, lines in text.items()}


@pytest.mark.parametrize("name", ["arxiv", "products"])
def test_ogb_layouts(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    module = shrink(monkeypatch, name)
    hashes = set()
    for i, where in enumerate(
        (f"ogbn_{name}/raw", f"{name}/raw", f"{name}.zip", f"{name}/{name}.zip")
    ):
        for binary in (False, True):
            root = tmp_path / f"{i}{binary}"
            put(root, where, ogb_files(tmp_path / f"made{i}{binary}", binary), f"{name}/raw/")
            graph = module.load(root)
            hashes.add(content_hash(graph))
    assert len(hashes) == 1
    backwards = [] if name == "arxiv" else [(0, 2), (1, 0), (2, 1)]
    assert entries(graph) == sorted([(0, 1), (1, 2), (2, 0), (2, 2), *backwards])
    assert len(graph.class_names) == len(set(graph.class_names)) == module.META.classes


def test_arxiv_names_its_areas() -> None:
    module = registry.load("taamctl.datasets", "arxiv")
    assert (module.CLASS_NAMES[16], module.CLASS_NAMES[24], module.CLASS_NAMES[30]) == (
        "cs.CV",
        "cs.LG",
        "cs.CL",
    )


def test_broken_archive_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = shrink(monkeypatch, "arxiv")
    archive = put(tmp_path, "arxiv.zip", ogb_files(tmp_path / "made", binary=False), "arxiv/raw/")
    data = bytearray(archive.read_bytes())
    data[60] ^= 255
    archive.write_bytes(data)
    with pytest.raises(TaamctlError, match="arxiv.zip"):
        module.load(tmp_path)
    archive.write_bytes(data[:100])
    with pytest.raises(TaamctlError, match="arxiv.zip cannot be read: File is not a zip file"):
        module.load(tmp_path)


def corafull_npz(shared: Path, path: Path) -> Path:
    """Complete CoraFull's structure with made-up features of the right width."""
    rng = np.random.default_rng(0)
    with np.load(shared / "corafull_structure.npz") as structure:
        arrays = dict(structure)
    nodes = int(arrays["adj_shape"][0])
    arrays |= {
        "attr_data": np.ones(nodes, np.float32),
        "attr_indices": rng.integers(0, 8_710, nodes).astype(np.int32),
        "attr_indptr": np.arange(nodes + 1, dtype=np.int32),
        "attr_shape": np.array([nodes, 8_710]),
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(path, **arrays)
    return path


def test_corafull_layouts(tmp_path: Path, shared_data: Path) -> None:
    module = registry.load("taamctl.datasets", "corafull")
    data = corafull_npz(shared_data, tmp_path / "made" / "x.npz").read_bytes()
    hashes = set()
    for i, (where, name) in enumerate(
        (
            ("corafull", "cora.npz"),
            ("cora/raw", "cora.npz"),
            ("raw", "cora_full.npz"),
            ("cora_full_659794fa", "cora_full.npz"),
            ("", "cora_full.npz"),
            ("cora_full.zip", "cora_full.npz"),
        )
    ):
        put(tmp_path / str(i), where, {name: data})
        graph = module.load(tmp_path / str(i))
        hashes.add(content_hash(graph))
    assert len(hashes) == 1
    assert (graph.adjacency.nnz, graph.labels.max()) == (module.META.edges, 69)


def test_corafull_without_features_is_refused(tmp_path: Path, shared_data: Path) -> None:
    module = registry.load("taamctl.datasets", "corafull")
    put(tmp_path, "corafull", {"cora.npz": (shared_data / "corafull_structure.npz").read_bytes()})
    with pytest.raises(
        TaamctlError, match="corafull/cora.npz holds edges and labels but features are missing"
    ):
        module.load(tmp_path)
