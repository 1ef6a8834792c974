"""All faults of one kind at once, by the lines that an editor counts, and one command that mends
them.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.importing import importers
from taamctl.importing.node_labels import read_labels
from taamctl.importing.options import ImportOptions, listed
from taamctl.importing.ways import Unclear, applied

ENDINGS = ["\n", "\r\n"]
BREAK = '"one\nname of\nthree lines"'


def read(folder: Path, nodes: str, edges: str, **options: object) -> NodeGraph:
    paths = [folder / "my nodes.csv", folder / "my edges.csv"]
    for path, text in zip(paths, (nodes, edges), strict=True):
        path.write_bytes(text.encode())
    return importers.read("g", paths, ImportOptions(**options))  # type: ignore[arg-type]


def refused(folder: Path, nodes: str, edges: str, **options: object) -> TaamctlError:
    with pytest.raises(TaamctlError, match=r"^.+$") as caught:
        read(folder, nodes, edges, **options)
    return caught.value


def lines_in(error: TaamctlError) -> list[int]:
    """Return the lines that a message names."""
    found = re.search(r"lines? ([0-9, ]+) of the file", error.message)
    assert found is not None, error.message
    return [int(number) for number in found[1].split(", ")]


def editor_lines(text: str, wanted: Sequence[str]) -> list[int]:
    """Return the lines on which some words begin."""
    return [text[: text.index(word)].count("\n") + 1 for word in wanted]


def tables(seed: int, ending: str) -> tuple[list[str], list[str], np.random.Generator]:
    """Return rows of nodes and of edges; cells with line breaks, blank lines and comments among
    them.
    """
    rng = np.random.default_rng(seed)
    nodes = [f"n{i},{'ab'[i % 2]},{i}.5,{BREAK if i % 5 == 0 else 'x'}" for i in range(30)]
    edges = [f"n{i},n{(i + 7) % 30},{BREAK if i % 4 == 0 else 'y'}" for i in range(30)]
    for rows in (nodes, edges):
        for at in sorted(rng.integers(0, 30, 3).tolist(), reverse=True):
            rows.insert(at, "")
    heads = ("# made by hand", "", "id,label,w,text"), ("# made by hand", "source,target,text")
    return [*heads[0], *nodes], [*heads[1], *edges], rng


@pytest.mark.parametrize("ending", ENDINGS, ids=["LF", "CRLF"])
@pytest.mark.parametrize("count", [1, 4, 14])
@pytest.mark.parametrize("seed", range(2))
def test_unknown_ends_and_empty_ones_are_found_by_line(
    tmp_path: Path, ending: str, count: int, seed: int
) -> None:
    nodes, edges, rng = tables(seed, ending)
    at = [i for i, row in enumerate(edges) if row.startswith("n")]
    wrong = sorted(rng.choice(at, count, replace=False).tolist())
    for kind, end in (("unknown", "zz{}"), ("empty", "")):
        marked = list(edges)
        for i in wrong:
            marked[i] = f"{end.format(i)},n1,mark{i}|"
        text = ending.join(marked)
        error = refused(tmp_path, ending.join(nodes), text, ignore=("text",))
        expected = editor_lines(text, [f"mark{i}|" for i in wrong[:10]])
        assert lines_in(error) == expected, kind
        assert ("and 4 more rows" in error.message) == (count == 14)
        assert "--bad-edges drop" in error.hint
        made = read(tmp_path, ending.join(nodes), text, ignore=("text",), bad_edges="drop")
        assert made.adjacency.nnz == 30 - count
        assert any(f"{count:,}" in note and "left out" in note for note in made.notes)


@pytest.mark.parametrize("ending", ENDINGS, ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ("{id},2.5,1,mark{i}|", "label 2.5 at row"),
        ("{id},-7,1,mark{i}|", "label -7 at row"),
        (",1,1,mark{i}|", "has no id"),
        ("{id},1,much,mark{i}|", "which is no number"),
    ],
)
def test_bad_nodes_are_found_by_line(tmp_path: Path, ending: str, bad: str, message: str) -> None:
    nodes, edges, rng = tables(3, ending)
    nodes = [re.sub(r"^(n\d+),[ab]", r"\1,3", row) for row in nodes]
    at = [i for i, row in enumerate(nodes) if row.startswith("n")]
    wrong = sorted(rng.choice(at, 12, replace=False).tolist())
    for i in wrong:
        nodes[i] = bad.format(i=i, id=nodes[i].partition(",")[0])
    text = ending.join(nodes)
    error = refused(tmp_path, text, ending.join(edges), ignore=("text",))
    assert message in error.message
    assert lines_in(error) == editor_lines(text, [f"mark{i}|" for i in wrong[:10]])
    assert "and 2 more rows" in error.message


def test_every_text_column_is_named_and_one_command_leaves_out_all(tmp_path: Path) -> None:
    columns = ["town", "a, b", "it's", 'so "said"', "w*", "plain"]
    head = ",".join(['"' + name.replace('"', '""') + '"' for name in columns])
    rows = [f"n{i},{'ab'[i % 2]},here,there,x{i},y{i},z{i},{i}.5" for i in range(12)]
    nodes = "\n".join([f"id,label,{head}", *rows])
    edges = "source,target\n" + "".join(f"n{i},n{(i + 1) % 12}\n" for i in range(12))
    error = refused(tmp_path, nodes, edges)
    assert "'town'" in error.message
    for name in columns[1:-1]:
        assert repr(name) in error.message
    words = shlex.split(error.hint.partition("leave them out: ")[2].partition("; or")[0])
    ignored = listed([word for word in words if word != "--ignore"])
    assert ignored == tuple(columns[:-1])
    made = read(tmp_path, nodes, edges, ignore=ignored)
    assert made.feature_names == ("plain",)


def test_long_cells_are_cut_in_every_message(tmp_path: Path) -> None:
    long = "blah " * 400
    good = "source,target\nn0,n1\nn1,n2\n"
    head = "id,label,w\n"
    fine = "".join(f"n{i},{'ab'[i % 2]},{i}.5\n" for i in range(4))
    faults = [
        (head + fine + f"n9,a,{long}\n", good),
        (head + fine + f"{long},a,1\n{long},b,2\n", good),
        (head + fine, good + f"n1,{long}\n"),
        (f"id,label,w,split\nn0,a,1,{long}\nn1,b,2,train\nn2,a,1,test\n", good),
        (f"id,label,w,time\nn0,a,1,{long}\nn1,b,2,3\nn2,a,1,4\n", good),
        (f"id,label,w,train_mask\nn0,a,1,{long}\nn1,b,2,1\nn2,a,1,0\n", good),
    ]
    for nodes, edges in faults:
        error = refused(tmp_path, nodes, edges)
        assert "blah blah" in error.message
        assert "blah " * 13 not in error.message + error.hint, error.message


@pytest.mark.parametrize("chosen", [0, 2, 10])
def test_one_of_several_splits_in_columns(tmp_path: Path, chosen: int) -> None:
    rng = np.random.default_rng(chosen)
    n, numbers = 20, (0, 2, 10)
    parts = {k: rng.integers(0, 3, n) for k in numbers}
    names = [f"{part}_mask_{k}" for k in numbers for part in ("train", "val", "test")]
    rows = [
        ",".join([f"n{i}", "ab"[i % 2], f"{i}.5",
                  *(str(int(parts[k][i] == p)) for k in numbers for p in range(3))])
        for i in range(n)
    ]  # fmt: skip
    nodes = "\n".join([",".join(["id", "label", "w", *names]), *rows])
    edges = "source,target\n" + "".join(f"n{i},n{(i + 1) % n}\n" for i in range(n))
    with pytest.raises(Unclear, match="3 splits stand side by side") as question:
        read(tmp_path, nodes, edges)
    assert len(question.value.ways) == 3
    (way,) = [w for w in question.value.ways if w.endswith(f":{chosen}")]
    made = read(tmp_path, nodes, edges, **applied({}, way))
    assert made.feature_names == ("w",)
    assert made.given.part is not None
    assert made.given.part.tolist() == parts[chosen].tolist()
    error = refused(tmp_path, nodes, edges, split_column="train_mask:3")
    assert "there is no such split" in error.message


def test_one_split_beside_numbered_ones_is_taken_and_no_mask_is_a_feature(tmp_path: Path) -> None:
    nodes = "id,label,w,train_mask,train_mask_0,test_mask_0\nn0,a,1,1,0,1\nn1,b,2,0,1,0\n"
    made = read(tmp_path, nodes, "source,target\nn0,n1\n")
    assert made.feature_names == ("w",)
    assert made.given.part is not None
    assert made.given.part.tolist() == [0, -1]
    error = refused(tmp_path, nodes.replace("_mask", "_x"), "source,target\nn0,n1\n",
                    split_column="train_mask:0")  # fmt: skip
    assert "there are no splits side by side" in error.message


@pytest.mark.parametrize("kind", [np.uint8, np.uint16, np.uint64])
def test_the_largest_unsigned_number_is_no_label_and_said(kind: type) -> None:
    largest = np.iinfo(kind).max
    values = np.array([0, 1, largest, 2, largest], kind)
    labels, names, notes = read_labels(values, 5, "g")
    assert (labels.tolist(), names) == ([0, 1, -1, 2, -1], ("0", "1", "2"))
    assert any(f"2 '{largest}'" in note for note in notes)
    signed, names, _ = read_labels(values.astype(object), 5, "g")
    assert str(largest) in names
    assert signed.tolist() == [0, 1, 3, 2, 3]


def test_255_is_a_class_where_all_smaller_numbers_are() -> None:
    values = np.arange(256).astype(np.uint8)
    labels, names, _ = read_labels(values, 256, "g")
    assert len(names) == 256
    assert labels.tolist() == list(range(256))


def test_wrong_rows_of_one_hot_labels_are_named() -> None:
    y = np.eye(3)[np.arange(30) % 3]
    y[4] = [1, 0, 1]
    y[9, 1] = 0.5
    y[20] = 0
    with pytest.raises(TaamctlError, match=r"are not one-hot \(row 4\)") as error:
        read_labels(y, 30, "g")
    assert "row 4 has a one in the columns 0, 2; row 9 holds 0.5 in column 1" in error.value.message
    assert "row 20" not in error.value.message


@pytest.mark.parametrize("ending", ENDINGS, ids=["LF", "CRLF"])
@pytest.mark.parametrize(
    ("option", "head", "good", "bad", "message"),
    [
        ("split", "id,part,note", "n{i},train,{b}", "n{i},holiday,mark{i}|", "is none of"),
        ("split", "id,part,note", "n{i},train,{b}", "zz{i},train,mark{i}|", "the graph lacks"),
        ("tasks", "class,task,note", "c{i},1,{b}", "c{i},,mark{i}|", "no task in 'task'"),
    ],
)  # fmt: skip
def test_tables_beside_are_told_by_line_too(
    tmp_path: Path, ending: str, option: str, head: str, good: str, bad: str, message: str
) -> None:
    rows = [good.format(i=i, b=BREAK if i % 3 == 0 else "x") for i in range(20)]
    wrong = [2, 3, 9, *range(11, 20)]
    for i in wrong:
        rows[i] = bad.format(i=i)
    text = ending.join([head, "", *rows])
    (tmp_path / "beside.csv").write_bytes(text.encode())
    nodes = "id,label,w\n" + "".join(f"n{i},c{i},{i}.5\n" for i in range(20))
    (tmp_path / "nodes.csv").write_text(nodes)
    (tmp_path / "edges.csv").write_text("source,target\nn0,n1\n")
    paths = [tmp_path / "nodes.csv", tmp_path / "edges.csv"]
    options = ImportOptions(label="label")
    with pytest.raises(TaamctlError, match=message) as error:
        importers.read("g", paths, options, **{option: tmp_path / "beside.csv"})  # type: ignore[arg-type]
    assert lines_in(error.value) == editor_lines(text, [f"mark{i}|" for i in wrong[:10]])
    assert "and 2 more rows" in error.value.message


@pytest.mark.parametrize("ids", [True, False])
def test_deleted_rows_are_named_and_can_be_dropped(tmp_path: Path, ids: bool) -> None:
    rng = np.random.default_rng(int(ids))
    rows = [f"{f'n{i},' * ids}{'ab'[i % 2]},{i}.5,{rng.integers(9)}" for i in range(15)]
    edges = "source,target\n" + "".join(
        f"n{i},n{(i + 1) % 15}\n" if ids else f"{i},{(i + 1) % 15}\n" for i in range(15)
    )
    head = "id," * ids + "label,w,v"
    whole = read(tmp_path, "\n".join([head, *rows]), edges)
    for at in (12, 6, 6, 0):
        rows.insert(at, "," * (2 + ids))
    text = "\n".join([head, *rows])
    error = refused(tmp_path, text, edges)
    assert "4 rows have empty cells only" in error.message
    assert lines_in(error) == [2, 9, 10, 17]
    assert "--bad-rows drop" in error.hint
    made = read(tmp_path, text, edges, bad_rows="drop")
    assert any("4 empty rows left out" in note for note in made.notes)
    assert np.array_equal(made.features, whole.features)
    assert np.array_equal(made.labels, whole.labels)
    assert made.adjacency.indices.tolist() == whole.adjacency.indices.tolist()


def test_edges_are_parted_as_the_decimals_say(tmp_path: Path) -> None:
    nodes = "id;label;w\nn0;a;0,5\nn1;b;1,5\nn2;a;2,5\n"
    edges = "n0;n1;0,5\nn1;n2;1,5\nn2;n0;2,5\n"
    graph = read(tmp_path, nodes, edges, decimal=",", edge_header="no")
    assert graph.adjacency.nnz == 3
