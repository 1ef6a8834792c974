"""What training reads depends on training nodes alone, and bytes depend on parameters, seed and
data alone.
"""

from __future__ import annotations

import dataclasses
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from taamctl.stages import precompute, split, train

from taamctl.core.types import NodeGraph
from taamctl.datasets import synthetic
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file
from taamctl.params import sections as parameters
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.store.artefacts import Artefact
from taamctl.store.split_kind import SPLIT

LOAD = synthetic.load


def _context(folder: Path) -> Context:
    tree = params_file.read(params_file.PACKAGED, ["run.datasets=[synthetic]", "train.epochs=3"])
    return Context(params=parameters.Params("packaged", tree), layout=Layout(folder))


def _stages(folder: Path) -> None:
    context = _context(folder)
    split.run(context, "synthetic")
    precompute.run(context, "synthetic")
    for method in ("taam", "finetune", "joint", "linear_probe"):
        train.run(context, "synthetic", method, 1)


def _victims(folder: Path, part: int) -> np.ndarray:
    with Artefact(Layout(folder).file("split", "synthetic"), SPLIT) as made:
        offset, orig = made.read("stream/offset"), made.read("nodes/orig_id")
    return np.concatenate(
        [orig[offset[g] : offset[g + 1]] for g in range(part, len(offset) - 1, 3)]
    )


def _disturbed(graph: NodeGraph, victims: np.ndarray, what: str) -> NodeGraph:
    if what == "features":
        x = np.array(graph.features)
        x[victims] = 1e30
        return dataclasses.replace(graph, features=x)
    rng = np.random.default_rng(0)
    target = np.repeat(np.arange(graph.num_nodes), np.diff(graph.adjacency.indptr))
    source = np.array(graph.adjacency.indices, np.int64)
    touched = np.isin(source, victims) | np.isin(target, victims)
    source[touched], target[touched] = (
        rng.choice(victims, int(touched.sum())),
        rng.choice(victims, int(touched.sum())),
    )
    adjacency, _ = adjacency_from_edges(source, target, graph.num_nodes, "g")
    return dataclasses.replace(graph, adjacency=adjacency)


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("plain")
    _stages(folder)
    return folder


@pytest.mark.parametrize("part", [1, 2], ids=["val", "test"])
@pytest.mark.parametrize("what", ["features", "edges"])
def test_no_byte_of_the_training_side_moves(
    undisturbed: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, part: int
) -> None:
    victims = _victims(undisturbed, part)
    monkeypatch.delattr(
        synthetic, "features"
    )  # else precompute takes the features of the graph as it is
    monkeypatch.setattr(
        synthetic, "load", lambda root, params: _disturbed(LOAD(root, params), victims, what)
    )
    _stages(tmp_path)
    a, b = (Layout(f).file("precompute", "synthetic") for f in (undisturbed, tmp_path))
    with Artefact(a) as plain, Artefact(b) as other:
        assert plain.paths() == other.paths()
        moved = {
            p for p in plain.paths() if plain.describe(p)["crc32"] != other.describe(p)["crc32"]
        }
    name = ("train", "val", "test")[part]
    assert moved, "the disturbance must reach something"
    assert {p.split("/")[2] for p in moved} == {name}
    for method in ("taam", "finetune", "joint", "linear_probe"):
        files = [
            Layout(f).file("train", "synthetic", method, 1).read_bytes()
            for f in (undisturbed, tmp_path)
        ]
        assert files[0] == files[1], method


def _run(folder: Path, threads: int, *arguments: str) -> None:
    """Run a command in a new Python with so many threads, and its own order of sets."""
    environment = {
        **os.environ,
        "PYTHONHASHSEED": str(threads),
        "OMP_NUM_THREADS": str(threads),
        "MKL_NUM_THREADS": str(threads),
        "OPENBLAS_NUM_THREADS": str(threads),
    }
    subprocess.run(
        [sys.executable, "-m", "taamctl", *arguments, "--outputs", str(folder), "--quiet"],
        check=True,
        env=environment,
        cwd=folder,
        stdin=subprocess.DEVNULL,
    )


@pytest.fixture(scope="module")
def debian(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return outputs that hold the split of Debian."""
    folder = tmp_path_factory.mktemp("debian")
    _run(folder, 1, "split", "--dataset", "debian")
    return folder


@pytest.mark.parametrize("backend", ["torch", "dgl", "scipy"])
def test_features_have_the_same_bytes_for_one_and_two_threads(
    debian: Path, tmp_path: Path, backend: str
) -> None:
    if backend == "dgl":
        pytest.importorskip("dgl", reason="the dgl backend needs dgl")
    made = []
    for threads in (1, 2):
        folder = tmp_path / str(threads)
        shutil.copytree(debian, folder)
        settings = ("--dataset", "debian", "--set", f"precompute.backend={backend}")
        _run(folder, threads, "precompute", *settings)
        made.append((folder / "precompute" / "debian" / "features.h5").read_bytes())
    assert made[0] == made[1]


def test_training_bytes_do_not_depend_on_the_environments_threads(tmp_path: Path) -> None:
    made = []
    for threads in (1, 2):
        folder = tmp_path / str(threads)
        folder.mkdir()
        _run(
            folder,
            threads,
            "run",
            "--dataset",
            "synthetic",
            "--method",
            "taam",
            "--method",
            "linear_probe",
            "--set",
            "train.epochs=5",
            "--set",
            "report.pictures=false",
        )
        made.append([p.read_bytes() for p in sorted(folder.rglob("*.h5"))])
    assert made[0] == made[1]
