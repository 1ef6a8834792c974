"""Tables for papers: what is best is bold, what is second is underlined, and names cannot break
them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest

from taamctl.report import paper_tables
from taamctl.report.paper_tables import PaperTable, Value

EVIL = "a_b & 100% {x} \\input{y} ~^$#"


def table(values: list[list[Value | None]], most: tuple[bool, ...]) -> PaperTable:
    lines = tuple((f"m{i}", tuple(row)) for i, row in enumerate(values))
    columns = tuple(f"c{i}" for i in range(len(most)))
    return PaperTable("t", "Caption.", columns, most, lines, ("A note.",))


@pytest.mark.parametrize("seed", range(5))
def test_best_and_second_are_those_of_the_printed_numbers(seed: int) -> None:
    rng = np.random.default_rng(seed)
    numbers = rng.integers(0, 30, (6, 2)) / 30 + rng.normal(0, 1e-6, (6, 2))
    made = table([[Value(float(v)) for v in row] for row in numbers], (True, False))
    found = paper_tables.marks(made, 1)
    for column, most in enumerate((True, False)):
        printed = np.round(100 * numbers[:, column], 1)
        ordered = sorted(set(printed.tolist()), reverse=most)
        for line in range(6):
            expected = {0: "best", 1: "second"}.get(ordered.index(printed[line]), "plain")
            assert found[line][column] == expected


def test_what_is_told_the_task_or_missing_is_not_compared() -> None:
    made = table([[Value(0.9, compared=False)], [Value(None)], [None], [Value(0.5)]], (True,))
    assert paper_tables.marks(made, 1) == [["plain"], ["plain"], ["plain"], ["best"]]
    text = paper_tables.markdown([made], 1)
    assert "| m0 | 90.0 |" in text and "| m1 | – |" in text and "| m3 | **50.0** |" in text


def test_a_cell_has_mean_deviation_and_interval() -> None:
    made = table([[Value(0.9, 0.01, 0.85, 0.95)], [Value(0.8)]], (True,))
    assert "| m0 | **90.0** ± 1.0 [85.0, 95.0] |" in paper_tables.markdown([made], 1)
    latex = paper_tables.latex([made], 1)
    assert r"m0 & \textbf{90.0} $\pm$ 1.0 [85.0, 95.0] \\" in latex
    assert r"m1 & \underline{80.0} \\" in latex
    assert r"\item A note." in latex


def test_every_sign_that_latex_reads_is_escaped() -> None:
    text = paper_tables.escaped(EVIL)
    bare = re.sub(r"\\(textbackslash|textasciitilde|textasciicircum)\{\}", "", text)
    assert not re.search(r"(?<!\\)[&%$#_{}~^]", bare)
    assert "\\input" not in text


def test_latex_sets_the_table_where_it_is_installed(tmp_path: Path) -> None:
    program = shutil.which("pdflatex")
    if program is None:
        pytest.skip("no pdflatex here")
    asked = ["kpsewhich", "booktabs.sty", "threeparttable.sty"]
    found = subprocess.run(asked, capture_output=True, text=True, check=False)
    if len(found.stdout.split()) < 2:
        pytest.skip("pdflatex without booktabs or threeparttable")
    made = PaperTable("t", EVIL, (EVIL,), (True,), ((EVIL, (Value(0.5, 0.1),)),), (EVIL,))
    head = r"\documentclass{article}\usepackage{booktabs,threeparttable}\begin{document}"
    text = "\n".join([head, paper_tables.latex([made], 1), r"\end{document}"])
    (tmp_path / "t.tex").write_text(text, encoding="utf-8")
    call = [program, "-interaction=nonstopmode", "-halt-on-error", "t.tex"]
    done = subprocess.run(call, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:]
