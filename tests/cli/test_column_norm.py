"""One column of counts beside words: named at import, and mended by dividing each feature by its
own size.
"""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import ModuleType

import h5py
import numpy as np
import pytest

CLASSES, EACH, WORDS = 4, 40, 60
COLUMN = ("--set", "precompute.feature_norm=column")
SMALL = ("--set", "methods.analytic.width=64", "--set", "report.pictures=false", "--quiet")


def write(folder: Path) -> None:
    """Write nodes.csv and edges.csv: TF-IDF of drawn words, and a column of view counts."""
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(CLASSES), EACH)
    topic = np.exp(1.5 * rng.standard_normal((CLASSES, WORDS)))
    counts = np.stack([rng.multinomial(25, topic[c] / topic[c].sum()) for c in y])
    x = np.log1p(counts) * np.log(len(y) / np.maximum((counts > 0).sum(0), 1))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    views = np.round(np.exp(rng.normal(8, 1.5, len(y))))
    names = [*(f"w{i}" for i in range(WORDS)), "views"]
    lines = [",".join(["id", "label", *names])]
    for node, row in enumerate(x):
        values = [*(f"{value:.5f}" for value in row), f"{views[node]:.0f}"]
        lines.append(",".join([f"n{node}", f"c{y[node]}", *values]))
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n", encoding="utf-8")
    inside = [(u, rng.choice(np.flatnonzero(y == y[u]))) for u in range(len(y)) for _ in range(3)]
    text = "".join(f"n{u},n{v}\n" for u, v in inside)
    (folder / "edges.csv").write_text(f"source,target\n{text}", encoding="utf-8")


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> tuple[Path, str]:
    """Return a folder with the graph, and what the import said."""
    folder = tmp_path_factory.mktemp("words")
    write(folder)
    done = support.taamctl(folder, "data", "import", "nodes.csv", "edges.csv", "--name", "words")
    assert done.code == 0, done.err
    return folder, done.err


def test_the_import_names_the_column_and_what_mends_it(words: tuple[Path, str]) -> None:
    (line,) = [line for line in words[1].splitlines() if "'views'" in line and "size" in line]
    assert line.startswith("warning: the feature 'views' has values of about ")
    assert "precompute.feature_norm: column" in line


def accuracy(folder: Path, support: ModuleType, *more: str) -> float:
    grid = ("--dataset", "words", "--method", "analytic", "--seed", "1")
    done = support.taamctl(folder, "run", *grid, *SMALL, "--json", *more)
    assert done.code == 0, done.err
    return float(json.loads(done.out)[0]["aa"])


def test_columns_mend_what_one_column_of_counts_does(
    words: tuple[Path, str], support: ModuleType
) -> None:
    folder, _ = words
    alone = accuracy(folder, support)
    mended = accuracy(folder, support, *COLUMN)
    assert mended > max(0.9, alone + 0.05), (alone, mended)
    with h5py.File(folder / "outputs/precompute/words/features.h5") as file:
        sizes = file["features/size"][:]
    assert sizes[-1] > 1000 * np.median(sizes)


def test_a_bank_keeps_the_sizes_for_all_later_graphs(
    words: tuple[Path, str], support: ModuleType
) -> None:
    folder, _ = words
    graph = ("--graph", "data/words.h5")
    for arguments in (
        ("create", "bank", "--method", "linear_probe", "--seed", "1", *COLUMN),
        ("add-task", "bank", *graph, "--classes", "c0,c1", "--quiet"),
        ("add-task", "bank", *graph, "--classes", "c2,c3", "--quiet"),
        ("verify", "bank"),
    ):
        done = support.taamctl(folder, "bank", *arguments)
        assert done.code == 0, done.err
    shared = sorted((folder / "bank").glob("shared-*.h5"))
    assert len(shared) == 1
    with h5py.File(shared[0]) as file:
        assert file["features/size"].shape == (WORDS + 1,)
    said = support.taamctl(folder, "predict", "--bank", "bank", *graph, "--quiet")
    labels = [row["class"] for row in csv.DictReader(io.StringIO(said.out))]
    right = np.array(labels) == [f"c{c}" for c in np.repeat(np.arange(CLASSES), EACH)]
    assert right.mean() > 0.9
