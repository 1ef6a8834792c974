"""Where newcomers stumbled: each place once."""

from __future__ import annotations

import random
import string
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from rich.console import Console
from typer.testing import CliRunner

from taamctl.cli import artefact_tree, one_graph, verb_status
from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError
from taamctl.importing.messages import in_short
from taamctl.pipeline.status import Line


@pytest.mark.parametrize("width", [60, 5000])
def test_a_tree_shows_every_text_as_it_is(
    width: int, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Brackets and backslashes are neither markup nor escaped."""
    rng = random.Random(0)
    monkeypatch.setattr(artefact_tree, "sheet", lambda: Console(width=width, markup=False))
    for _ in range(50):
        texts = ["".join(rng.choices("[]/\\bold nz=", k=12)).strip(" /") for _ in range(3)]
        name, title, line = (text or "x" for text in texts)
        name = name.replace("/", "_")
        entry = artefact_tree.Entry(name, [12594], "float32", ["nnz"], "0", "", [1.5])
        artefact_tree.show(title, [line], [entry])
        out = capsys.readouterr().out
        for text in (title, line, f"{name}  float32 [nnz=12594]"):
            assert " ".join(text.split()) in " ".join(out.split()), (text, out)


def test_a_column_that_is_absent_lists_the_others_with_numbered_ones_as_one() -> None:
    names = ["id", *(f"w_{i}" for i in range(300)), "area"]
    assert in_short(names, 12) == "id, w_0 to w_299 (300), area"
    assert in_short(["a1", "a2", "b", "7", "8", "9"], 12) == "a1, a2, b, 7, 8, 9"
    many = ["".join(pair) for pair in zip(string.ascii_letters, string.ascii_letters, strict=True)]
    assert in_short(many, 3) == "aa, bb, cc, ... (52 in all)"


@pytest.mark.parametrize(
    ("name", "content", "said"),
    [
        ("new articles.csv", b"id,w\na,1\n", "is a table, not an imported graph"),
        ("new.bin", b"PK\x03\x04", "is a file of another kind, not an imported graph"),
    ],
)
def test_a_table_is_no_broken_graph(
    name: str, content: bytes, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path(name).write_bytes(content)
    with pytest.raises(TaamctlError, match=said) as caught:
        one_graph.require_imported(Path(name))
    quoted = f"'{name}'" if " " in name else name
    assert f"taamctl data import {quoted} EDGES --name new" in caught.value.hint


def test_a_graph_file_of_any_name_is_let_through(tmp_path: Path) -> None:
    import h5py

    with h5py.File(tmp_path / "graph.csv", "w") as file:
        file["x"] = np.zeros(1)
    (tmp_path / "broken.h5").write_bytes(b"no")
    for name in ("graph.csv", "broken.h5", "absent.csv"):
        one_graph.require_imported(tmp_path / name)


def test_predict_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    made = CliRunner().invoke(app, ["bank", "create", "model", "--method", "linear_probe"])
    assert made.exit_code == 0
    Path("new.csv").write_text("id,w\na,1\n")
    ended = CliRunner().invoke(app, ["predict", "--bank", "model", "--graph", "new.csv"])
    assert isinstance(ended.exception, TaamctlError)
    assert "new.csv is a table, not an imported graph" in ended.exception.message


def test_status_speaks_as_dvc_does(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from taamctl.pipeline import status

    states = {"fresh": "up to date", "stale": "changed", "missing": "missing"}
    context: Any = None
    lines: list[Any] = [
        Line("train", "d", "m", 1, state, [], "make", "p")  # type: ignore[arg-type]
        for state in states
    ]
    monkeypatch.setattr(status, "lines", lambda _: lines)
    verb_status.show(context, as_json=False)
    shown = capsys.readouterr().out
    assert all(word in shown for word in states.values())
    assert "stale" not in shown
    assert "would make 3 and check 0" in shown
    fresh = [Line("split", "d", "", None, "fresh", [], "reuse", "p")]
    monkeypatch.setattr(status, "lines", lambda _: fresh)
    verb_status.show(context, as_json=False)
    assert "Data and pipelines are up to date." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("articles", "taamctl data import NODES EDGES --name articles"),
        ("photos", "did you mean 'photo'?"),
        ("my articles", "choose one of them"),
    ],
)
def test_a_graph_that_is_not_there_is_brought_in(
    name: str, hint: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    refused = CliRunner().invoke(app, ["data", "doctor", name]).exception
    assert isinstance(refused, TaamctlError)
    assert refused.hint.endswith(hint)


def test_the_doctor_of_a_graph_is_another_verb() -> None:
    refused = CliRunner().invoke(app, ["doctor", "my shop"]).exception
    assert isinstance(refused, TaamctlError)
    assert refused.hint == "of a graph: taamctl data doctor 'my shop'"
