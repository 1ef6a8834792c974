"""Graphs and banks by URL, as they are called; URLs where none is read."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import taamctl
from taamctl.bank import add, store, transfer
from taamctl.bank.config import from_params
from taamctl.bank.graph_source import Source
from taamctl.cli import app, only_here
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file, sections

fsspec = pytest.importorskip("fsspec")
FAST = ("train.epochs=2", "train.threads=1", "bank.router.width=8", "train.device=cpu")


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with a bank, a file of it, and a graph; the cache lies below it."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(Path, "home", lambda: tmp_path / "home")
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    x = (rng.normal(size=(60, 8)) + 3 * y[:, None]).astype(np.float32)
    adjacency, _ = adjacency_from_edges(*rng.integers(0, 60, (2, 90)), 60, "g")
    graph = NodeGraph("shop", adjacency, x, y, ("hats", "shoes"))
    _imported.write(tmp_path / "shop.h5", graph, {})
    registry.require("taamctl.methods", "linear_probe")
    checked = sections.Params("test", params_file.read(params_file.PACKAGED, FAST))
    store.create(tmp_path / "model", from_params(checked, "linear_probe", 1))
    add.add(tmp_path / "model", Source(graph))
    transfer.export(tmp_path / "model", tmp_path / "model.tar")
    return tmp_path


def called(monkeypatch: pytest.MonkeyPatch, *words: str) -> int:
    monkeypatch.setattr("sys.argv", ["taamctl", *words])
    with pytest.raises(SystemExit) as ended:
        app.entry()
    return int(str(ended.value.code))


def test_a_graph_and_a_bank_by_url_answer_as_here(here, monkeypatch, capsys) -> None:
    plain = ("predict", "--bank", "model", "--graph", "shop.h5")
    assert called(monkeypatch, *plain) == 0
    wanted = capsys.readouterr().out
    urls = ("predict", "--bank", f"file://{here}/model.tar", "--graph", f"file://{here}/shop.h5")
    for _ in range(2):
        assert called(monkeypatch, *urls) == 0
        assert capsys.readouterr().out == wanted
    assert called(monkeypatch, *urls, "--score") == 0
    assert "hats" in capsys.readouterr().out
    taught = called(monkeypatch, "bank", "create", "new", *[a for s in FAST for a in ("--set", s)])
    assert taught == 0
    assert called(monkeypatch, "bank", "add-task", "new", "--graph", urls[-1], "--quiet") == 0


def test_from_python_too_and_a_new_bank_is_taken(here) -> None:
    files = fsspec.filesystem("memory")
    for file in ("model.tar", "shop.h5"):
        files.pipe(f"/bucket/{file}", (here / file).read_bytes())
    bank = taamctl.load_bank("memory://bucket/model.tar")
    names = bank.predict("memory://bucket/shop.h5").names
    assert names == taamctl.load_bank("model").predict("shop.h5").names
    store.create(here / "other", bank.config)
    graph = Source(taamctl.NodeGraph(**{**vars(graph_of(here)), "class_names": ("caps", "boots")}))
    add.add(here / "other", graph)
    transfer.export(here / "other", here / "other.tar")
    files.pipe("/bucket/model.tar", (here / "other.tar").read_bytes())
    assert taamctl.load_bank("memory://bucket/model.tar").manifest.classes == ("caps", "boots")
    files.pipe("/bucket/model.tar", (here / "other.tar").read_bytes()[:-20_000])
    with pytest.raises(TaamctlError, match="exported bank|is damaged"):
        taamctl.load_bank("memory://bucket/model.tar")


def test_an_unpacked_bank_that_was_damaged_is_unpacked_again(here) -> None:
    url = f"file://{here}/model.tar"
    wanted = taamctl.load_bank(url).predict(here / "shop.h5").confidence.tolist()
    for damaged in ("manifest.json", "router-*.h5", "tasks/*.h5"):
        (found,) = (here / "home").rglob(f"bank/{damaged}")
        found.write_bytes(found.read_bytes()[:-20])
        assert taamctl.load_bank(url).predict(here / "shop.h5").confidence.tolist() == wanted


def graph_of(here: Path) -> NodeGraph:
    return _imported.read(here / "shop.h5")


@pytest.mark.parametrize(
    "words",
    [
        ("run", "--outputs", "s3://b/x"),
        ("bank", "list", "s3://b/x"),
        ("bank", "export", "model", "s3://b/x"),
        ("data", "import", "nodes.csv", "s3://b/x", "--name", "a"),
        ("predict", "--bank", "model", "--graph", "shop.h5", "--out", "s3://b/x"),
        ("predict", "--bank", "model", "--watch", "s3://b/x"),
        ("bank", "onnx", "model", "--into", "s3://u:secret@b/x"),
    ],
)
def test_a_url_where_none_is_read_is_refused(here, monkeypatch, capsys, words) -> None:
    before = sorted(here.rglob("*"))
    assert called(monkeypatch, *words) == 2
    said = capsys.readouterr().err
    assert "s3://b/x: taamctl reads graphs and exported banks by URL" in said
    assert "taamctl bank export DIR FILE.tar" in said
    assert sorted(here.rglob("*")) == before


def test_text_that_looks_like_a_url_is_no_path() -> None:
    only_here.require({"homepage": "https://example.org/a", "graph": Path("s3://b/x"), "n": 3})
    with pytest.raises(TaamctlError, match="sources https://example.org/a"):
        only_here.require({"sources": [Path("a"), Path("https://example.org/a")]})
