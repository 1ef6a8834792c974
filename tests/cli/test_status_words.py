"""What `taamctl status` says in words, and what it says lies beside what it shows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taamctl.cli import also_there, reason_words
from taamctl.params.run_params import RunParams
from taamctl.pipeline import remains


@pytest.mark.parametrize(
    ("reasons", "words"),
    [
        (["seconds [1.0] -> [2.0]"], ["the running times are others"]),
        (["made [{'machine': 'x'}] -> []"], ["the runs, or when they were made, are others"]),
        (["report.decimals 1 -> 2"], ["report.decimals 1 -> 2"]),
        (["a/eval.json is another file"], ["a/eval.json is another file"]),
        (
            ["x 1 -> 2", *(f"{name}/eval.json is another file" for name in "abc")],
            ["3 files are others, such as a/eval.json", "x 1 -> 2"],
        ),
        (["code of taamctl.core.csr"], ["code of taamctl.core.csr"]),
        (
            ["code of taamctl.core.csr, taamctl.core.rows and 4 more"],
            ["code of taamctl.core.csr and of other modules"],
        ),
        ([f"wide {[1] * 90} -> []"], ["wide is another"]),
        (["a" * 95], ["a" * 90 + "..."]),
    ],
)
def test_a_reason_in_words(reasons: list[str], words: list[str]) -> None:
    assert reason_words.told("report", reasons) == words


def test_only_a_report_has_running_times_among_its_reasons() -> None:
    assert reason_words.told("train", ["seconds 1 -> 2"]) == ["seconds 1 -> 2"]


class Asked:
    """The parts of a context that matter here."""

    layout = type("Layout", (), {"root": Path("outputs")})
    params = type(
        "Params",
        (),
        {"section": lambda self, of: RunParams(("photo",), ("taam",), (1,))},
    )()


@pytest.mark.parametrize(
    ("there", "said"),
    [
        ([("photo", ["taam"], [1])], []),
        ([("photo", [], [])], []),
        ([("photo", ["analytic", "taam"], [1])], ["  photo: analytic (seeds 1)"]),
        ([("photo", ["taam"], [1, 2])], ["  photo: taam (seeds 1, 2)"]),
        ([("shop", ["taam"], [1])], ["  shop: taam (seeds 1)"]),
        ([("shop", [], [])], ["  shop: no method yet"]),
        (
            [(f"d{at}", ["taam"], [1]) for at in range(7)],
            [*(f"  d{at}: taam (seeds 1)" for at in range(5)), "  and 2 more data sets"],
        ),
    ],
)
def test_what_else_lies_there(
    there: list[Any], said: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(remains, "held", lambda root: there)
    context: Any = Asked()
    lines = also_there.lines(context)
    assert lines[1:-1] == said
    assert bool(lines) == bool(said)
