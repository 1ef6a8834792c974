"""`taamctl bank update`, `bank forget` and `audit --bank` as they are called."""

from __future__ import annotations

import contextlib
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from click.testing import Result
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError

FAST = ("--set", "bank.sums=class", "--set", "bank.router.width=32", "--set", "train.threads=1")


def invoke(folder: Path, *words: str) -> Result:
    """Run a verb in this process, in `folder`; an error is raised as it is."""
    with contextlib.chdir(folder):
        return CliRunner().invoke(app, words, catch_exceptions=False)


@pytest.fixture(scope="module")
def shop(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph, an earlier half of it, and a bank that learned the half."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    rows = [f"p{i},{'xyz'[i % 3]},{i % 3 + 0.1 * rng.random():.3f},0.5" for i in range(90)]
    ends = [f"p{i},p{(i + 3 * int(rng.integers(1, 9))) % 90}" for i in range(90)]
    early = {f"p{i}" for i in range(45)}
    old = [pair for pair in ends if early.issuperset(pair.split(","))]
    for name, nodes, edges in (("all", rows, ends), ("old", rows[:45], old)):
        (folder / f"{name}.csv").write_text("\n".join(["id,label,u,v", *nodes]) + "\n")
        (folder / f"{name}_edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
        words = ("data", "import", f"{name}.csv", f"{name}_edges.csv", "--name", name)
        assert invoke(folder, *words).exit_code == 0
    for words in (
        ("create", "live", "--method", "linear_probe", *FAST),
        ("add-task", "live", "--graph", "data/old.h5", "--quiet"),
    ):
        assert invoke(folder, "bank", *words).exit_code == 0
    return folder


def test_nodes_come_and_go(shop: Path) -> None:
    update = ("bank", "update", "live", "--graph", "data/all.h5")
    made = invoke(shop, *update)
    assert made.exit_code == 0
    assert made.stdout.startswith("live/tasks/0002-")
    assert "45 new nodes" in made.stderr
    assert "known ones have another row now" in made.stderr
    again = invoke(shop, *update)
    assert (again.exit_code, again.stdout) == (0, "")
    assert "no node of a known class is new" in again.stderr
    assert json.loads(invoke(shop, *update, "--json").stdout) == []
    (shop / "gone.txt").write_text("p7\n\np50\n")
    forget = ("bank", "forget", "live", "--graph", "data/all.h5", "--nodes")
    done = invoke(shop, *forget, "gone.txt", "--statement", "said.json")
    assert done.stdout == "said.json\n"
    said = json.loads((shop / "said.json").read_text())
    assert said["nodes"] == 2
    assert "tasks/0001-" in "".join(said["deleted"])
    listed = json.loads(invoke(shop, "bank", "list", "live", "--json").stdout)
    assert listed["action"] == "forgot 2 nodes"
    assert sum(task["train"] + task["val"] for task in listed["tasks"]) == 88
    assert invoke(shop, "bank", "verify", "live").exit_code == 0
    with pytest.raises(TaamctlError, match="does not know 2 of the 2 nodes, such as 'p50'"):
        invoke(shop, *forget, "gone.txt")
    with pytest.raises(TaamctlError, match=r"no file none\.txt"):
        invoke(shop, *forget, "none.txt")
    (shop / "none.txt").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(TaamctlError, match="is no UTF-8 text"):
        invoke(shop, *forget, "none.txt")


@pytest.mark.slow
def test_an_audit_looks_at_a_bank_that_grows(support: ModuleType, tmp_path: Path) -> None:
    sets = ("train.epochs=2", "train.threads=1", "train.device=cpu", "bank.router.width=32")
    words = [word for each in sets for word in ("--set", each)]
    methods = ("--method", "linear_probe", "--method", "finetune", "--seed", "1")
    made = support.taamctl(
        tmp_path, "audit", "--bank", "--dataset", "synthetic", *methods, *words, "--json"
    )
    assert made.code == 0, made.out + made.err
    found = [check for check in json.loads(made.out) if check["check"] == "bank"]
    verdicts = {check["subject"].partition("/")[2]: check["verdict"] for check in found}
    assert verdicts.pop("finetune/seed-1") == "not run"
    kinds = {f"linear_probe/seed-1: {kind}" for kind in ("reads", "features", "edges", "labels")}
    assert verdicts == dict.fromkeys(kinds, "ok")
