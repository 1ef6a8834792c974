"""The page `Your own graph` is run: every file on it is written and every command done."""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

import taamctl
from taamctl.cli.app import app
from taamctl.importing import arrays, column_names, no_label, reader_h5ad, reader_musae, words
from taamctl.importing.file_formats import FORMATS

PAGE = (Path(taamctl.__file__).parent / "docs/own-graph.md").read_text(encoding="utf-8")
# the name of a file before a block, the language of the block, and what stands in it
BLOCK = re.compile(r"(?:^`([^`\n]+)`:\n\n)?^```(\w+)\n(.*?)^```", re.DOTALL | re.MULTILINE)
NEEDS = {"import dgl": "dgl", "import duckdb": "duckdb", "import pyarrow": "pyarrow"}


@pytest.fixture
def here(tmp_path: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(tmp_path)
    yield tmp_path
    os.chdir(before)


def an_h5ad() -> None:
    """Write what AnnData would."""
    import h5py
    import numpy as np

    with h5py.File("papers.h5ad", "w") as file:
        file["X"] = np.arange(12.0).reshape(6, 2)
        obs = file.create_group("obs")
        obs.attrs["_index"], obs.attrs["column-order"] = "_index", ["label"]
        obs["_index"], obs["label"] = [f"p{i}" for i in range(6)], [0, 0, 0, 1, 1, 1]
        var = file.create_group("var")
        var.attrs["_index"], var.attrs["column-order"] = "_index", np.zeros(0)
        var["_index"] = ["length", "cited"]
        matrix = file.create_group("obsp/connectivities")
        matrix.attrs["encoding-type"], matrix.attrs["shape"] = "csr_matrix", (6, 6)
        matrix["data"], matrix["indices"] = np.ones(7), [1, 2, 2, 3, 4, 5, 5]
        matrix["indptr"] = [0, 2, 3, 4, 6, 7, 7]


def test_every_file_and_command_of_the_page(here: Path) -> None:
    """In the order of the page: what a block leaves, later ones may use."""
    pytest.importorskip("dgl")
    pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    an_h5ad()
    names: dict[str, Any] = {}
    said, ran = "", 0
    for file, language, text in BLOCK.findall(PAGE):
        if file:
            Path(file).write_text(text, encoding="utf-8")
        elif language == "python":
            exec(text, names)
        elif language == "sh":
            (line,) = text.splitlines()
            done = CliRunner().invoke(app, [*shlex.split(line)[1:], "--force"])
            assert done.exit_code == 0, (line, done.exception, done.output)
            said, ran = done.stderr, ran + 1
        else:
            assert language == "text" and text.strip() in said.splitlines(), (text, said)
    assert ran >= len(FORMATS)
    assert Path("data/papers.h5").is_file() and Path("data/from_frames.h5").is_file()


@pytest.mark.parametrize("kind", FORMATS)
def test_every_format_has_a_section(kind: str) -> None:
    assert re.search(rf"^### .*`{kind}`", PAGE, re.MULTILINE)


def listed(names: Any) -> str:
    return ", ".join(f"`{name}`" for name in names)


def also(names: Sequence[str]) -> str:
    return listed(name for name in names if name not in column_names.LABEL)


def guessed() -> str:
    """Return the table of what is guessed from which name, from the code's own lists."""
    masks = list(column_names.MASKS)
    pairs = [f"{source} and {target}" for source, target in column_names.ENDS]
    in_arrays = [f"{source} and {target}" for source, target in arrays.ENDS]
    rows = [
        ("id of a node", listed(column_names.ID), listed(arrays.MEANINGS["id"]), "`--id`"),
        ("class", listed(column_names.LABEL), listed(arrays.MEANINGS["label"]), "`--label`"),
        ("features", "all other columns", listed(arrays.FEATURES.split()), "`--features`"),
        (
            "ends of an edge",
            listed(pairs),
            listed((*arrays.EDGES, *in_arrays)),
            "`--source`, `--target`",
        ),
        ("weight of an edge", "not read", "not read", ""),
        ("time", listed(column_names.TIME), listed(arrays.MEANINGS["time"]), "`--time`"),
        (
            "part",
            listed((*column_names.PART, *masks)),
            listed((*arrays.MEANINGS["part"], *masks)),
            "`--part`",
        ),
        ("task", listed(column_names.TASK), listed(arrays.MEANINGS["task"]), "`--task`"),
    ]
    lines = ["| meaning | columns and attributes | arrays | option |", "|---|---|---|---|"]
    lines += [f"| {' | '.join(row)} |".replace("|  |", "| |") for row in rows]
    none = sorted(no_label.NO_LABEL - {""})
    parts = {
        word: [w for w, p in words.PART_WORDS.items() if p == at]
        for at, word in enumerate(("train", "val", "test"))
    }
    lines += [
        "",
        f"A class is also called {also(reader_musae.TARGETS)} in MUSAE, and "
        f"{also(reader_h5ad.LABELS)} in AnnData.",
        f"No label: an empty cell, {listed(none)}, in any case.",
        "Parts: " + "; ".join(f"{word} is {listed(found)}" for word, found in parts.items()) + ".",
    ]
    return "\n".join(lines)


def test_the_table_of_names_is_what_the_code_has() -> None:
    assert guessed() in PAGE, guessed()
