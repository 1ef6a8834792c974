"""What a report says first holds for its rows: what is best, what forgets, what is uncertain."""

from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from taamctl.report import (
    details,
    figure_axes,
    findings,
    leading,
    published,
    render,
    report_rows,
    same_scope,
)
from taamctl.report.leading import Leading
from taamctl.report.lens_table import LensRow
from taamctl.report.report_rows import SeedsRow, row_of


def rows(made_up: ModuleType, scope: str = "", **right: float) -> list[SeedsRow]:
    """Return rows of made-up evaluations, one per method."""
    study = made_up.Study(right=right)
    made = [made_up.evaluation(study, "shop", m, seed) for m in right for seed in (1, 2)]
    runs = [row_of(each, f"{each.method} {each.seed}", scope=scope) for each in made]
    return report_rows.over_seeds(runs)


def cell(**changed: Any) -> LensRow:
    made: dict[str, Any] = {
        **{"dataset": "shop", "method": "a", "title": "A", "profile": "", "scope": "task_only"},
        **{"memory_words": 1, "averaging": "balanced", "protocol": "mixed", "part": "test"},
        **{"router": "amp", "mode": "hard", "unit": "node", "size": 0, "settings": "s"},
        **{"seeds": [1], "aa": 0.5, "aa_std": 0.0, "aa_micro": 0.5, "aa_micro_std": 0.0},
        **{"task_id_accuracy": 0.5, "task_id_accuracy_std": 0.0},
        **{"aa_low": 0.45, "aa_high": 0.55},
    }
    return LensRow(**{**made, **changed})


def both(test: float, val: float, **changed: Any) -> list[LensRow]:
    return [cell(aa=test, **changed), cell(aa=val, part="val", **changed)]


def test_the_routing_is_chosen_on_validation_nodes_and_the_test_nodes_choose_nothing() -> None:
    units = [*both(0.9, 0.6, router="amp"), *both(0.7, 0.8, router="ridge", mode="soft")]
    (found,) = leading.of(units)
    assert (found.by, found.aa) == ("ridge, soft", 0.7)
    grouped = [replace(unit, protocol="grouped", aa=0.99) for unit in units]
    assert leading.of([*units, *grouped]) == [found]
    assert leading.of([replace(unit, unit="batch") for unit in units]) == []


def test_a_method_that_is_told_the_tasks_is_last_and_never_recommended() -> None:
    units = [*both(0.7, 0.7, method="a"), *both(1.0, 1.0, method="oracle", router="given")]
    found = leading.of([*units, *both(0.8, 0.8, method="b", router="none")])
    assert [(each.method, each.told) for each in found] == [
        ("b", False),
        ("a", False),
        ("oracle", True),
    ]
    first, *_ = findings.of([], found, "shop")
    assert first.startswith("Use b: 80 of 100 nodes right when nobody tells the task; a 70. ")
    assert "oracle" not in first


def mixed(name: str, aa: float, low: float) -> Leading:
    made = {"dataset": "shop", "title": name, "profile": "", "by": "amp", "std": None}
    more = {"high": 1.0, "seeds": [1], "settings": "s", "told": False, "sha256": ["x"]}
    return Leading(method=name, aa=aa, low=low, **made, **more)  # type: ignore[arg-type]


@pytest.mark.parametrize(("second", "unsure"), [(0.91, True), (0.8, False)])
def test_uncertain_is_said_where_the_second_lies_in_the_interval_of_the_first(
    second: float, unsure: bool
) -> None:
    found = findings.of_mixed([mixed("a", 0.95, 0.9), mixed("b", second, 0.5)])
    assert any("Uncertain: b lies within" in line for line in found) == unsure


def test_the_best_of_a_table_and_what_forgets_are_those_of_the_rows(made_up: ModuleType) -> None:
    rng = np.random.default_rng(1)
    for _ in range(3):
        shares = rng.permutation([0.95, 0.7, 0.45])
        found = rows(made_up, "all_seen", **dict(zip("abc", shares, strict=True)))
        best = max(found, key=lambda row: row.aa or 0)
        (first, *_) = findings.of_grouped(found)
        assert f"among all classes seen, {best.name} is best: {100 * (best.aa or 0):.1f} %" in first
        most = max(found, key=lambda row: row.af or 0)
        (lost,) = findings.of_forgetting(found)
        assert re.search(rf"all classes seen: {most.name} {100 * (most.af or 0):.1f}", lost)
    kept = [replace(row, af=0.0) for row in found]
    assert findings.of_forgetting(kept) == ["Nothing is forgotten (a, b and c): AF below 0.5."]
    assert findings.of_forgetting([replace(row, af=None) for row in found]) == []
    (alone,) = findings.of_seeds([replace(found[0], seeds=[1]), found[1]])
    assert f"Uncertain: {found[0].name} ran with one seed." in alone


def test_rows_of_several_scopes_are_shown_in_one(made_up: ModuleType) -> None:
    own = rows(made_up, a=0.9, b=0.8, c=0.7)
    assert {row.scope for row in own} == {"all_seen", "up_to_task", "task_only"}
    shown = rows(made_up, same_scope.EVERY, a=0.9, b=0.8, c=0.7)
    assert {row.scope for row in shown} == {"all_seen"}
    for before, after in zip(own, shown, strict=True):
        assert after.aa == before.aa_all_seen
        assert getattr(after, after.own_aa) == before.aa
    columns, lines = render.table(shown, 1)
    assert columns[-1] == render.OWN_SCOPE
    assert [line[-1].split()[-1] for line in lines] == [row.own_scope for row in shown]
    # one method is judged as several are, and what it gets in its own scope stands beside
    lines = findings.of(shown, [], shown[0].dataset)
    assert "(grouped)" in lines[0] and findings.NOT_MIXED in lines
    assert findings.NOT_MIXED not in findings.of(shown, [mixed("a", 0.9, 0.8)], "shop")
    alone = [replace(shown[1], aa_up_to_task=0.987)]
    assert alone[0].own_scope == "up_to_task"
    columns, lines = render.table(alone, 1)
    assert columns[-1] == render.OWN_SCOPE
    assert lines[0][columns.index("scope")] == "all_seen"
    assert "of one method as of many" in " ".join(render.conditions(alone))
    first, own_words = findings.of_grouped(alone)
    assert "judged among all classes seen" in first
    own_aa = getattr(alone[0], alone[0].own_aa)
    assert f"{alone[0].name} {100 * own_aa:.1f} % among the classes up to" in own_words
    assert findings.of_grouped([replace(alone[0], own_scope="all_seen")]) == [first]


def known(made_up: ModuleType) -> details.Known:
    study = made_up.Study(right={"a": 0.8}, names=("first",))
    made = [made_up.evaluation(study, "shop", "a", seed) for seed in (1, 2)]
    by_sha256 = {str(each.seed): each for each in made}
    runs = [row_of(each, sha) for sha, each in by_sha256.items()]
    recall = [0.5] * 6
    best = replace(mixed("a", 0.9, 0.8), class_recall=recall, confused=[[0, 1, 7]])
    return details.Known(report_rows.over_seeds(runs), by_sha256, [best])


def test_classes_have_names_counts_and_the_mean_recall_over_seeds(made_up: ModuleType) -> None:
    found = known(made_up)
    table = details.classes(found, 1)
    assert table is not None
    assert table.columns == ("task", "class", "test nodes", "a, grouped", "a, mixed")
    recalls = [made.parts["test"].class_recall["all_seen"] for made in found.by_sha256.values()]
    for c, line in enumerate(table.lines):
        mean = 100 * sum(recall[c] or 0 for recall in recalls) / 2
        name = ["first", *(f"class {i}" for i in range(1, 6))][c]
        assert line == (str(c // 2 + 1), name, "40", f"{mean:.1f}", "50.0")


def test_rows_whose_classes_arrive_in_another_order_are_not_mixed_in(made_up: ModuleType) -> None:
    found = known(made_up)
    other = replace(found.by_sha256["2"], classes=["x", *found.by_sha256["2"].classes[1:]])
    by_sha256 = {**found.by_sha256, "3": other}
    rows = [found.rows[0], replace(found.rows[0], method="b", sha256=["3"], seeds=[2])]
    kept = details.of_one_stream(rows, by_sha256, found.leading)
    assert (list(kept.rows), kept.leading) == ([found.rows[0]], [])
    same = details.of_one_stream(rows[:1], by_sha256, found.leading)
    assert same.leading == found.leading


def test_confusions_routing_and_data_are_those_of_the_evaluations(made_up: ModuleType) -> None:
    found = known(made_up)
    pairs = details.confused(found).lines
    whole: dict[tuple[int, int], int] = {}
    for made in found.by_sha256.values():
        for a, b, n in made.parts["test"].confused["all_seen"]:
            whole[a, b] = whole.get((a, b), 0) + n
    grouped = [line for line in pairs if line[1] == "grouped"]
    assert [int(line[4]) for line in grouped] == sorted(whole.values(), reverse=True)[:5]
    assert pairs[-1] == ("a", "mixed", "first", "class 1", "7", "40", "17.5")
    tasks = details.tasks_confused(found).lines
    assert all(line[1] != line[2] for line in tasks)
    routing = details.similarities(found).lines
    assert [line[1:3] for line in routing] == [("1", "1"), ("2", "2"), ("3", "3")]
    for line in routing:
        assert float(line[6]) == pytest.approx(float(line[3]) - float(line[5]), abs=2e-4)
    data = details.data(found)
    assert data is not None
    assert ("of these lost between tasks or parts", "900", "", "50.0") in data.lines


@pytest.mark.parametrize("seed", range(20))
def test_an_axis_begins_where_the_data_are(seed: int) -> None:
    from matplotlib.figure import Figure

    rng = np.random.default_rng(seed)
    middle, width = rng.random(), 10 ** rng.uniform(-3, 0)
    values = np.clip(middle + width * (rng.random(5) - 0.5), 0, 1).tolist()
    axes = Figure().subplots()
    figure_axes.near(axes.xaxis, values)
    low, high = axes.get_xlim()
    spread = 100 * (max(values) - min(values))
    assert all(low <= 100 * v <= high for v in values)
    assert high - low < max(2.5 * spread, 4.0) + 2
    assert 3 <= len(axes.get_xticks()) <= 9


def test_readings_name_entries_and_methods_that_there_are() -> None:
    from taamctl.core import registry

    known = published._discrepancies()["readings"]
    assert set(known) <= {"every", "routed", *registry.builtin("taamctl.methods")}
    assert {number for numbers in known.values() for number in numbers} <= set(published.register())
    assert 38 in published.readings(["ssm"], routed=False)
    assert 38 not in published.readings(["taam"], routed=True)
    assert published.readings(["analytic", "linear_probe"], routed=True) == {}


def test_a_report_of_twelve_methods_on_three_data_sets_is_small(
    tmp_path: Path, made_up: ModuleType
) -> None:
    right = {f"method{i}": 0.95 - 0.05 * i for i in range(12)}
    study = made_up.Study(("one", "two", "three"), right, (1, 2, 3), tasks=5)
    made_up.write(tmp_path, study)
    page = made_up.report(tmp_path, pictures=False)
    assert page.stat().st_size < 700_000  # with pictures 2.4 million
    text = page.read_text(encoding="utf-8")
    for path in (tmp_path / "eval").rglob("eval.json"):
        assert report_rows.provenance.sha256(path)[:12] in text
