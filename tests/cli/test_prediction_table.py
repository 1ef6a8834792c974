"""`taamctl infer --csv`: the predictions of a run as a table."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from types import ModuleType

import h5py
import numpy as np
import pytest

SHOP = ("--dataset", "shop", "--set", "train.epochs=2", "--set", "train.threads=1")
RUNS = ("--seed", "1", "--method", "taam", "--method", "finetune")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    """Return a folder with a graph of named nodes and two runs on it."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    classes = [f"kind {i % 4}" for i in range(80)]
    rows = [[f"n{i}", c, *rng.normal(size=3).round(2)] for i, c in enumerate(classes)]
    edges = [[f"n{i}", f"n{(i + 4) % 80}"] for i in range(80)]
    for name, lines in (
        ("nodes", [["id", "label", "a", "b", "c"], *rows]),
        ("edges", [["source", "target"], *edges]),
    ):
        with (folder / f"{name}.csv").open("w", newline="") as stream:
            csv.writer(stream).writerows(lines)
    for words in (
        ("data", "import", "nodes.csv", "edges.csv", "--name", "shop"),
        *((v, *SHOP) for v in ("split", "precompute")),
        *((v, *SHOP, *RUNS) for v in ("train", "infer")),
    ):
        done = support.taamctl(folder, *words)
        assert done.code == 0, done.err
    return folder


def infer(support: ModuleType, folder: Path) -> tuple[int, str]:
    done = support.taamctl(folder, "infer", *SHOP, *RUNS, "--csv", "p.csv")
    return done.code, done.err


def test_it_holds_what_the_artefact_holds(made: Path, support: ModuleType) -> None:
    code, said = infer(support, made)
    assert code == 0, said
    with (made / "p.csv").open(newline="") as stream:
        table = list(csv.DictReader(stream))
    with (made / "nodes.csv").open(newline="") as stream:
        classes = {row["id"]: row["label"] for row in csv.DictReader(stream)}
    assert all(row["class"] == classes[row["node"]] for row in table)
    assert f"{len(table)} predictions" in said
    for method in ("taam", "finetune"):
        own = [row for row in table if row["method"] == method]
        assert len({row["node"] for row in own}) == len(own)
        with h5py.File(made / f"outputs/infer/shop/{method}/seed-1/infer.h5") as file:
            scope = json.loads(file.attrs["facts"])["scope"]
            names = file["classes/name"].asstr()[:]
            for part in ("val", "test"):
                rows = [row for row in own if row["part"] == part]
                assert {row["among"] for row in rows} == {scope}
                for column, array in (
                    ("class", file[f"{part}/y"][:]),
                    ("predicted", file[f"{part}/{scope}"][-1]),
                    ("predicted among all_seen", file[f"{part}/all_seen"][-1]),
                ):
                    assert [row[column] for row in rows] == names[array].tolist()
                tasks = file[f"{part}/task"][:]
                assert [int(row["task"]) for row in rows] == (tasks + 1).tolist()
                routed = [row["predicted task"] for row in rows]
                decided = file[f"{part}/decision"][-1][tasks] + 1
                expected = {"taam": [str(t) for t in decided]}
                assert routed == expected.get(method, [""] * len(rows))


def test_another_graph_of_that_name_gives_no_names(made: Path, support: ModuleType) -> None:
    lines = (made / "edges.csv").read_text().splitlines()
    (made / "fewer.csv").write_text("\n".join(lines[:-1]) + "\n")
    again = ("data", "import", "nodes.csv", "fewer.csv", "--name", "shop", "--force")
    assert support.taamctl(made, *again).code == 0
    code, said = infer(support, made)
    assert code == 2
    assert "not the graph any more that shop was split from" in said
    assert "taamctl run --dataset shop" in said
