"""The command that an import prints makes the same graph in every format, and prints itself."""

from __future__ import annotations

import importlib.util
import json
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.io
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import content_hash
from taamctl.importing import headers, roles
from taamctl.importing.name_patterns import exact

spec_of = importlib.util.spec_from_file_location(
    "taamctl_tests_formats_again", Path(__file__).parents[1] / "graph" / "formats.py"
)
assert spec_of is not None and spec_of.loader is not None
formats = importlib.util.module_from_spec(spec_of)
sys.modules[spec_of.name] = formats
spec_of.loader.exec_module(formats)

pytestmark = pytest.mark.usefixtures("quick_readers")


def node_link(spec: Any, folder: Path) -> list[Path]:
    """Write a graph as networkx writes JSON."""
    nodes = [
        {"id": f"n {i}", "class": f"c{spec.y[i]}", "w*": float(row[0]),
         "w1": float(row[1])}
        for i, row in enumerate(spec.x)
    ]  # fmt: skip
    links = [{"source": f"n {u}", "target": f"n {v}"} for u, v in spec.edges]
    path = folder / "graph.json"
    path.write_text(json.dumps({"directed": True, "nodes": nodes, "links": links}))
    return [path]


def matlab(spec: Any, folder: Path) -> list[Path]:
    """Write a graph as DeepWalk's files are."""
    n = len(spec.x)
    network = np.zeros((n, n))
    for u, v in spec.edges:
        network[u, v] = 1
    path = folder / "graph.mat"
    scipy.io.savemat(path, {"network": network, "attrb": spec.x, "group": spec.y, "other": spec.y})
    return [path]


def events(spec: Any, folder: Path) -> list[Path]:
    """Write a graph of events, whose nodes have the means of messages as features."""
    import torch

    source, target = np.array(spec.edges).T
    path = folder / "events.pt"
    kept = {"src": source, "dst": target, "t": np.arange(len(source)), "y": spec.y,
            "msg": np.arange(2.0 * len(source)).reshape(-1, 2)}  # fmt: skip
    torch.save({key: torch.from_numpy(np.asarray(value)) for key, value in kept.items()}, path)
    return [path]


def headless(spec: Any, folder: Path) -> list[Path]:
    """Write Planetoid's two tables, which have no header."""
    rows = [f"p{i}\t{int(x[0])}\t{int(x[1])}\tc{spec.y[i]}" for i, x in enumerate(spec.x)]
    (folder / "my.content").write_text("\n".join(rows) + "\n")
    (folder / "my.cites").write_text("".join(f"p{u}\tp{v}\n" for u, v in spec.edges))
    return [folder / "my.content", folder / "my.cites"]


def awkward(spec: Any, folder: Path) -> list[Path]:
    """Write tables whose names a shell, a pattern or a comma breaks."""
    rows = [f"n{i};c{spec.y[i]};{x[0]};{x[1]};{i}" for i, x in enumerate(spec.x)]
    head = "paper id;the 'class', label;w*;w[0];w1"
    (folder / "my nodes.csv").write_text("\n".join([head.replace("the 'class', ", ""), *rows]))
    (folder / "edges.csv").write_text(
        "who cites;whom\n" + "".join(f"n{u};n{v}\n" for u, v in spec.edges)
    )
    return [folder / "my nodes.csv", folder / "edges.csv"]


WRITERS: dict[str, Callable[[Any, Path], list[Path]]] = {
    **formats.WRITERS,
    "json": node_link,
    "mat": matlab,
    "events": events,
    "headless": headless,
    "awkward": awkward,
}


def drawn(seed: int) -> Any:
    """Return a random graph of twelve nodes."""
    rng = np.random.default_rng(seed)
    n = 12
    x = rng.integers(-9, 9, (n, 2)).astype(np.float32) / np.float32(4)
    x[: n // 2] += np.float32(0.125)
    edges = [(int(u), int(v)) for u, v in rng.integers(0, n, (30, 2))]
    y = rng.permutation(np.arange(n) % 3)
    return formats.Spec(x=x, y=y, edges=[*edges, (n - 1, 0)])


def run(*words: str) -> str:
    done = CliRunner().invoke(app, words)
    if done.exception is not None:
        raise done.exception
    return done.stdout


def same(one: NodeGraph, other: NodeGraph) -> bool:
    names = [graph.given.node_id for graph in (one, other)]
    return (
        content_hash(one) == content_hash(other)
        and one.class_names == other.class_names
        and one.feature_names == other.feature_names
        and np.array_equal(*names)
    )


@pytest.mark.parametrize("kind", sorted(WRITERS))
@pytest.mark.parametrize("seed", range(2))
def test_the_command_makes_the_same_graph_and_prints_itself(
    kind: str, seed: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "my files").mkdir()
    files = [str(path) for path in WRITERS[kind](drawn(seed), Path("my files"))]
    call = ("data", "import", *files, "--name", "shop")
    run(*call)
    guessed = _imported.read(Path("data/shop.h5"))
    words = shlex.split(run(*call, "--print-command"))
    assert words[:3] == ["taamctl", "data", "import"]
    assert "--format" in words
    assert "--ends" in words or kind in ("graphml", "json")
    for module in (roles, headers):  # a name of a column decides nothing any more
        monkeypatch.setattr(module, "guess", lambda names, known: "")
    run(*words[1:], "--force")
    explicit = _imported.read(Path("data/shop.h5"))
    assert same(guessed, explicit)
    assert shlex.split(run(*words[1:], "--print-command")) == words


def test_a_name_that_is_a_pattern_too_names_one_column() -> None:
    names = ("w*", "w1", "x[0]", "x0", "y?")
    assert exact(("w*", "x[0]", "y?"), names) == ("w[*]", "x[[]0]", "y?")
