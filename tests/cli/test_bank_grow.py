"""`taamctl bank update`, `bank forget` and `audit --bank` as they are called."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

FAST = ("--set", "bank.sums=class", "--set", "bank.router.width=32", "--set", "train.threads=1")


@pytest.fixture(scope="module")
def shop(support: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a graph, an earlier half of it, and a bank that learned the half."""
    folder = tmp_path_factory.mktemp("shop")
    rng = np.random.default_rng(0)
    rows = [
        f"p{i},{'xyz'[i % 3]},{i % 3 + 0.1 * rng.random():.3f},{rng.random():.3f}"
        for i in range(90)
    ]
    ends = [f"p{i},p{(i + 3 * int(rng.integers(1, 9))) % 90}" for i in range(90)]
    early = {f"p{i}" for i in range(45)}
    old = [pair for pair in ends if early.issuperset(pair.split(","))]
    for name, nodes, edges in (("all", rows, ends), ("old", rows[:45], old)):
        (folder / f"{name}.csv").write_text("\n".join(["id,label,u,v", *nodes]) + "\n")
        (folder / f"{name}_edges.csv").write_text("\n".join(["source,target", *edges]) + "\n")
        made = support.taamctl(
            folder, "data", "import", f"{name}.csv", f"{name}_edges.csv", "--name", name
        )
        assert made.code == 0, made.err
    for words in (
        ("create", "live", "--method", "linear_probe", *FAST),
        ("add-task", "live", "--graph", "data/old.h5", "--quiet"),
    ):
        assert support.taamctl(folder, "bank", *words).code == 0
    return folder


def test_nodes_come_and_go(support: ModuleType, shop: Path) -> None:
    made = support.taamctl(shop, "bank", "update", "live", "--graph", "data/all.h5")
    assert made.code == 0, made.err
    assert made.out.startswith("live/tasks/0002-")
    assert "45 new nodes" in made.err
    assert "known ones have another row now" in made.err
    again = support.taamctl(shop, "bank", "update", "live", "--graph", "data/all.h5")
    assert (again.code, again.out) == (0, "")
    assert "no node of a known class is new" in again.err
    as_json = support.taamctl(shop, "bank", "update", "live", "--graph", "data/all.h5", "--json")
    assert json.loads(as_json.out) == []
    (shop / "gone.txt").write_text("p7\n\np50\n")
    words = ("--nodes", "gone.txt", "--graph", "data/all.h5", "--statement", "said.json")
    done = support.taamctl(shop, "bank", "forget", "live", *words)
    assert done.code == 0, done.err
    said = json.loads(done.out)
    assert said == json.loads((shop / "said.json").read_text())
    assert said["nodes"] == 2
    assert "tasks/0001-" in "".join(said["deleted"])
    listed = json.loads(support.taamctl(shop, "bank", "list", "live", "--json").out)
    assert listed["action"] == "forgot 2 nodes"
    assert sum(task["train"] + task["val"] for task in listed["tasks"]) == 88
    assert support.taamctl(shop, "bank", "verify", "live").code == 0
    twice = support.taamctl(shop, "bank", "forget", "live", *words)
    assert twice.code == 2
    assert "does not know 2 of the 2 nodes, such as 'p50'" in twice.err
    for content, error in ((None, "no file none.txt"), (b"\xff\xfe\xfa", "is no UTF-8 text")):
        if content:
            (shop / "none.txt").write_bytes(content)
        refused = support.taamctl(
            shop, "bank", "forget", "live", "--nodes", "none.txt", "--graph", "data/all.h5"
        )
        assert refused.code == 2
        assert error in refused.err


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
