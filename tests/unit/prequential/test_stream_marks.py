"""What is told of a replay, on answers that can be counted by hand."""

from __future__ import annotations

import math

import numpy as np
import pytest

from taamctl.prequential.arrivals import Arrivals
from taamctl.prequential.stream_marks import Told, balanced, cohorts, forgetting, marks, share
from taamctl.report.stream_figure import draw, means


@pytest.fixture
def told() -> Told:
    """Three snapshots; class 2 is new in the second. Nodes 3, 7 and 10 are held back."""
    arrivals = Arrivals(
        snapshot=np.array([0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, -1]),
        y=np.array([0, 0, 1, 1, 0, 1, 2, 1, 2, 2, 0, 0]),
        shown=np.array([1, 1, 1, 0, 1, 1, 1, 0, 1, 1, 0, 0], bool),
        first=np.array([0, 0, 1]),
        class_names=("a", "b", "c"),
    )
    return Told(
        arrivals,
        label=np.array([-1, -1, -1, -1, 0, 0, 1, 1, 2, 1, 0, -1]),
        unknown=np.array([0, 0, 0, 0, 1, 0, 1, 0, 0, 1, 0, 0]),
        held=np.array([[1, -1, -1], [1, 1, -1], [0, 1, 0]]),
    )


def test_snapshots_are_counted(told: Told) -> None:
    found = marks(told, [1.0, 2.0, 4.0])
    first, second, third = found["snapshots"]
    assert math.isnan(first["accuracy"])
    assert first["new_classes"] == ["a", "b"]
    assert (second["nodes"], second["known_nodes"], second["unknown_nodes"]) == (4, 3, 1)
    assert second["accuracy"] == (1 + 1 / 2) / 2  # class a: 1 of 1, b: 1 of 2
    assert second["accuracy_micro"] == 2 / 3
    assert second["unknown_found"] == 1
    assert second["false_alarms"] == 1 / 3
    assert third["accuracy"] == (1 + 1 / 2) / 2
    assert math.isnan(third["unknown_found"])
    assert [s["held_nodes"] for s in found["snapshots"]] == [1, 2, 3]
    assert [s["held_accuracy_micro"] for s in found["snapshots"]] == [1, 1, 2 / 3]
    assert found["cpu_s"] == 7


def test_the_whole_stream_by_class_and_age(told: Told) -> None:
    found = marks(told, [0.0] * 3)
    assert (found["known_nodes"], found["unknown_nodes"], found["unknown_found"]) == (6, 1, 1)
    assert found["accuracy_micro"] == 4 / 6
    assert found["accuracy"] == (1 + 1 / 2 + 1 / 2) / 3
    assert found["held_accuracy"] == (1 + 1 / 2) / 2
    by_class = {c["class"]: c for c in found["classes"]}
    assert (by_class["c"]["first_snapshot"], by_class["c"]["known_nodes"]) == (2, 2)
    assert by_class["c"]["accuracy"] == 1 / 2
    assert math.isnan(by_class["c"]["held_accuracy"])
    ages = {a["age"]: (a["nodes"], a["accuracy_micro"]) for a in found["ages"]}
    assert ages == {1: (5, 3 / 5), 2: (1, 1.0)}


def test_forgetting_is_what_was_lost_since(told: Told) -> None:
    matrix = cohorts(told)
    assert np.array_equal(matrix, [[1, np.nan, np.nan], [1, 1, np.nan], [0, 1, 1]], equal_nan=True)
    assert forgetting(matrix) == (1 + 0) / 2
    assert math.isnan(forgetting(np.full((3, 3), np.nan)))


def test_nothing_has_no_share() -> None:
    assert math.isnan(share(np.zeros(0, bool)))
    assert math.isnan(balanced(np.zeros(0, bool), np.zeros(0, np.int64)))


def test_a_line_is_the_mean_over_seeds_and_the_same_bytes_each_time() -> None:
    def run(method: str, seed: int, values: list[float | None]) -> dict[str, object]:
        every = [{"accuracy": v, "held_accuracy": 0.5, "cpu_s": 2.0} for v in values]
        matrix = [[0.75, None], [0.5, 0.6]]
        return {"method": method, "seed": seed, "snapshots": every, "held_matrix": matrix}

    runs = [run("one", 1, [None, 0.5]), run("one", 2, [None, 0.7]), run("other", 1, [None, 0.4])]
    line = means(runs, "one")["accuracy"]
    assert np.isnan(line[0])
    assert line[1] == pytest.approx(0.6)
    picture = draw("made_up", runs)
    assert picture.csv.splitlines()[:2] == [
        "method,snapshot,accuracy,held_accuracy,forgetting,cpu_s",
        "one,1,,0.5,,2.0",
    ]
    assert picture.csv.splitlines()[2].endswith(",0.5,0.25,2.0")
    assert picture.files() == draw("made_up", runs).files()
