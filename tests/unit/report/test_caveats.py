"""What a table says of numbers that are not defined, rest on few nodes, or on one seed."""

from __future__ import annotations

from dataclasses import replace

import msgspec
import pytest

from taamctl.evaluation.node_sampling import ThinClass
from taamctl.report import caveats, figure_data, mixed_rows, render, report_rows
from taamctl.report.lens_table import LensRow
from taamctl.report.report_rows import RunRow, SeedsRow


def run(seed: int, aa: float, alone: tuple[int, ...] = ()) -> RunRow:
    made = {
        **{key: key for key in ("dataset", "method", "title", "split", "scope", "task_id")},
        **{"profile": "", "part": "test", "averaging": "balanced", "unit": "graph"},
        **{"protocol": "grouped", "task_id_kind": "inferred", "settings": {"train": {}}},
        **{"seed": seed, "aa": aa, "aa_low": aa - 0.03, "aa_high": aa + 0.01, "af": 0.0},
        **{"bwt": 0.0, "legacy_af": None, "aa_curve": [aa], "matrix": [[aa]]},
        "aa_by_scope": dict.fromkeys(("all_seen", "up_to_task", "task_only"), aa),
        **{"af_by_scope": {}, "task_id_accuracy": 1.0, "task_id_grid": {}, "flags": []},
        **{"one_class_tasks": list(alone), "aa_defined": not alone},
        "parameters": {"extra_paper": 1, "extra_full": 2},
        "sha256": str(seed) * 64,
    }
    return msgspec.convert(made, RunRow)


def seeds(*runs: RunRow) -> SeedsRow:
    (row,) = report_rows.over_seeds(runs)
    return row


def lens(aa: float, seeds: list[int], **changes: object) -> LensRow:
    made = {
        **{key: key for key in ("dataset", "method", "title", "scope")},
        **{"profile": "", "memory_words": 1, "averaging": "balanced", "protocol": "mixed"},
        **{"part": "test", "router": "amp", "mode": "hard", "unit": "node", "size": 0},
        **{"settings": "a", "seeds": seeds, "aa": aa, "aa_std": 0.0, "aa_micro": aa},
        **{"aa_micro_std": 0.0, "task_id_accuracy": 0.5, "task_id_accuracy_std": 0.0},
        **changes,
    }
    return msgspec.convert(made, LensRow)


def test_the_interval_of_the_test_set_stands_beside_the_deviation_over_seeds() -> None:
    row = seeds(run(1, 0.9), run(2, 0.8))
    assert render.cells(row, 1)[2] == "85.0 ± 5.0 (82.0 to 86.0)"
    assert any("(low to high): 95 % interval" in line for line in render.conditions([row]))


def test_an_evaluation_from_before_intervals_has_none() -> None:
    row = seeds(replace(run(1, 0.9), aa_low=None, aa_high=None))
    assert render.cells(row, 1)[2] == "90.0"
    assert not any("interval" in line for line in render.conditions([row]))


def test_one_seed_is_said_to_say_nothing_of_others() -> None:
    one, two = seeds(run(1, 0.9)), seeds(run(1, 0.9), run(2, 0.9))
    assert any("One seed says nothing" in line for line in render.conditions([one]))
    assert not any("One seed says nothing" in line for line in render.conditions([two]))


def test_thin_classes_are_named_once_for_all_methods() -> None:
    thin = [ThinClass(name="owl", nodes=1, points=12.5)]
    rows = [replace(seeds(run(1, 0.9)), thin_classes=thin, method=name) for name in "ab"]
    (line,) = [line for line in render.conditions(rows) if "owl" in line]
    assert "'owl' (1, 12.5 points each)" in line


def test_an_undefined_aa_is_marked_everywhere_and_has_no_interval() -> None:
    row = seeds(run(1, 1.0, alone=(0, 1)))
    assert row.aa_defined is False
    cells = render.cells(row, 1)
    assert cells[2:4] == ("100.0*", "0.0*")
    said = "\n".join(render.conditions([row]))
    assert "*: not a meaningful AA: dataset has test graphs of one class (task 1, 2)" in said
    assert "taamctl eval --lens --dataset dataset --method method --seed 1" in said
    assert "interval" not in said
    assert figure_data.labels([row]) == ["title*"]
    evidence = figure_data.Evidence([row], {}, {})
    assert "not a meaningful AA" in figure_data.caption("accuracy-curve", evidence)


def test_the_mixed_aa_stands_in_its_place() -> None:
    row = seeds(run(1, 1.0, alone=(0,)), run(2, 1.0, alone=(0,)))
    other = [
        lens(0.1, [1, 2], protocol="grouped"),
        lens(0.2, [1, 2], unit="graph"),
        lens(0.3, [1, 2], part="val"),
        lens(0.4, [1, 2], mode="soft"),
        lens(0.5, [1]),
        lens(0.55, [1, 2], method="another"),
    ]
    assert mixed_rows.with_mixed([row], other) == [row]
    found = [*other, lens(0.6, [1, 2]), lens(0.7, [1, 2], router="ridge")]
    (made,) = mixed_rows.with_mixed([row], found)
    assert render.cells(made, 1)[2] == "60.0 ± 0.0†"
    said = "\n".join(render.conditions([made]))
    assert "one graph that holds all tasks' nodes (a task ID per node by amp); 100.0 ± 0.0" in said
    assert "eval --lens" not in said
    twice = [*found, lens(0.6, [1, 2], settings="b")]
    assert mixed_rows.with_mixed([row], twice) == [row], "two settings, and no telling which"


def test_a_defined_aa_is_left_alone() -> None:
    row = seeds(run(1, 0.9))
    assert mixed_rows.with_mixed([row], [lens(0.6, [1])]) == [row]
    assert caveats.mark(row) == ""


@pytest.mark.parametrize(("router", "words"), [("none", "no task ID"), ("given", "tasks given")])
def test_a_method_without_inference_says_so(router: str, words: str) -> None:
    row = seeds(run(1, 1.0, alone=(0,)))
    (made,) = mixed_rows.with_mixed([row], [lens(0.6, [1], router=router)])
    assert made.mixed_by == words
