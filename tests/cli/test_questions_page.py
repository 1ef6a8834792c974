"""The commands of the page on questions are run, in their order."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import taamctl
from taamctl.importing.options import ImportOptions

PAGE = (Path(taamctl.__file__).parent / "docs" / "questions.md").read_text(encoding="utf-8")


@pytest.mark.slow
def test_every_block_runs(tmp_path: Path) -> None:
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    blocks = re.findall(r"```sh\n(.*?)```", PAGE, flags=re.DOTALL)
    assert len(blocks) == 3
    seen = []
    for block in blocks:
        done = subprocess.run(
            ["bash", "-e", "-c", block],
            cwd=tmp_path,
            env={**os.environ, "PATH": path, "NO_COLOR": "1"},
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        seen.append((done.stdout, done.stderr))
    assert (
        "taamctl data import nodes.csv edges.csv --name mine --into data --id second" in seen[0][1]
    )
    assert seen[1][0].startswith("taamctl data import nodes.csv edges.csv --name again")
    assert "2 nodes stand in the edges only ('3', '7'" in seen[2][1]
    answers = seen[2][0].splitlines()[-2:]
    assert [line.split(",")[0] for line in answers] == ["n0", "n1"]


def test_options_of_the_table_are_there() -> None:
    table = PAGE.partition("| what leaves")[2].partition("All faults")[0]
    named = set(re.findall(r"--([a-z][a-z-]+)", table))
    known = {field.name.replace("_", "-") for field in fields(ImportOptions)} | {"context"}
    assert named <= known
    assert {"bad-rows", "edge-header", "split-column"} <= named
