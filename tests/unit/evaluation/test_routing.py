"""What validation says of task-ID inference, by hand."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from taamctl.evaluation import routing, summary
from taamctl.evaluation.routing import Evidence

GRID = {"amp/cosine": 1.0, "amp/euclid": 1.0, "ls/cosine": 0.5, "ls/euclid": None}


def test_nearness_is_the_smallest_share_by_which_the_nearest_is_nearer() -> None:
    cosine = np.array([[0.9, 0.8, 0.0], [0.5, 0.6, 0.2], [0.0, 0.0, 1.0]])
    assert routing.nearness(cosine, "cosine") == pytest.approx((0.5 - 0.4) / 0.5)
    assert routing.nearness(np.array([[-1.0, -4.0], [-3.0, -2.0]]), "euclid") == pytest.approx(
        1 / 3
    )


def test_nearness_of_nothing_to_compare() -> None:
    assert np.isnan(routing.nearness(np.array([[1.0]]), "cosine"))
    assert np.isnan(routing.nearness(np.full((2, 2), np.nan), "cosine"))
    one = np.array([[0.9, 0.5], [np.nan, np.nan]])
    assert routing.nearness(one, "cosine") == pytest.approx(0.8), (
        "a task without a query graph is left out"
    )
    assert routing.nearness(np.ones((2, 2)), "cosine") == 0, "equal prototypes"


def test_wrong_ids_name_what_is_right() -> None:
    (line,) = routing.doubts(Evidence("amp/cosine", 0.5, 0.9, {**GRID, "amp/cosine": 0.5}))
    assert "by amp/cosine are right on 50 % of the validation graphs" in line and line.endswith(
        "right on all of them: amp/euclid"
    )
    (none,) = routing.doubts(
        Evidence("amp/cosine", 0.5, 0.9, {"amp/cosine": 0.5, "amp/euclid": 0.75, "ls/cosine": None})
    )
    assert none.endswith("none is right on all; most often right is amp/euclid (75 %)")
    (same,) = routing.doubts(
        Evidence("amp/cosine", 0.5, 0.9, {"amp/cosine": 0.5, "amp/euclid": 0.5})
    )
    assert same.endswith("no other does better")
    (unlisted,) = routing.doubts(Evidence("mean/cosine", 0.5, 0.9))
    assert unlisted.endswith("no other does better")


def test_a_narrow_margin_is_told_with_the_margin() -> None:
    (line,) = routing.doubts(Evidence("amp/cosine", 1.0, 0.07, GRID))
    assert "7 % nearer than the second (safe from 20 %)" in line and line.endswith(
        "also right there: amp/euclid"
    )
    assert routing.doubts(Evidence("amp/cosine", 1.0, routing.MARGIN, GRID)) == []


@pytest.mark.parametrize(
    ("accuracy", "nearest"), [(1.0, 0.5), (1.0, None), (None, None), (1.0, float("nan"))]
)
def test_nothing_is_said_where_nothing_speaks_against_it(
    accuracy: float | None, nearest: float | None
) -> None:
    assert routing.doubts(Evidence("amp/cosine", accuracy, nearest, GRID)) == []


def test_settings_choose_a_profile_and_a_metric() -> None:
    assert routing.settings("ls/euclid") == ("infer.profile=ls", "infer.metric=euclid")


def test_one_class_tasks_count_classes_with_a_test_node() -> None:
    bounds = np.array([[0, 2], [2, 3], [3, 5], [5, 7]])
    y = np.array(
        [0, 1, 2, 2, 3, 3]
    )  # task 1 has one class; task 2 lacks class 4; task 3 has no test node
    assert summary.one_class_tasks(y, bounds) == [1, 2]


SURE = {"amp/cosine": 0.7, "amp/euclid": 0.97, "amp/centred": 1.0, "gaussian": 0.94, "ridge": None}


def test_halves_decide_where_they_are_known_and_name_what_is_safe() -> None:
    unsafe = Evidence("amp/cosine", 1.0, 0.9, GRID, (1.0, 0.7, None), SURE)
    (line,) = routing.doubts(unsafe)
    assert (
        "70 % of the halves of task 2's validation nodes are routed right (safe from 85 %)" in line
    )
    assert line.endswith(
        "safe there: amp/centred (100 % of the halves), amp/euclid (97 % of the halves), "
        "gaussian (94 % of the halves)"
    )
    assert routing.instead(unsafe) == ("infer.profile=amp", "infer.metric=centred")
    safe = Evidence("amp/cosine", 1.0, 0.01, GRID, (1.0, 0.9), {**SURE, "amp/cosine": 0.9})
    assert routing.doubts(safe) == [], "a narrow margin is no doubt where halves are routed right"
    assert routing.instead(safe) == ()


def test_a_routing_that_validation_chose_has_to_be_surer() -> None:
    fixed = Evidence("amp/euclid", 1.0, 0.9, GRID, (0.87, 1.0), {"amp/euclid": 0.87})
    assert routing.doubts(fixed) == []
    unsafe = replace(fixed, halves=(0.8, 1.0), surest={"amp/euclid": 0.8, "ls/cosine": 1.0})
    assert routing.instead(unsafe) == ("infer.router=auto",), "LS is right by luck too often"
    (line,) = routing.doubts(replace(fixed, chosen=True))
    assert "87 % of the halves of task 1's" in line and "(safe from 90 %)" in line
    assert line.endswith("no other is safe there")
    assert routing.instead(replace(fixed, chosen=True)) == ()


def test_a_router_that_learns_from_sums_is_named_by_its_own_setting() -> None:
    wrong = Evidence("amp/cosine", 0.5, halves=(0.0, 1.0), surest={"ridge": 1.0, "amp/cosine": 0.0})
    assert routing.instead(wrong) == ("infer.router=ridge",)
    assert np.isnan(routing.nearness(np.array([[-0.1, -2.0], [-3.0, -0.2]]), "ridge"))
    centred = np.array([[0.6, 0.2], [0.1, 0.5]])
    assert routing.nearness(centred, "centred") == pytest.approx((0.8 - 0.4) / 0.8 - 1 / 18)
