"""`--context` as it is called: import, teach and ask with old neighbours."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from types import ModuleType

import numpy as np

FAST = ("--set", "train.epochs=2", "--set", "train.threads=1", "--set", "bank.router.width=16")


def tables(folder: Path) -> None:
    """Write two classes of old and of new nodes; new ones link to old ones of their class only."""
    rng = np.random.default_rng(3)
    for name, count in (("old", 40), ("new", 12)):
        label = np.arange(count) % 2
        x = (label[:, None] + 0.3 * rng.normal(size=(count, 4))).round(3)
        rows = [f"{name}{i},{'ash' if label[i] else 'oak'}," + ",".join(map(str, x[i]))
                for i in range(count)]  # fmt: skip
        (folder / f"{name}.csv").write_text("\n".join(["id,label,a,b,c,d", *rows]) + "\n")
    old = [f"old{i},old{(i + 2) % 40}" for i in range(40)]
    new = [f"new{i},old{(i % 2) + 2 * i}" for i in range(12)]
    (folder / "old_edges.csv").write_text("\n".join(["source,target", *old]) + "\n")
    (folder / "new_edges.csv").write_text("\n".join(["source,target", *new]) + "\n")


def test_old_neighbours_are_seen_by_name_or_file(support: ModuleType, tmp_path: Path) -> None:
    def run(*arguments: str) -> str:
        done = support.taamctl(tmp_path, *arguments)
        assert done.code == 0, done.err
        said.append(done.err)
        text: str = done.out
        return text

    said: list[str] = []
    tables(tmp_path)
    run("data", "import", "old.csv", "old_edges.csv", "--name", "old")
    run("data", "import", "new.csv", "new_edges.csv", "--name", "new", "--context", "old")
    assert "12 edges to 12 nodes of old.h5 are kept beside the graph" in said[-1]
    run("bank", "create", "model", "--method", "linear_probe", *FAST)
    run("bank", "add-task", "model", "--graph", "data/old.h5")
    answers = run("predict", "--bank", "model", "--graph", "data/new.h5", "--context", "old")
    nodes = [row["node"] for row in csv.DictReader(io.StringIO(answers))]
    assert nodes == [f"new{i}" for i in range(12)]
    told = [line for line in said[-1].splitlines() if not line.startswith("next: ")]
    assert "--context" not in "\n".join(told)
    by_file = ("--context", "data/old.h5")
    assert run("predict", "--bank", "model", "--dataset", "new", *by_file) == answers
    alone = run("predict", "--bank", "model", "--graph", "data/new.h5")
    assert "warning: 12 edges to 12 nodes of another graph are not used: --context" in said[-1]
    assert alone != answers
    run("bank", "create", "other", "--method", "linear_probe", *FAST)
    run("bank", "add-task", "other", "--graph", "data/new.h5", "--context", "old")
    assert "--context names it" not in said[-1]
