"""Tables of the terminal: nothing is cut at any width."""

from __future__ import annotations

import io
import random
import re
from collections.abc import Callable
from typing import Any

import pytest
from rich.cells import cell_len
from rich.console import Console

from taamctl.cli import console, table_layout
from taamctl.cli.console import Column, print_table

Printed = Callable[..., list[str]]


@pytest.fixture
def printed(monkeypatch: pytest.MonkeyPatch) -> Printed:
    """Return what a table looks like on a terminal of some width."""

    def show(width: int, *table: Any, **options: Any) -> list[str]:
        file = io.StringIO()
        out = Console(file=file, force_terminal=True, width=width, highlight=False, markup=False)
        monkeypatch.setattr(console, "sheet", lambda: out)
        print_table(*table, **options)
        return re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue()).splitlines()

    return show


def text(drawn: random.Random) -> str:
    words = ["", "7", "12.5", "shop", "linear_probe", "[nnz=3]", "日本語", "precompute", "x" * 50]
    return " ".join(drawn.choice(words) for _ in range(drawn.randint(1, 6))).strip()


def without_blanks(lines: list[str]) -> str:
    return re.sub(r"\s", "", "".join(lines))


@pytest.mark.parametrize("width", [20, 40, 60, 80, 200])
def test_every_letter_is_there_and_no_line_is_too_wide(width: int, printed: Printed) -> None:
    drawn = random.Random(width)
    for _ in range(60):
        columns = [
            Column(f"name {at}", drawn.random() < 0.5, drawn.random() < 0.2, drawn.random() < 0.2)
            for at in range(drawn.randint(1, 9))
        ]
        rows = [[text(drawn) for _ in columns] for _ in range(drawn.randint(0, 4))]
        keys = drawn.randint(1, len(columns))
        lines = printed(width, columns, rows, keys=keys, notes=["a note"])
        assert max(map(cell_len, lines)) <= width
        assert "…" not in "".join(lines)
        letters = sorted("".join(cell for row in rows for cell in row).replace(" ", ""))
        left = list(without_blanks(lines))
        for letter in letters:
            left.remove(letter)


def test_what_fits_is_one_table_whose_headings_break_first(printed: Printed) -> None:
    columns = [Column("method"), Column("AA % mixed", right=True)]
    rows = [("analytic", "97.9"), ("taam", "5.0")]
    assert [line.rstrip() for line in printed(40, columns, rows)] == [
        "method    AA % mixed",
        "analytic        97.9",
        "taam             5.0",
    ]
    assert [line.rstrip() for line in printed(15, columns, rows)] == [
        "           AA %",
        "method    mixed",
        "analytic   97.9",
        "taam        5.0",
    ]


def test_numbers_that_do_not_fit_stand_in_more_tables_with_the_same_keys(
    printed: Printed,
) -> None:
    columns = [Column("method"), *(Column(f"m{at}", right=True) for at in range(4))]
    rows = [("analytic", *("100.0 (99 to 100)",) * 4)]
    lines = printed(50, columns, rows)
    assert [line.split()[:1] for line in lines if line] == [["method"], ["analytic"]] * 2
    assert [line.split()[1:] for line in lines if "method" in line] == [["m0", "m1"], ["m2", "m3"]]


def test_text_that_does_not_fit_is_named_row_by_row(printed: Printed) -> None:
    columns = [Column("stage"), Column("seed"), Column("state"), Column("why", wrap=True)]
    rows = [("train", "1", "changed", "train.epochs 2 to 3 and more"), ("split", "", "fresh", "")]
    assert printed(30, columns, rows, keys=2) == [
        "train  seed 1",
        "  state: changed",
        "  why: train.epochs 2 to 3 and",
        "  more",
        "split",
        "  state: fresh",
    ]


def test_short_values_share_a_line() -> None:
    columns = [Column("name"), Column("nodes"), Column("edges"), Column("found")]
    row = ("shop", "540", "", "data/shop.h5")
    assert table_layout.lines(columns, row, 1, 40) == ["nodes: 540; found: data/shop.h5"]
    assert table_layout.lines(columns, row, 1, 20) == ["nodes: 540", "found: data/shop.h5"]
