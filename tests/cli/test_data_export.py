"""`taamctl data export`: where files go, what is never replaced, and what is said."""

from __future__ import annotations

import json
import shlex
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

import taamctl
from taamctl.cli.app import app
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.exporting.export_graph import FORMATS, export


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def graph(name: str = "shop", **changes: Any) -> NodeGraph:
    ring = CSR(np.arange(5), np.array([3, 0, 1, 2], np.int32), None, (4, 4))
    labels = np.array([0, 1, -1, 1])
    x = np.arange(8, dtype=np.float32).reshape(4, 2)
    made = {"features": x, "labels": labels, "class_names": ("b", "a"), **changes}
    return NodeGraph(name, ring, **made)


def run(*arguments: str) -> Any:
    done = CliRunner().invoke(app, arguments)
    assert not done.exit_code, (arguments, done.output, done.exception)
    return done


@pytest.mark.parametrize(
    ("kind", "out", "names"),
    [
        ("npz", None, ["shop.npz"]),
        ("npz", "there", ["there/shop.npz"]),
        ("npz", "new/one", ["new/one.npz"]),
        ("graphml", "one.xml", ["one.xml", "one_classes.csv"]),
        ("csv", None, ["shop_nodes.csv", "shop_edges.csv", "shop_classes.csv"]),
        ("csv", "there", [f"there/shop_{part}.csv" for part in ("nodes", "edges", "classes")]),
        ("csv", "one.csv", ["one_nodes.csv", "one_edges.csv", "one_classes.csv"]),
        ("csv", "v1.2", ["v1.2_nodes.csv", "v1.2_edges.csv", "v1.2_classes.csv"]),
    ],
)
def test_where_files_go(kind: str, out: str | None, names: list[str], folder: Path) -> None:
    (folder / "there").mkdir()
    (folder / "shop").mkdir()  # a folder called like the graph is not meant
    made = export(graph(), kind, None if out is None else Path(out))
    assert sorted(map(str, made.paths)) == sorted(names)
    assert all(path.is_file() for path in made.paths)
    left = {path for path in folder.rglob("*") if path.is_file()}
    assert left == {folder / name for name in names}


@pytest.mark.parametrize("kind", ["csv", "npz"])
def test_nothing_is_replaced_without_a_word(kind: str) -> None:
    (there, *others) = export(graph(), kind).paths
    for path in others:
        path.unlink()
    there.write_text("mine")
    with pytest.raises(TaamctlError, match="is there already") as caught:
        export(graph(), kind)
    assert "--force" in caught.value.hint
    assert there.read_text() == "mine" and not any(path.exists() for path in others)
    export(graph(), kind, overwrite=True)
    assert there.read_bytes() != b"mine" and all(path.exists() for path in others)


@pytest.mark.parametrize("kind", [kind for kind in FORMATS if kind not in ("parquet", "dgl")])
def test_a_failed_writer_leaves_nothing(
    kind: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(TaamctlError, match="no space left"):
        export(graph(), kind)
    assert not list(folder.iterdir())


def test_no_such_format() -> None:
    with pytest.raises(TaamctlError, match="--format xls") as caught:
        export(graph(), "xls")
    assert all(kind in caught.value.hint for kind in FORMATS)


def test_what_is_left_out_is_said() -> None:
    made = export(graph(class_names=("b", "a", "c, d"), given=Given(np.array([0, 0, 1]))), "npz")
    assert made.notes == ("left out: 1 classes that no node has (c, d)",)
    made = export(graph(features=CSR.of_dense(np.eye(4, dtype=np.float32))), "csv", Path("x"))
    assert any("they are dense" in note for note in made.notes)
    assert any("they are called x0 to x3" in note for note in made.notes)


@pytest.mark.parametrize(
    ("changes", "kind", "match"),
    [
        ({"class_names": ("a\0", "b")}, "csv", "the class .* holds a character that CSV"),
        ({"class_names": ("a\1", "b")}, "graphml", "the class .* holds a character that XML"),
        ({"feature_names": ("a", "b ")}, "csv", "the feature 'b ' has blanks"),
        ({"features": np.zeros((4, 0), np.float32)}, "npz", "4 nodes with 0 features"),
        ({"given": Given(node_id=np.array(["a ", "b", "c", "d"]))}, "npz", "'a ' would come back"),
    ],
)
def test_what_a_format_cannot_hold_is_refused(
    changes: dict[str, Any], kind: str, match: str, folder: Path
) -> None:
    with pytest.raises(TaamctlError, match=match) as caught:
        export(graph(**changes), kind)
    assert caught.value.hint and not list(folder.iterdir())


def test_a_built_in_graph_comes_back_with_its_record() -> None:
    done = run("data", "export", "debian", "--format", "npz", "--out", "it's a graph.npz")
    assert done.stdout == "it's a graph.npz\n"
    shown = done.stderr.split("read it back: ")[1].strip()
    run(*shlex.split(shown)[1:])
    before, after = data_set("debian"), data_set("debian_copy")
    assert (after.meta.licence, after.meta.citation) == (
        before.meta.licence,
        before.meta.citation,
    )
    one, other = before.load(None, None), after.load(None, None)
    assert one.class_names == other.class_names and np.array_equal(one.labels, other.labels)
    assert np.array_equal(one.adjacency.indices, other.adjacency.indices)
    assert one.feature_names == other.feature_names


def test_an_export_of_an_import_of_an_export_has_the_same_bytes() -> None:
    _imported.write(Path("data/shop.h5"), graph(feature_names=("p, q", "r")), {})
    for kind in ("csv", "graphml", "npz"):
        run("data", "export", "shop", "--format", kind, "--out", f"one_{kind}")
        shown = run("data", "export", "shop", "--format", kind, "--out", f"two_{kind}").stderr
        run(*shlex.split(shown.split("read it back: ")[1].strip())[1:], "--force")
        run("data", "export", "shop_copy", "--format", kind, "--out", f"three_{kind}")
        for path in Path().glob(f"two_{kind}*"):
            assert path.read_bytes() == Path(f"three{path.name[3:]}").read_bytes()
    facts = json.loads(run("data", "info", "shop_copy", "--json").stdout)
    assert facts["nodes"] == 4


def test_the_page_names_every_format() -> None:
    page = (Path(taamctl.__file__).parent / "docs/export.md").read_text(encoding="utf-8")
    rows = {line.split("|")[1].strip(" `") for line in page.splitlines() if line.startswith("| `")}
    assert rows == set(FORMATS)


@pytest.mark.parametrize(("kind", "package"), [("parquet", "pyarrow"), ("dgl", "dgl")])
def test_a_missing_library_is_named_before_anything_is_written(
    kind: str, package: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    monkeypatch.setitem(sys.modules, f"{package}.parquet", None)
    with pytest.raises(TaamctlError, match=package) as caught:
        export(graph(), kind)
    assert "pip install" in caught.value.hint and not list(folder.iterdir())


def test_edges_to_another_graph_are_named_as_left_out(folder: Path) -> None:
    outside = Outside(
        np.array([0, 2]), np.array(["old 1", "old 2"], object), np.array([True, False])
    )
    made = export(graph(outside=outside), "npz", folder / "shop.npz")
    assert any("2 edges to nodes of another graph" in note for note in made.notes), made
