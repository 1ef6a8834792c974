"""Arrays of an .npz file that hold several splits, or Python objects."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp

from taamctl.core.errors import TaamctlError
from taamctl.importing import importers
from taamctl.importing.import_graph import import_graph
from taamctl.importing.options import ImportOptions

X, Y, E = np.eye(4, dtype=np.float32), np.array([0, 1, 1, 0]), np.array([[0, 1, 2], [1, 2, 3]])
TRAIN = np.array([[1, 0, 0, 0], [0, 1, 0, 0], [0, 0, 1, 1]], bool).T  # [N, S]
TEST = np.array([[0, 0, 0, 1], [0, 0, 1, 0], [0, 1, 0, 0]], bool).T


def save(folder: Path, **more: Any) -> Path:
    path = folder / "my g.npz"
    np.savez(path, **{"x": X, "y": Y, "edge_index": E, **more})
    return path


def part(path: Path, split: str) -> list[int]:
    graph = importers.read("g", [path], ImportOptions(split_column=split))
    assert graph.given.part is not None
    assert f"my g.npz: of several splits, that of {split}" in graph.notes
    found: list[int] = graph.given.part.tolist()
    return found


@pytest.mark.parametrize("turned", [False, True])
def test_one_of_several_splits_is_chosen(tmp_path: Path, turned: bool) -> None:
    masks = {"train_mask": TRAIN, "test_mask": TEST}
    path = save(tmp_path, **{k: m.T if turned else m for k, m in masks.items()})
    assert part(path, "train_mask:0") == [0, -1, -1, 2]
    assert part(path, "test_mask:2") == [-1, 2, 0, 0]
    with pytest.raises(TaamctlError, match="train_mask, test_mask hold 3 splits") as error:
        import_graph("g", [path], tmp_path / "a b", options={}, directed=True)
    command = error.value.hint.splitlines()[1]
    assert command == (
        f"  taamctl data import '{path}' --name g --into '{tmp_path}/a b' --directed "
        "--split-column train_mask:2"
    )
    with pytest.raises(TaamctlError, match="there is no such split; there are 3"):
        part(path, "train_mask:3")


def test_a_mask_of_one_column_and_one_beside_several(tmp_path: Path) -> None:
    path = save(tmp_path, train_mask=TRAIN[:, :1])
    assert importers.read("g", [path]).given.part.tolist() == [0, -1, -1, -1]  # type: ignore[union-attr]
    path = save(tmp_path, train_mask=TRAIN, test_mask=np.array([0, 0, 0, 1], bool))
    assert part(path, "train_mask:1") == [-1, 0, -1, 2]


@pytest.mark.parametrize(
    ("more", "message"),
    [
        ({"train_mask": TRAIN, "test_mask": TEST[:, :2]}, "train_mask 3, test_mask 2"),
        ({"train_mask": np.zeros((3, 2), bool)}, r"has shape \(3, 2\) for 4 nodes"),
        ({"train_idx": np.array([[0, 1], [1, 2]])}, "lists of rows of the shape"),
    ],
)
def test_splits_that_do_not_fit(tmp_path: Path, more: dict[str, Any], message: str) -> None:
    with pytest.raises(TaamctlError, match=message):
        importers.read("g", [save(tmp_path, **more)])


def test_objects_that_nothing_needs_are_left_out_and_named(tmp_path: Path) -> None:
    objects = {"idx_to_node": np.array({0: "a"}, object), "node_names": np.array([{}] * 4, object)}
    graph = importers.read("g", [save(tmp_path, **objects)])
    why = "(Python objects, which are not unpickled)"
    assert f"my g.npz: not read: idx_to_node {why}, node_names {why}" in graph.notes
    ignored = importers.read(
        "g", [save(tmp_path, **objects)], ImportOptions(ignore=("idx_to_node",))
    )
    assert not any("idx_to_node" in note for note in ignored.notes)
    with pytest.raises(TaamctlError, match="the array 'node_names' holds Python objects") as error:
        importers.read("g", [save(tmp_path, **objects)], ImportOptions(id="node_names"))
    assert "--ignore node_names" in error.value.hint


def test_scipy_matrices_are_refused_with_a_way_on(tmp_path: Path) -> None:
    adj = np.array(None, object)
    adj[()] = sp.csr_matrix(np.eye(4, k=1))
    np.savez(tmp_path / "g.npz", adj_matrix=adj, node_attr=adj, node_label=Y)
    with pytest.raises(TaamctlError, match="'node_attr' holds a pickled SciPy matrix") as error:
        importers.read("g", [tmp_path / "g.npz"])
    assert "np.savez('plain.npz'" in error.value.hint
    sp.save_npz(tmp_path / "adj.npz", sp.csr_matrix(np.eye(4, k=1)))
    with pytest.raises(TaamctlError, match="as scipy.sparse.save_npz writes it") as error:
        importers.read("g", [tmp_path / "adj.npz"])
    assert "python -c" in error.value.hint and "adj.mtx" in error.value.hint
