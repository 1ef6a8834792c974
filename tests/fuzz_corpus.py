"""Small whole files of every kind that taamctl reads, to be damaged: a folder for each."""

from __future__ import annotations

import importlib.util
import io
import shutil
import sys
import tarfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import scipy.io
import scipy.sparse as sp

TESTS = Path(__file__).resolve().parent
CANARY = "executed"  # the folder that code in a file would make


def helper(name: str, path: Path) -> ModuleType:
    """Return a module of the tests, loaded from its path: tests are no package."""
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, path)
        assert spec is not None and spec.loader is not None
        sys.modules[name] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[name])
    return sys.modules[name]


FORMATS = helper("taamctl_tests_formats", TESTS / "unit" / "graph" / "formats.py")


class Runs:
    """What a pickle of makes a folder when it is read without a guard."""

    def __reduce__(self) -> tuple[Any, ...]:
        import os

        return os.mkdir, (CANARY,)


def specs() -> Iterator[Any]:
    """Yield graphs: plain, with names, with times and parts."""
    part = ["train", "val", "test", ""]
    yield FORMATS.Spec()
    yield FORMATS.Spec(ids=["a", "b b", "ü", "d"], time=[1, 2, 3, 4], part=part)
    yield FORMATS.Spec(y=np.array([2, 0, 1, 1]), time=[1, 2, 3, 4])


def _of(*writers: str) -> Callable[[Path], None]:
    """Return a maker of all graphs by some writers, each into a folder of its own."""

    def make(root: Path) -> None:
        for writer in writers:
            for k, spec in enumerate(specs()):
                folder = root / f"{writer}-{k}"
                folder.mkdir(parents=True)
                try:
                    FORMATS.WRITERS[writer](spec, folder)
                except (TypeError, ValueError, KeyError):
                    shutil.rmtree(folder)  # a format without names of nodes

    return make


def _networkx(extension: str, write: str) -> Callable[[Path], None]:
    def make(root: Path) -> None:
        import networkx

        for k, directed in enumerate((False, True)):
            graph = networkx.DiGraph() if directed else networkx.Graph()
            for i in range(5):
                graph.add_node(str(i) if k else i, x1=i + 0.5, x2=i, **{"class": f"c{i % 2}"})
            graph.add_edges_from([(u, v) for u, v in zip(graph, [*graph][1:], strict=False)])
            folder = root / str(k)
            folder.mkdir(parents=True)
            if extension == "net":
                for _, cells in graph.nodes(data=True):
                    cells.update({key: str(value) for key, value in cells.items()})
            getattr(networkx, write)(graph, folder / f"graph.{extension}")

    return make


def _json(root: Path) -> None:
    plain = (
        '{"directed": true, "nodes": [{"id": 0, "label": "a", "x": 1.5}, {"id": 1, "label": "b", '
        '"x": 2}, {"id": "c", "label": "a", "x": [1, 2]}], "links": [{"source": 0, "target": 1}]}'
    )
    shell = (
        '{"elements": {"nodes": [{"data": {"id": "a", "f": 1, "class": "u"}}, {"data": {"id": "b", '
        '"f": 2, "class": "v"}}], "edges": [{"data": {"source": "a", "target": "b", "w": 1}}]}}'
    )
    for k, text in enumerate((plain, shell)):
        (root / str(k)).mkdir(parents=True)
        (root / str(k) / "graph.json").write_text(text, encoding="utf-8")


def _mat(root: Path) -> None:
    a = sp.csc_matrix(np.array([[0, 1, 0], [1, 0, 2], [0, 0, 0]], float))
    x = np.array([[1.5, 0], [0, 2], [3, 4]])
    y = np.array([[1], [2], [1]])
    for k, form in enumerate(("5", "4", "5")):
        folder = root / str(k)
        folder.mkdir(parents=True)
        content: dict[str, Any] = {"Network": a, "Attributes": x, "Label": y}
        if k == 2:
            content = {"A": a.toarray(), "X": sp.csc_matrix(x), "y": y.T, "z": {"a": 1}, "s": "ab"}
        scipy.io.savemat(folder / "graph.mat", content, format=form, do_compression=k == 2)


def _pyg(root: Path) -> None:
    import torch

    _of("pt", "pyg")(root)
    more = {
        "events": {
            "src": torch.tensor([0, 1, 2]),
            "dst": torch.tensor([1, 2, 0]),
            "t": torch.tensor([1, 2, 3]),
            "msg": torch.rand(3, 2),
            "y": torch.tensor([0, 1, 0]),
        },
        "sparse": FORMATS.tensors(FORMATS.Spec(x=sp.csr_matrix(FORMATS.Spec().x))),
        "arrays": {
            "x": np.eye(3, dtype=np.float32),
            "edge_index": np.array([[0, 1], [1, 2]]),
            "y": np.array([0, 1, 0]),
            "names": np.array(["a", "b", "c"]),
        },
        "hostile": {"x": torch.eye(2), "y": Runs()},
    }
    for name, value in more.items():
        (root / name).mkdir(parents=True)
        torch.save(value, root / name / "graph.pt")
    (root / "slices").mkdir()
    whole = {"x": torch.eye(3), "edge_index": torch.tensor([[0, 1], [1, 2]])}
    torch.save((whole, {"x": torch.tensor([0, 3])}), root / "slices" / "graph.pt")


def _npz(root: Path) -> None:
    _of("npz", "benchmark")(root)
    (root / "object").mkdir()
    np.savez(
        root / "object" / "graph.npz",
        x=np.eye(3),
        edge_index=[[0, 1], [1, 2]],
        y=np.array([0, 1, 0]),
        notes=np.array([Runs()], object),
        name=np.array(["a", "b", "c"]),
    )
    (root / "packed").mkdir()
    np.savez_compressed(
        root / "packed" / "graph.npz", x=np.eye(3), edge_index=[[0, 1], [1, 2]], y=[0, 1, 0]
    )


def _parquet(root: Path) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    _of("parquet")(root)
    nodes = pa.table(
        {
            "id": pa.array(["a", "b", "c", "d"]).dictionary_encode(),
            "label": pa.array([1, None, 2, 2]),
            "v": pa.array([[1.0, 2.0], [1.0, 2.0], [0.0, 1.0], [1.0, 1.0]]),
            "time": pa.array([1, 2, 3, 4], pa.timestamp("s")),
            "d": pa.array([1, 2, 3, 4], pa.decimal128(5, 1)),
        }
    )
    folder = root / "kinds"
    folder.mkdir()
    pq.write_table(nodes, folder / "nodes.parquet", compression="none")
    pq.write_table(pa.table({"source": ["a"], "target": ["d"]}), folder / "edges.parquet")


def _params(root: Path) -> None:
    from taamctl.params import params_file

    whole = params_file.PACKAGED.read_text(encoding="utf-8")
    small = "train:\n  epochs: 20\n  lr: 5e-4\n  x: [1, {a: b}]\ninfer:\n  hops: {1: 1, 2: 0.5}\n"
    shared = "a: &a {x: 1, y: [1, 2]}\nb: *a\nc: {<<: *a, d: 2020-01-01}\ne: 12:30:00\nf: 0x1F\n"
    for name, text in (("small", small), ("shared", shared), ("whole", whole)):
        (root / name).mkdir(parents=True)
        (root / name / "params.yaml").write_text(text, encoding="utf-8")


OVERRIDES = (
    *("train.epochs=20", "train.lr=5e-4", "infer.hops={1: 1, 2: 0.5}", "infer.hops=[1, 2]"),
    *("train.device=cpu", "split.symmetrize=as_released", "train.device='!!int x'"),
    *("methods.taam.profile=release", "infer.hops={2:1}", "train.epochs=1_0", "run.seeds=[1, 2]"),
)


def _set(root: Path) -> None:
    for k, text in enumerate(OVERRIDES):
        (root / str(k)).mkdir(parents=True)
        (root / str(k) / "override").write_text(text, encoding="utf-8")


def _bank(folder: Path) -> None:
    """Unpack the bank that is kept for the tests of versions."""
    with zipfile.ZipFile(TESTS / "archive" / "bank-2.zip") as archive:
        for name in archive.namelist():
            if name.startswith("bank/") and not name.endswith("/"):
                path = folder / name.removeprefix("bank/")
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(archive.read(name))


def _manifest(root: Path) -> None:
    _bank(root / "bank")
    keep = root / "bank" / "manifest.json"
    text = keep.read_bytes()
    shutil.rmtree(root / "bank")
    keep.parent.mkdir()
    keep.write_bytes(text)


def _tar(root: Path) -> None:
    from taamctl.bank import transfer

    _bank(root / "unpacked")
    (root / "whole").mkdir()
    transfer.export(root / "unpacked", root / "whole" / "bank.tar")
    for k, member in enumerate(_hostile_members()):
        made = io.BytesIO((root / "whole" / "bank.tar").read_bytes())
        with tarfile.open(fileobj=made, mode="a") as archive:
            archive.addfile(member, io.BytesIO(b"x" * member.size))
        (root / f"hostile-{k}").mkdir()
        (root / f"hostile-{k}" / "bank.tar").write_bytes(made.getvalue())
    shutil.rmtree(root / "unpacked")


def _hostile_members() -> Iterator[tarfile.TarInfo]:
    for name in ("../outside", "/tmp/outside", "tasks/../../outside", "manifest.json"):
        member = tarfile.TarInfo(name)
        member.size = 1
        yield member
    for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.CHRTYPE, tarfile.FIFOTYPE):
        member = tarfile.TarInfo("manifests/0009.json")
        member.type, member.linkname = kind, "../../outside"
        yield member


def _h5(root: Path) -> None:
    from taamctl.datasets import _imported
    from taamctl.importing import importers

    for k, spec in enumerate(specs()):
        folder = root / str(k)
        folder.mkdir(parents=True)
        paths = FORMATS.WRITERS["csv"](spec, folder)
        graph = importers.read("own", paths)
        for path in paths:
            path.unlink()
        _imported.write(folder / "own.h5", graph, {"format": "table"})


def _tables(root: Path) -> None:
    _of("csv", "tsv")(root)
    texts = {
        "content": ("a 1 0 red\nb 0 1 blue\nc 1 1 red\n", "a b\nb c\n"),
        "comment": ("# id label v\n1 x 0.5\n2 y 1.5\n3 x 2.5\n", "# s t\n1 2\n2 3\n"),
        "quoted": ('id;label;v\n"a";x;"[1, 2]"\n"b;";y;"[3, 4]"\n', "source;target\na;b;\n"),
    }
    for name, (nodes, edges) in texts.items():
        (root / name).mkdir()
        suffix = ("content", "cites") if name == "content" else ("csv", "csv")
        (root / name / f"nodes.{suffix[0]}").write_text(nodes, encoding="utf-8")
        (root / name / f"edges.{suffix[1]}").write_text(edges, encoding="utf-8")


def _side_table(name: str, texts: tuple[str, ...]) -> Callable[[Path], None]:
    """Return a maker of tables that are named beside a graph."""

    def make(root: Path) -> None:
        for k, text in enumerate(texts):
            (root / str(k)).mkdir(parents=True)
            (root / str(k) / f"{name}.csv").write_text(text, encoding="utf-8")

    return make


def _labels(root: Path) -> None:
    for k, text in enumerate(("label\na\nb\na\nb\n", "1\n0\n1\n0\n", "id,label\n0,a\n1,b\n2,a\n")):
        folder = root / str(k)
        folder.mkdir(parents=True)
        FORMATS.WRITERS["mtx_features"](FORMATS.Spec(y=None), folder)
        (folder / "labels.csv").write_text(text, encoding="utf-8")


MAKERS: dict[str, Callable[[Path], None]] = {
    "npz": _npz,
    "table": _tables,
    "mtx": _of("mtx", "mtx_features"),
    "graphml": _of("graphml"),
    "json": _json,
    "gexf": _networkx("gexf", "write_gexf"),
    "gml": _networkx("gml", "write_gml"),
    "pajek": _networkx("net", "write_pajek"),
    "mat": _mat,
    "pyg": _pyg,
    "dgl": _of("dgl"),
    "ogb": _of("ogb", "ogb_binary"),
    "parquet": _parquet,
    "params": _params,
    "set": _set,
    "manifest": _manifest,
    "tar": _tar,
    "h5": _h5,
    "labels": _labels,
    "tasks": _side_table("tasks", ("class,task\n0,first\n1,second\n", "label;task\n0;1\n1;1\n")),
    "split": _side_table("split", ("id,part\n0,train\n1,val\n2,test\n", "id part\n0 1\n3 2\n")),
}
