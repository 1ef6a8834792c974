"""Files of other libraries: what only they can say, and how they break."""

from __future__ import annotations

import gzip
import importlib.util
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import content_hash
from taamctl.importing import importers
from taamctl.importing.options import ImportOptions

spec_of = importlib.util.spec_from_file_location(
    "taamctl_tests_foreign_formats", Path(__file__).with_name("formats.py")
)
assert spec_of is not None and spec_of.loader is not None
formats = importlib.util.module_from_spec(spec_of)
sys.modules[spec_of.name] = formats
spec_of.loader.exec_module(formats)


def needs(library: str) -> pytest.MarkDecorator:
    return pytest.mark.skipif(
        importlib.util.find_spec(library) is None, reason=f"{library} is not installed"
    )


needs_dgl, needs_ogb = needs("dgl"), needs("ogb")
LAYOUTS = [pytest.param("ogb", marks=needs_ogb), pytest.param("ogb_binary", marks=needs_ogb)]
FOREIGN = [pytest.param("dgl", marks=needs_dgl), "pt", "pyg", *LAYOUTS]


def split(folder: Path, **rows: str) -> None:
    """Write the files of a split."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in rows.items():
        (folder / f"{name}.csv.gz").write_bytes(gzip.compress(text.encode(), mtime=0))


@pytest.fixture
def ogb(tmp_path: Path) -> Callable[..., NodeGraph]:
    """Read the small graph from an OGB folder, in either layout."""

    def read(
        kind: str = "ogb", change: Callable[[Path], Any] = lambda raw: None, **options: Any
    ) -> NodeGraph:
        if not (tmp_path / "raw").exists():
            formats.WRITERS[kind](formats.Spec(), tmp_path)
        change(tmp_path / "raw")
        return importers.read("own", [tmp_path], ImportOptions(**options))

    return read


@pytest.mark.parametrize("kind", FOREIGN)
def test_every_library_gives_the_same_graph_as_a_table(
    kind: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    hashes = []
    for name in (kind, "csv"):
        (tmp_path / name).mkdir()
        hashes.append(
            content_hash(
                importers.read("own", formats.WRITERS[name](formats.Spec(), tmp_path / name))
            )
        )
    assert hashes[0] == hashes[1]
    assert capfd.readouterr().out == ""


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", LAYOUTS)
def test_a_split_beside_raw_gives_the_parts(
    kind: str, ogb: Callable[..., NodeGraph], tmp_path: Path
) -> None:
    split(tmp_path / "split" / "time", train="0\n3\n", valid="2\n", test="")
    graph = ogb(kind)
    assert graph.given.part is not None and graph.given.part.tolist() == [0, -1, 1, 0]
    assert "parts from split/time" in graph.notes
    assert content_hash(importers.read("own", [tmp_path / "raw"])) == content_hash(graph)


@needs_ogb
def test_one_of_several_splits_is_named(ogb: Callable[..., NodeGraph], tmp_path: Path) -> None:
    for name, first in (("time", "0"), ("random", "1")):
        split(tmp_path / "split" / name, train=first, valid="2\n", test="3\n")
    with pytest.raises(
        TaamctlError, match="split holds the splits random, time, expected one"
    ) as error:
        ogb()
    assert "--part" in error.value.hint
    graph = ogb(part="random")
    assert graph.given.part is not None and graph.given.part.tolist() == [-1, 0, 1, 2]
    with pytest.raises(
        TaamctlError, match="raw: --part year: there is no such split; there are: random, time"
    ):
        ogb(part="year")


@needs_ogb
def test_a_folder_that_is_not_called_raw_has_no_neighbours(
    ogb: Callable[..., NodeGraph], tmp_path: Path
) -> None:
    ogb()
    split(tmp_path / "split" / "time", train="0", valid="2\n", test="3\n")
    (tmp_path / "raw").rename(tmp_path / "files")
    assert importers.read("own", [tmp_path / "files"], kind="ogb").given.part is None
    with pytest.raises(
        TaamctlError, match="files: --part time: there is no such split; there are: none"
    ):
        importers.read("own", [tmp_path / "files"], ImportOptions(part="time"), kind="ogb")


@needs_ogb
@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            {"train": "0\n4\n", "valid": "", "test": ""},
            r"train\.csv\.gz: row 1 names the node 4, but 4 nodes are numbered 0 to 3",
        ),
        ({"train": "-1\n", "valid": "", "test": ""}, r"train\.csv\.gz: row 0 names the node -1"),
        ({"train": "0\n", "valid": "0\n", "test": ""}, "time: node 0 is in train and in val"),
        (
            {"train": "0\n", "valid": "one\n", "test": ""},
            r"valid\.csv\.gz cannot be read: invalid literal",
        ),
        ({"train": "0\n", "valid": "1\n"}, r"time: test\.csv\.gz is missing"),
    ],
)
def test_splits_that_do_not_fit(
    ogb: Callable[..., NodeGraph], tmp_path: Path, rows: dict[str, str], message: str
) -> None:
    split(tmp_path / "split" / "time", **rows)
    with pytest.raises(TaamctlError, match=message):
        ogb()


@needs_ogb
def test_a_truncated_split_is_named(ogb: Callable[..., NodeGraph], tmp_path: Path) -> None:
    split(tmp_path / "split" / "time", train="0\n", valid="1\n", test="2\n")
    path = tmp_path / "split" / "time" / "valid.csv.gz"
    path.write_bytes(path.read_bytes()[:-6])
    with pytest.raises(TaamctlError, match=r"valid\.csv\.gz cannot be read"):
        ogb()


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param("ogb", "edge.csv.gz", marks=needs_ogb),
        pytest.param("ogb_binary", "data.npz", marks=needs_ogb),
        pytest.param("ogb_binary", "node-label.npz", marks=needs_ogb),
    ],
)
@pytest.mark.parametrize(
    "spoil",
    [
        lambda b: b[:-9],
        lambda b: b[: len(b) // 3] + b"\xff" * 8 + b[len(b) // 3 + 8 :],
        lambda b: b"",
    ],
    ids=["cut", "overwritten", "empty"],
)
def test_the_broken_file_of_a_folder_is_named(
    kind: str, name: str, spoil: Callable[[bytes], bytes], ogb: Callable[..., NodeGraph]
) -> None:
    with pytest.raises(TaamctlError, match=rf"raw: {name} is truncated or damaged"):
        ogb(kind, lambda raw: (raw / name).write_bytes(spoil((raw / name).read_bytes())))


# --------------------------------------------------------------------------------------------------


@needs_dgl
def test_dgl_features_of_half_the_width(tmp_path: Path) -> None:
    import torch

    library = __import__("dgl")
    graph = library.graph(([0, 1], [1, 2]))
    graph.ndata["feat"], graph.ndata["label"] = (
        torch.tensor([[1.0], [0.5], [-2]]).bfloat16(),
        torch.arange(3),
    )
    library.save_graphs(str(tmp_path / "g.bin"), [graph])
    assert np.asarray(importers.read("own", [tmp_path / "g.bin"]).features).tolist() == [
        [1],
        [0.5],
        [-2],
    ]


# --------------------------------------------------------------------------------------------------


def test_arrays_and_parameters_in_a_dict(tmp_path: Path) -> None:
    import torch

    path, tensors = tmp_path / "g.pt", formats.tensors(formats.Spec())
    hashes = set()
    for made in (
        tensors,
        {k: v.numpy() for k, v in tensors.items()},
        {**tensors, "x": torch.nn.Parameter(tensors["x"])},
    ):
        torch.save(made, path)
        hashes.add(content_hash(importers.read("own", [path])))
    assert len(hashes) == 1


@pytest.mark.parametrize(
    "wrap", [lambda d: d, lambda d: (d, {"paper": {}}, None)], ids=["dict", "data set"]
)
def test_several_types_of_nodes_in_a_dict_are_refused(
    tmp_path: Path, wrap: Callable[[Any], Any]
) -> None:
    import torch

    tensors = formats.tensors(formats.Spec())
    made = {
        "_global_store": {},
        "paper": {"x": tensors["x"]},
        ("paper", "cites", "paper"): {"edge_index": tensors["edge_index"]},
    }
    torch.save(wrap(made), tmp_path / "g.pt")
    with pytest.raises(TaamctlError, match=r"g\.pt holds several types of nodes"):
        importers.read("own", [tmp_path / "g.pt"])


def test_events_that_are_none_unknown_or_of_other_nodes(tmp_path: Path) -> None:
    import torch

    path = tmp_path / "g.pt"
    events = {
        "src": torch.tensor([0, 1]),
        "dst": torch.tensor([1, 2]),
        "t": torch.tensor([float("nan"), 4.0]),
        "x": torch.eye(3),
    }
    formats.save_object(path, "TemporalData", events)
    time = importers.read("own", [path]).given.time
    assert time is not None and np.isnan(time[0]) and time[1:].tolist() == [4, 4]
    for change, message in (
        (
            {"src": torch.tensor([0, 10**12])},
            r"edge 1 is \(1000000000000, 2\), but 3 nodes have features",
        ),
        ({k: events[k][:0] for k in ("src", "dst", "t")}, "holds no event"),
    ):
        formats.save_object(path, "TemporalData", {**events, **change})
        with pytest.raises(TaamctlError, match=message):
            importers.read("own", [path])
