"""`taamctl data import --ask`: a question on the terminal, an answer, and the command for it."""

from __future__ import annotations

import contextlib
import os
import select
import shlex
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from taamctl.datasets import _imported
from taamctl.importing.ways import applied

NODES = 12
CALL = (sys.executable, "-m", "taamctl", "data", "import")


def on_a_terminal(folder: Path, arguments: list[str], answers: list[str]) -> tuple[int, str]:
    """Run an import on a terminal of its own; type an answer at every question."""
    pty = pytest.importorskip("pty")
    leader, follower = pty.openpty()
    process = subprocess.Popen(
        [*CALL, *arguments],
        cwd=folder,
        stdin=follower,
        stdout=follower,
        stderr=follower,
        env={**os.environ, "TERM": "dumb"},
        close_fds=True,
    )
    os.close(follower)
    seen, waiting = "", list(answers)
    asked = 0
    with contextlib.suppress(OSError):  # the other end is closed where the process has ended
        while True:
            if not select.select([leader], [], [], 60)[0]:
                process.kill()
                raise AssertionError(f"nothing more is said after: {seen}")
            piece = os.read(leader, 4096).decode()
            if not piece:
                break
            seen += piece
            while seen.count("which one, ") > asked and waiting:
                asked += 1
                os.write(leader, f"{waiting.pop(0)}\n".encode())
    os.close(leader)
    return process.wait(), seen.replace("\r\n", "\n")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with a table whose id, and whose class, can be two columns."""
    rng = np.random.default_rng(7)
    one, other = rng.permutation(NODES), rng.permutation(NODES)
    x = rng.normal(size=(NODES, 2)).round(3)
    kind = ["None" if i % 3 == 0 else "ash" if i % 3 == 1 else "oak" for i in range(NODES)]
    rows = zip(one, other, kind, x[:, 0], x[:, 1], strict=True)
    lines = ["first key,second key,label,a,b", *(",".join(map(str, row)) for row in rows)]
    (tmp_path / "my nodes.csv").write_text("\n".join(lines) + "\n")
    ends = np.stack([np.arange(NODES), (np.arange(NODES) + 5) % NODES], 1)
    edges = "".join(f"{u},{v}\n" for u, v in ends.tolist())
    (tmp_path / "edges.csv").write_text(f"source,target\n{edges}")
    return tmp_path


ARGUMENTS = ["my nodes.csv", "edges.csv", "--name", "shop", "--ask"]


def test_two_questions_two_answers_and_the_command_that_asks_nothing(folder: Path) -> None:
    code, seen = on_a_terminal(folder, ARGUMENTS, ["5", "2", "1"])
    assert code == 0, seen
    assert "  1  --id 'first key'\n  2  --id 'second key'\n  3  --ends rows\n" in seen
    assert "which one, 1 to 3?" in seen
    assert seen.count("which one, 1 to 3?") == 2  # 5 is none of them
    assert "  1  --unlabelled None\n  2  --class-word None\n" in seen
    graph = _imported.read(folder / "data" / "shop.h5")
    table = (folder / "my nodes.csv").read_text().splitlines()[1:]
    assert graph.given.node_id is not None
    assert graph.given.node_id.tolist() == [line.split(",")[1] for line in table]
    assert graph.class_names == ("ash", "oak")
    (line,) = [one for one in seen.splitlines() if one.startswith("the same without a question: ")]
    words = shlex.split(line.partition(": ")[2])
    assert words[:2] == ["taamctl", "data"]
    again = subprocess.run(
        [sys.executable, "-m", "taamctl", *words[1:], "--force"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    assert "question" not in again.stderr
    same = _imported.read(folder / "data" / "shop.h5")
    assert same.adjacency.indices.tolist() == graph.adjacency.indices.tolist()
    assert same.labels.tolist() == graph.labels.tolist()


def test_no_answer_leaves_everything_as_it_was(folder: Path) -> None:
    code, seen = on_a_terminal(folder, ARGUMENTS, ["\x04"])
    assert code == 2, seen
    assert "error: my nodes.csv: no column has a usual name of an id" in seen
    assert not (folder / "data").exists()


def test_without_a_terminal_it_is_refused_before_anything_is_read(tmp_path: Path) -> None:
    done = subprocess.run(
        [*CALL, "none.csv", "--name", "shop", "--ask"],
        cwd=tmp_path,
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.splitlines() == [
        "error: --ask: there is no terminal to ask on",
        "hint: leave it out: a question then prints a whole command for every answer, to copy",
    ]


@pytest.mark.parametrize(
    ("way", "found"),
    [
        ("--id 'a b'", {"id": "a b"}),
        ("--ends rows", {"ends": "rows"}),
        ("--header no --id 'column 0' --label 'column 3'",
         {"header": "no", "id": "column 0", "label": "column 3"}),
        ("--id x --ignore '\"p, q\"' --ignore r", {"id": "x", "ignore": ("k", "p, q", "r")}),
        ("--class-word 'N/A, north' --class-word None", {"class_word": ("N/A, north", "None")}),
        ("--split-column 'train mask:3'", {"split_column": "train mask:3"}),
    ],
)  # fmt: skip
def test_a_way_is_added_to_the_options(way: str, found: dict[str, object]) -> None:
    made = applied({"ignore": ("k",), "time": "t"}, way)
    assert made == {"ignore": ("k",), "time": "t", **found}
