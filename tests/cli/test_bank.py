"""`taamctl bank` and `taamctl predict` as they are called: stdout, stderr and exit codes."""

from __future__ import annotations

import csv
import io
import json
import os
import shlex
import signal
import time
from pathlib import Path
from types import ModuleType

import h5py
import pytest

from taamctl.cli.app import entry

FAST = ("--set", "train.epochs=2", "--set", "train.threads=1", "--set", "bank.router.width=32")


@pytest.fixture(scope="module")
def shop(support: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two graph files and a bank that learned the first."""
    import numpy as np

    from taamctl.core.types import NodeGraph
    from taamctl.datasets import _imported
    from taamctl.graph.canonical import adjacency_from_edges

    folder = tmp_path_factory.mktemp("shop")
    for seed, (name, classes) in enumerate(
        {"spring": ("hats", "shoes"), "autumn": ("coats", "boots", "hats")}.items()
    ):
        rng = np.random.default_rng(seed)
        labels = np.repeat(np.arange(len(classes)), 40)
        means = np.array([np.random.default_rng(len(c) * ord(c[0])).random(8) for c in classes])
        x = (means[labels] + 0.1 * rng.standard_normal((len(labels), 8))).astype(np.float32)
        pairs = np.concatenate(
            [rng.choice(np.flatnonzero(labels == c), (60, 2)) for c in range(len(classes))]
        )
        adjacency, _ = adjacency_from_edges(*pairs.T, len(labels), name)
        _imported.write(
            folder / f"{name}.h5",
            NodeGraph(name, adjacency, x, labels.astype(np.int64), classes),
            {},
        )
    made = support.taamctl(folder, "bank", "create", "model", "--method", "linear_probe", *FAST)
    assert (made.code, made.out) == (0, "model\n")
    made = support.taamctl(folder, "bank", "add-task", "model", "--graph", "spring.h5")
    assert made.code == 0, made.err
    assert made.out.startswith("model/tasks/0001-")
    return folder


def test_answers_say_how_sure_they_are_and_why(support: ModuleType, shop: Path) -> None:
    ask = ("predict", "--bank", "model", "--graph", "spring.h5")
    listed = json.loads(support.taamctl(shop, *ask, "--sets", "0.9", "--json").out)
    assert all(row["class"] in row["set"] for row in listed)
    scored = support.taamctl(shop, *ask, "--sets", "0.9", "--score")
    assert scored.code == 0, scored.err
    assert "ECE" in scored.out
    assert "of the sets hold the right class" in scored.out
    found = json.loads(support.taamctl(shop, *ask, "--sets", "0.9", "--score", "--json").out)
    assert 0 <= found["reliability"]["ece"] <= 1
    why = support.taamctl(shop, *ask, "--explain", "3")
    assert why.out.splitlines()[0].split()[0] == "class"
    assert "carries the answer" in why.out
    plain = json.loads(support.taamctl(shop, *ask, "--explain", "3", "--json").out)
    assert plain["node"] == "3"
    assert {each["hop"] for each in plain["hops"]} == {0, 2}
    none = support.taamctl(shop, *ask, "--explain", "800")
    assert (none.code, none.out) == (2, "")
    assert "no such node among the 80" in none.err
    both = support.taamctl(shop, *ask, "--explain", "3", "--score")
    assert "both say what to print" in both.err


def test_a_bank_learns_lists_verifies_and_answers(support: ModuleType, shop: Path) -> None:
    made = support.taamctl(
        shop, "bank", "add-task", "model", "--graph", "autumn.h5", "--task-per", "1", "--quiet"
    )
    assert (made.code, len(made.out.splitlines()), made.err) == (0, 2, "")
    listed = json.loads(support.taamctl(shop, "bank", "list", "model", "--json").out)
    assert [t["classes"] for t in listed["tasks"]] == [["hats", "shoes"], ["coats"], ["boots"]]
    checked = support.taamctl(shop, "bank", "verify", "model")
    assert checked.code == 0
    assert "task 1: outputs equal in every bit" in checked.out
    answers = support.taamctl(
        shop, "predict", "--bank", "model", "--graph", "autumn.h5", "--unknown", "off"
    )
    rows = list(csv.DictReader(io.StringIO(answers.out)))
    assert list(rows[0]) == ["node", "class", "task", "confidence", "unknown"]
    assert (
        sum(
            r["class"] == t
            for r, t in zip(rows, ["coats"] * 40 + ["boots"] * 40 + ["hats"] * 40, strict=True)
        )
        > 110
    )
    said, then = answers.err.splitlines()
    assert said == "120 nodes, 0 of them unknown"
    least = min(rows, key=lambda row: float(row["confidence"]))
    asked = "next: taamctl predict --bank model --graph autumn.h5 --unknown off --explain="
    assert then.startswith(asked)
    why = support.taamctl(shop, *shlex.split(then)[2:])
    assert why.code == 0, why.err
    assert least["node"] in why.out
    assert "next: " not in why.err
    as_json = support.taamctl(
        shop,
        "predict",
        "--bank",
        "model",
        "--graph",
        "autumn.h5",
        "--json",
        "--quiet",
        "--max-memory",
        "4G",
    )
    assert [r["class"] for r in json.loads(as_json.out)] == [r["class"] for r in rows]


def test_damage_is_exit_code_1_and_names_the_culprit(support: ModuleType, shop: Path) -> None:
    assert support.taamctl(shop, "bank", "export", "model", "model.tar").out == "model.tar\n"
    assert support.taamctl(shop, "bank", "import", "model.tar", "copy").code == 0
    (file,) = (shop / "copy" / "tasks").glob("0001-*.h5")
    data = bytearray(file.read_bytes())
    data[len(data) // 2] ^= 1
    file.write_bytes(bytes(data))
    checked = support.taamctl(shop, "bank", "verify", "copy")
    assert checked.code == 1
    assert f"BAD tasks/{file.name}: changed, cut off or damaged" in checked.out
    refused = support.taamctl(
        shop, "predict", "--bank", "copy", "--graph", "spring.h5", "--out", "x.csv"
    )
    assert refused.code == 2
    assert "is not the file that the bank lists" in refused.err
    assert not (shop / "x.csv").exists()


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("bank", "create", "new", "--method", "finetune"), "a bank cannot keep finetune"),
        (("bank", "create", "new", "--method", "tamm"), "did you mean 'taam'?"),
        (("bank", "create", "model"), "model is there already and not empty"),
        (
            ("bank", "add-task", "model", "--graph", "spring.h5"),
            "the bank knows hats, shoes already",
        ),
        (
            ("bank", "add-task", "model", "--graph", "spring.h5", "--classes", "hats"),
            "the bank knows the class 'hats' already",
        ),
        (("bank", "add-task", "model"), "name one graph"),
        (("bank", "add-task", "nowhere", "--graph", "spring.h5"), "no bank in nowhere"),
        (("bank", "remove", "model", "9"), "the bank has no task 9"),
        (("bank", "rollback", "model", "--to", "99"), "no earlier generation 99"),
        (("bank", "list", "nowhere"), "no bank in nowhere"),
        (
            ("predict", "--bank", "model", "--graph", "spring.h5", "--unknown", "often"),
            "neither off nor a number",
        ),
        (("predict", "--bank", "model", "--graph", "spring.h5", "--max-memory", "lots"), "no size"),
        (
            ("predict", "--bank", "model", "--graph", "spring.h5", "--max-memory", "1M"),
            "too little for 80 nodes",
        ),
        (
            ("predict", "--bank", "model", "--graph", "spring.h5", "--decide", "vote"),
            "not one of router, expert, soft",
        ),
        (("predict", "--bank", "model", "--graph", "none.h5"), "no file none.h5"),
    ],
)
def test_a_call_that_cannot_be_done_says_why(
    shop: Path,
    arguments: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(shop)
    monkeypatch.setattr("sys.argv", ["taamctl", *arguments])
    with pytest.raises(SystemExit, match="2"):
        entry()
    out, err = capsys.readouterr()
    assert out == ""
    assert said in err


def test_remove_and_rollback(support: ModuleType, shop: Path) -> None:
    assert support.taamctl(shop, "bank", "import", "model.tar", "other").code == 0
    done = support.taamctl(shop, "bank", "remove", "other", "1")
    assert done.code == 0
    assert "removed task 1; 2 tasks, 2 classes" in done.err
    assert "3 tasks, 4 classes" in support.taamctl(shop, "bank", "rollback", "other").err


def test_a_killed_command_leaves_a_bank_that_works(support: ModuleType, shop: Path) -> None:
    made = support.taamctl(
        shop,
        "bank",
        "create",
        "killed",
        "--set",
        "train.epochs=100000",
        "--set",
        "bank.router.width=32",
    )
    assert made.code == 0
    process = support.start(shop, "bank", "add-task", "killed", "--graph", "spring.h5")
    late = time.monotonic() + 60
    while not list((shop / "killed").glob("shared-*.h5")) and time.monotonic() < late:
        time.sleep(0.05)
    os.killpg(process.pid, signal.SIGKILL)
    support.finish(process)
    checked = support.taamctl(shop, "bank", "verify", "killed")
    assert "BAD shared-0001.h5: no generation lists this file" in checked.out
    swept = support.taamctl(
        shop, "bank", "add-task", "killed", "--graph", "spring.h5", "--classes", "nothing"
    )
    assert "removed killed/shared-0001.h5: an interrupted command left it" in swept.err
    assert support.taamctl(shop, "bank", "verify", "killed").code == 0


def test_a_damaged_graph_gives_no_answers(support: ModuleType, shop: Path) -> None:
    with h5py.File(shop / "autumn.h5") as file:
        at = file["features/dense"].id.get_offset()
        if at is None:  # in pieces: the first one
            at = file["features/dense"].id.get_chunk_info(0).byte_offset
    content = bytearray((shop / "autumn.h5").read_bytes())
    content[at + 8] ^= 2
    (shop / "damaged.h5").write_bytes(bytes(content))
    call = ("predict", "--bank", "model", "--graph", "damaged.h5", "--out", "answers.csv")
    refused = support.taamctl(shop, *call)
    assert refused.code == 2
    assert "damaged.h5: features/dense does not match its checksum" in refused.err
    assert not (shop / "answers.csv").exists()
