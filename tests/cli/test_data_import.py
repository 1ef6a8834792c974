"""`taamctl data import`: from files to `data/NAME.h5`, and what it says on the way."""

from __future__ import annotations

import json
import os
import shlex
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.datasets import _imported

NODES = "id,label,a,b,when\nx,one,1,2,3\ny,two,3,4,2\nz,one,5,6,1\n"
EDGES = "source,target\nx,y\ny,z\ny,z\n"


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    Path("nodes.csv").write_text(NODES)
    Path("edges.csv").write_text(EDGES)
    return tmp_path


def run(*arguments: str) -> Any:
    return CliRunner().invoke(app, ["data", "import", *arguments])


def refused(*arguments: str) -> TaamctlError:
    done = run(*arguments)
    assert done.exit_code != 0
    assert isinstance(done.exception, TaamctlError), done.output
    return done.exception


def test_the_file_on_stdout_and_every_change_on_stderr(here: Path) -> None:
    done = run(
        "nodes.csv",
        "edges.csv",
        "--name",
        "shop",
        "--time",
        "when",
        "--licence",
        "CC0",
        "--directed",
    )
    assert done.exit_code == 0, done.output
    assert done.stdout == f"data{os.sep}shop.h5\n"
    assert done.stderr.splitlines() == [
        "nodes.csv: id from 'id'; label from 'label'; time from 'when'; 2 columns of features",
        "nodes.csv: features: a, b",
        "edges.csv: source from 'source'; target from 'target'",
        "features cast from int64 to float32",
        "1 duplicate edges dropped",
        "2 of 2 edges have no reverse: split.symmetrize decides whether they count both ways",
        "both ends of 3 edges are ids of nodes",
        "0.0 % of the edges lie inside a class; by chance 50.0 %",
        "3 nodes, 2 edges, 2 features, 2 classes",
        "next: taamctl data doctor shop",
    ]
    graph = _imported.read(Path("data/shop.h5"))
    assert (
        graph.class_names == ("one", "two")
        and graph.given.time is not None
        and graph.given.time.tolist() == [3, 2, 1]
    )
    assert graph.given.node_id is not None and graph.given.node_id.tolist() == ["x", "y", "z"]
    module = registry.load("taamctl.datasets", "shop")
    assert (module.META.directed, module.META.licence, module.SOURCE["format"]) == (
        True,
        "CC0",
        "table",
    )
    assert [f["name"] for f in module.SOURCE["files"]] == ["nodes.csv", "edges.csv"]
    assert module.SOURCE["options"] == {"time": "when"}


def test_the_bytes_do_not_depend_on_the_folder(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("nodes.csv", "edges.csv", "--name", "shop").exit_code == 0
    (here / "deeper").mkdir()
    monkeypatch.chdir(here / "deeper")
    assert run("../nodes.csv", str(here / "edges.csv"), "--name", "shop").exit_code == 0
    assert Path("data/shop.h5").read_bytes() == Path("../data/shop.h5").read_bytes()


def test_a_file_that_is_there_is_kept_unless_forced(here: Path) -> None:
    assert run("nodes.csv", "edges.csv", "--name", "shop").exit_code == 0
    before = Path("data/shop.h5").read_bytes()
    error = refused("nodes.csv", "edges.csv", "--name", "shop", "--ignore", "when,b")
    assert error.message == f"data{os.sep}shop.h5 is there already" and "--force" in error.hint
    assert Path("data/shop.h5").read_bytes() == before
    assert (
        run("nodes.csv", "edges.csv", "--name", "shop", "--ignore", "when,b", "--force").exit_code
        == 0
    )
    assert _imported.read(Path("data/shop.h5")).num_features == 1


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "photo"], "there is a dataset 'photo' already, from taamctl"),
        (["--name", "My-Shop"], "'My-Shop' is no name for a dataset"),
        (["--name", "shop", "--format", "excel"], "--format excel: there is no such format"),
        (["--name", "shop", "--nan", "drop"], "--nan drop: neither refuse nor zero"),
        (["--name", "shop", "--into", "nodes.csv"], "--into nodes.csv is a file"),
        (
            ["--name", "shop", "--label", "lable"],
            "nodes.csv: --label lable: there is no such column",
        ),
        (["--name", "shop", "--tasks", "none.csv"], "none.csv is not there"),
        (["--name", "shop", "--split", "none.csv"], "none.csv is not there"),
    ],
)
def test_what_is_refused_leaves_nothing_behind(
    here: Path, arguments: list[str], message: str
) -> None:
    assert message in refused("nodes.csv", "edges.csv", *arguments).message
    assert sorted(p.name for p in here.iterdir()) == ["edges.csv", "nodes.csv"]


def test_tasks_and_parts_reach_the_stream(here: Path) -> None:
    rng = np.random.default_rng(0)
    rows = [(f"n{i}", "abcd"[i % 4], *rng.normal(size=3)) for i in range(80)]
    Path("nodes.csv").write_text(
        "id,label,p,q,r\n" + "".join(f"{i},{c},{p},{q},{r}\n" for i, c, p, q, r in rows)
    )
    Path("edges.csv").write_text(
        "source,target\n" + "".join(f"n{i},n{(i * 7 + 4) % 80}\n" for i in range(80))
    )
    Path("tasks.csv").write_text("class,task\na,2\nb,1\nc,1\nd,2\n")
    Path("split.csv").write_text(
        "id,part\n"
        + "".join(f"n{i},{('train', 'train', 'val', 'test')[i // 4 % 4]}\n" for i in range(80))
    )
    done = run(
        "nodes.csv", "edges.csv", "--name", "shop", "--tasks", "tasks.csv", "--split", "split.csv"
    )
    assert done.exit_code == 0, done.output
    report = json.loads(CliRunner().invoke(app, ["data", "doctor", "shop", "--json"]).stdout)
    assert [sorted(t["classes"]) for t in report["stream"]["tasks"]] == [["b", "c"], ["a", "d"]]
    assert report["stream"]["parts"]["test"]["nodes"] == 20 and set(report["states"]) >= {
        "arrival",
        "part",
    }


def test_elsewhere_it_says_where_names_are_looked_up(here: Path) -> None:
    done = run("nodes.csv", "edges.csv", "--name", "shop", "--into", "kept")
    assert done.stdout == f"kept{os.sep}shop.h5\n"
    assert done.stderr.splitlines()[-1] == "shop is found by its name where it lies as data/shop.h5"


def test_of_a_folder_only_raw_counts(here: Path) -> None:
    (here / "set" / "raw").mkdir(parents=True)
    np.savez(
        "set/raw/data.npz",
        edge_index=[[0, 1], [1, 0]],
        node_feat=np.eye(2, dtype=np.float32),
        num_nodes_list=[2],
        num_edges_list=[2],
    )
    np.savez("set/raw/node-label.npz", node_label=[[0], [1]])
    made = []
    for name in ("one", "two"):
        assert run("set", "--name", name).exit_code == 0
        made.append(registry.load("taamctl.datasets", name).SOURCE["files"])
        Path("set/processed").write_text("something else")
    assert made[0] == made[1] and [f["name"] for f in made[0]] == ["data.npz", "node-label.npz"]


def test_help_is_light_and_names_every_format(here: Path, support: Any) -> None:
    from taamctl.importing.file_formats import FORMATS

    done = support.taamctl(here, "data", "import", "--help", env=support.environment(COLUMNS="200"))
    assert done.code == 0
    assert all(kind in done.out for kind in FORMATS)


def _tables(folder: Path, seed: int) -> None:
    """Write a graph whose every column has to be told from its cells."""
    rng = np.random.default_rng(seed)
    n = 60
    names = {
        "": list(range(n)),
        "paper": rng.permutation(n).tolist(),
        "label": [f"title {i}" for i in range(n)],
        "category": rng.choice(["a b", "c", "unknown"], n, p=[0.5, 0.48, 0.02]).tolist(),
        "x": rng.normal(size=n).round(3).tolist(),
        "y": rng.normal(size=n).round(3).tolist(),
        "train_mask": (np.arange(n) % 2).tolist(),
        "test_mask": (1 - np.arange(n) % 2).tolist(),
        **{c: rng.integers(0, 256, n).tolist() for c in "rgb"},
        "my size": rng.integers(1, 5, n).tolist(),
    }
    order = rng.permutation(list(names)).tolist()
    rows = zip(*(names[c] for c in order), strict=True)
    lines = [",".join(order), *(",".join(map(str, row)) for row in rows)]
    (folder / "nodes.csv").write_text("\n".join(lines) + "\n")
    edges = [f"{u},{v}" for u, v in rng.integers(0, n, (200, 2))]
    (folder / "edges.csv").write_text("\n".join(["from,to", *edges]) + "\n")


@pytest.mark.parametrize("seed", range(4))
def test_the_printed_command_makes_the_same_graph_without_a_guess(here: Path, seed: int) -> None:
    _tables(here, seed)
    done = run("nodes.csv", "edges.csv", "--name", "shop")
    assert done.exit_code == 0, done.output
    printed = run("nodes.csv", "edges.csv", "--name", "again", "--print-command")
    assert printed.exit_code == 0 and not Path("data/again.h5").exists()
    words = shlex.split(printed.stdout)
    assert words[:3] == ["taamctl", "data", "import"]
    assert words[words.index("--id") + 1] == "paper"
    assert words[words.index("--label") + 1] == "category"
    assert words[words.index("--features") + 1].count("my size") == 1
    assert run(*words[3:]).exit_code == 0
    one, other = (_imported.read(Path(f"data/{name}.h5")) for name in ("shop", "again"))
    assert (
        one.feature_names
        == other.feature_names
        == tuple(words[words.index("--features") + 1].split(","))
    )
    assert one.class_names == other.class_names == ("a b", "c")
    np.testing.assert_array_equal(one.labels, other.labels)
    np.testing.assert_array_equal(one.features, other.features)
    np.testing.assert_array_equal(one.adjacency.indices, other.adjacency.indices)
    np.testing.assert_array_equal(one.given.node_id, other.given.node_id)
    np.testing.assert_array_equal(one.given.part, other.given.part)
    assert "as by chance" in done.stderr


def test_a_dry_run_says_the_same_and_writes_nothing(here: Path) -> None:
    dry = run("nodes.csv", "edges.csv", "--name", "shop", "--dry-run", "--verbose")
    assert dry.exit_code == 0 and dry.stdout == "" and not Path("data").exists()
    assert "feature: when" in dry.stderr and "nothing is written" in dry.stderr


def test_edges_that_follow_the_classes_are_no_warning(here: Path) -> None:
    rng = np.random.default_rng(0)
    Path("nodes.csv").write_text(
        "id,label,v\n" + "".join(f"{i},{'ab'[i % 2]},{rng.random()}\n" for i in range(40))
    )
    Path("edges.csv").write_text(
        "source,target\n" + "".join(f"{i},{(i + 2) % 40}\n" for i in range(40))
    )
    done = run("nodes.csv", "edges.csv", "--name", "shop")
    assert "100.0 % of the edges lie inside a class; by chance 50.0 %" in done.stderr
    assert "as by chance" not in done.stderr
