from __future__ import annotations

import csv
import dataclasses
import io
import math
import re
import xml.etree.ElementTree as ET
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
import pytest

from taamctl.report import figure_axes, figure_data, figures, method_looks
from taamctl.report.figure_data import Evidence
from taamctl.report.report_rows import RunRow, over_seeds

SCOPES = ("all_seen", "up_to_task", "task_only")


def _run(method: str, seed: int, matrix: list[list[float | None]], **changed: Any) -> RunRow:
    curve = [
        None if row[0] is None else sum(v for v in row if v is not None) / (t + 1)
        for t, row in enumerate(matrix)
    ]
    made = {
        "dataset": "d",
        "method": method,
        "title": method.upper(),
        "profile": "",
        "seed": seed,
        "part": "test",
        "scope": "all_seen",
        "averaging": "balanced",
        "unit": "graph",
        "protocol": "grouped",
        "split": "60/20/20 per class",
        "aa": curve[-1],
        "af": 0.1,
        "bwt": -0.1,
        "legacy_af": 0.1,
        "aa_curve": curve,
        "matrix": matrix,
        "aa_by_scope": dict.fromkeys(SCOPES, curve[-1]),
        "af_by_scope": dict.fromkeys(SCOPES, 0.1),
        "task_id_kind": "inferred",
        "task_id_accuracy": 1.0,
        "task_id": "amp/cosine",
        "parameters": {"extra_paper": 300, "extra_full": 330},
        "flags": [],
        "settings": {"train": {}},
        "task_id_grid": {},
        "sha256": f"{method} {seed}",
        **changed,
    }
    return msgspec.convert(made, RunRow)


def _evidence(runs: list[RunRow], seconds: dict[str, float] | None = None) -> Evidence:
    return Evidence(over_seeds(runs), {r.sha256: r for r in runs}, seconds or {})


@pytest.fixture
def evidence() -> Evidence:
    runs = [
        _run("a", 1, [[1 / 3, None, None], [0.5, 0.7, None], [0.25, 0.5, 1.0]]),
        _run("a", 2, [[0.9, None, None], [0.5, 0.7, None], [0.75, 0.5, 0.9]]),
        _run(
            "b",
            1,
            [[None] * 3, [None] * 3, [0.8, 0.6, 0.7]],
            task_id="ls/euclid",
            task_id_accuracy=0.25,
            scope="task_only",
            parameters={"extra_paper": 0, "extra_full": 90},
        ),
    ]
    return _evidence(runs, {"a 1": 2.0, "a 2": 4.0})


def _read(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def _numbers(kind: str, evidence: Evidence) -> list[dict[str, str]]:
    return _read(figures.draw(kind, evidence).csv)


def test_the_matrix_file_holds_every_value_unrounded(evidence: Evidence) -> None:
    lines = [r for r in _numbers("accuracy-matrix", evidence) if r["method"] == "a"]
    assert [(r["stage"], r["task"]) for r in lines] == [
        ("1", "1"),
        ("2", "1"),
        ("2", "2"),
        ("3", "1"),
        ("3", "2"),
        ("3", "3"),
    ]
    assert float(lines[0]["accuracy"]) == float(np.mean([1 / 3, 0.9]))
    assert [r["accuracy"] for r in _numbers("accuracy-matrix", evidence) if r["method"] == "b"][
        :3
    ] == ["", "", ""]


def test_the_curve_file_holds_mean_and_deviation_over_seeds(evidence: Evidence) -> None:
    first, second, third, *other = _numbers("accuracy-curve", evidence)
    assert float(first["aa"]) == float(np.mean([1 / 3, 0.9]))
    assert float(first["aa_std"]) == float(np.std([1 / 3, 0.9]))
    assert (float(second["aa"]), float(second["aa_std"])) == (pytest.approx(0.6), 0.0)
    assert float(third["aa"]) == pytest.approx(np.mean([1.75 / 3, 2.15 / 3]))
    assert [r["aa"] for r in other[:2]] == ["", ""]
    assert float(other[2]["aa"]) == pytest.approx(0.7)


def test_the_first_task_file_holds_both_ends_of_the_last_row(evidence: Evidence) -> None:
    a, b = _numbers("first-task", evidence)
    assert [
        float(a[k]) for k in ("last_task", "last_task_std", "first_task", "first_task_std")
    ] == pytest.approx([0.95, 0.05, 0.5, 0.25])
    assert [float(b[k]) for k in ("last_task", "first_task")] == [0.7, 0.8]


def test_the_task_id_file_has_all_four_cells_and_says_which_were_not_run(
    evidence: Evidence,
) -> None:
    cells = {(r["profile"], r["metric"]): r for r in _numbers("task-id", evidence)}
    assert set(cells) == {("amp", "cosine"), ("amp", "euclid"), ("ls", "cosine"), ("ls", "euclid")}
    assert (
        cells["amp", "cosine"]["task_id_accuracy"],
        cells["ls", "euclid"]["task_id_accuracy"],
    ) == ("1.0", "0.25")
    assert cells["amp", "euclid"]["rows"] == "0"
    assert cells["amp", "euclid"]["task_id_accuracy"] == ""


def test_a_cell_without_a_row_shows_what_the_profiles_alone_give() -> None:
    grid = {"amp/cosine": 1.0, "amp/euclid": 0.75, "ls/cosine": 1.0, "ls/euclid": 0.25}
    cells = {
        (r["profile"], r["metric"]): r
        for r in _numbers("task-id", _evidence([_run("a", 1, [[0.5]], task_id_grid=grid)]))
    }
    assert {k: float(v["task_id_accuracy"]) for k, v in cells.items()} == {
        tuple(k.split("/")): v for k, v in grid.items()
    }
    assert [cells[k]["rows"] for k in (("amp", "cosine"), ("ls", "euclid"))] == ["1", "0"]


def test_rows_of_one_cell_give_mean_and_range_and_a_third_profile_is_added() -> None:
    one = [[0.5]]
    cells = {
        (r["profile"], r["metric"]): r
        for r in _numbers(
            "task-id",
            _evidence(
                [
                    _run("a", 1, one),
                    _run("b", 1, one, task_id_accuracy=0.5),
                    _run("c", 1, one, task_id="mean/cosine"),
                    _run("e", 1, one, task_id="given", task_id_kind="given", task_id_accuracy=None),
                ]
            ),
        )
    }
    both = cells["amp", "cosine"]
    assert [float(both[k]) for k in ("rows", "task_id_accuracy", "lowest", "highest")] == [
        2,
        0.75,
        0.5,
        1.0,
    ]
    assert both["labels"] == "A; B"
    assert len(cells) == 6
    assert cells["mean", "cosine"]["rows"] == "1"


def test_the_time_file_holds_seconds_where_every_seed_has_them(evidence: Evidence) -> None:
    a, b = _numbers("accuracy-time", evidence)
    assert [float(a[k]) for k in ("train_seconds", "train_seconds_std")] == [3.0, 1.0]
    assert b["train_seconds"] == ""
    assert "sidecars" in figures.draw("accuracy-time", evidence).caption


def test_the_memory_file_holds_both_counts(evidence: Evidence) -> None:
    assert [(r["extra_paper"], r["extra_full"]) for r in _numbers("accuracy-memory", evidence)] == [
        ("300", "330"),
        ("0", "90"),
    ]


def test_words_per_task_are_an_even_share_and_only_the_last_is_counted(evidence: Evidence) -> None:
    lines = [r for r in _numbers("parameters", evidence) if r["method"] == "a"]
    assert [(float(r["extra_paper"]), float(r["extra_full"]), r["counted"]) for r in lines] == [
        (100.0, 110.0, "no"),
        (200.0, 220.0, "no"),
        (300.0, 330.0, "yes"),
    ]
    assert (
        "an even share of that total per task is assumed"
        in figures.draw("parameters", evidence).caption
    )


@pytest.mark.parametrize("kind", figure_data.KINDS)
def test_every_figure_repeats_byte_for_byte_whatever_the_settings_around_it(
    kind: str, evidence: Evidence
) -> None:
    import matplotlib

    made = figures.draw(kind, evidence)
    with matplotlib.rc_context(
        {"font.size": 20, "axes.facecolor": "red", "text.parse_math": True, "svg.fonttype": "none"}
    ):
        again = figures.draw(kind, evidence)
    assert (made.png, made.svg, made.csv, made.caption) == (
        again.png,
        again.svg,
        again.csv,
        again.caption,
    )
    assert set(made.files()) == {f"{kind}-d.{s}" for s in ("png", "svg", "csv")}
    assert b"dc:date" not in made.svg
    ET.fromstring(made.svg)


@pytest.mark.parametrize("kind", figure_data.KINDS)
def test_the_protocol_is_in_the_caption_and_in_the_picture(
    kind: str, evidence: Evidence, monkeypatch: pytest.MonkeyPatch
) -> None:
    from matplotlib.figure import Figure

    written: list[str] = []
    original: Callable[..., Any] = Figure.supxlabel
    monkeypatch.setattr(
        Figure,
        "supxlabel",
        lambda self, text, **kw: (written.append(text), original(self, text, **kw))[1],
    )
    made = figures.draw(kind, evidence)
    (inside,) = (" ".join(text.split()) for text in written)
    assert made.caption.endswith(inside)
    for words in (
        "balanced accuracy",
        "grouped protocol",
        "per graph",
        "test part",
        "60/20/20",
        "all_seen/task_only",
        "seeds 1; 1,2",
    ):
        assert words in made.caption, words
        assert words in inside, words


NAMES = (
    "<script>alert(1)</script>",
    "$\\frac{1}{0}$",
    "_hidden",
    "two\nlines\x00",
    "x" * 300,
    "%s {} &amp;",
)


@pytest.mark.parametrize("kind", figure_data.KINDS)
@pytest.mark.filterwarnings("error")
def test_names_of_any_shape_are_drawn_as_they_are(kind: str) -> None:
    runs = [_run(f"m{i}", 1, [[0.5, None], [0.5, 0.5]], title=name) for i, name in enumerate(NAMES)]
    made = figures.draw(kind, _evidence(runs, {r.sha256: 0.0 for r in runs}))
    assert b"<script" not in made.svg
    ET.fromstring(made.svg)


@pytest.mark.parametrize("kind", figure_data.KINDS)
@pytest.mark.parametrize(("methods", "tasks"), [(1, 1), (25, 2), (2, 26)])
@pytest.mark.filterwarnings("error")
def test_few_and_many_are_drawn_without_a_complaint(kind: str, methods: int, tasks: int) -> None:
    matrix = [[0.9 if j <= t else None for j in range(tasks)] for t in range(tasks)]
    runs = [
        _run(f"m{i}", 1, matrix, parameters={"extra_paper": 10**i % 10**9, "extra_full": 0})
        for i in range(methods)
    ]
    made = figures.draw(
        kind, _evidence(runs, {r.sha256: 10.0 ** (i % 6 - 2) for i, r in enumerate(runs)})
    )
    width, height = (int.from_bytes(made.png[at : at + 4], "big") for at in (16, 20))
    assert 300 < width < 2400
    assert 200 < height < 2400


def test_labels_tell_rows_apart() -> None:
    one = [[0.5]]
    rows = [
        _run("a", 1, one, title="T", profile="p"),
        _run("a", 1, one, title="T", profile="p", task_id="ls/euclid"),
        _run("a", 2, one, title="T", profile="p", task_id="ls/euclid"),
        _run("b", 1, one),
        _run("c", 1, one, title="B"),
    ]
    assert figure_data.labels(rows) == [
        "T (p), amp/cosine",
        "T (p), ls/euclid #1",
        "T (p), ls/euclid #2",
        "B, b",
        "B, c",
    ]
    assert figure_data.labels(rows[:1]) == ["T (p)"]
    assert figure_data.labels([rows[0], dataclasses.replace(rows[3], scope="task_only")]) == [
        "T (p), all_seen",
        "B, task_only",
    ]


def test_colours_stand_out_from_white() -> None:
    for colour in method_looks.COLOURS:
        r, g, b = (int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5))
        r, g, b = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (r, g, b))
        assert 1.05 / (0.2126 * r + 0.7152 * g + 0.0722 * b + 0.05) > 2, colour


@pytest.mark.parametrize(
    "values", [[0, 5, 1e6], [0.03, 0.04], [0, 0], [1.0], [7.0, 7.0], [1e-3, 1e9]]
)
def test_every_value_lies_inside_of_a_stretched_axis(values: list[float]) -> None:
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    figure_axes.stretch(axes.xaxis, values)
    low, high = axes.get_xlim()
    assert all(low <= v <= high for v in values) or not any(values)
    texts = [t.get_text() for t in axes.get_xticklabels()]
    assert not any(re.search(r"[$^]", t) for t in texts)
    assert all(math.isfinite(t) for t in axes.get_xticks())


def test_draw_all_goes_over_data_sets_and_kinds() -> None:
    runs = [_run("a", 1, [[0.5]], dataset=d, sha256=d) for d in ("y", "x")]
    made = figures.draw_all(over_seeds(runs), runs, {})
    assert [(p.dataset, p.kind) for p in made] == [
        (d, k) for d in ("x", "y") for k in figure_data.KINDS
    ]
    assert [name for p in made for name in p.files()] == [
        name for d in ("x", "y") for name in figure_data.files(d)
    ]
