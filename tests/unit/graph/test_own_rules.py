"""What every importer shares: rules on labels and tasks that no format can bend."""

from __future__ import annotations

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing.assembly import assemble
from taamctl.importing.raw_graph import RawGraph


def raw(labels: list[object], **more: object) -> RawGraph:
    n = len(labels)
    return RawGraph(
        "here.csv", np.arange(n - 1), np.arange(1, n), np.ones((n, 2), np.float32), labels, **more
    )  # type: ignore[arg-type]


def test_minus_one_is_unlabelled_and_other_negative_numbers_are_refused() -> None:
    assert assemble("g", raw([0, -1, 5])).labels.tolist() == [0, -1, 1]
    with pytest.raises(TaamctlError, match="here.csv: label -3 at row 2 is negative") as caught:
        assemble("g", raw([0, -1, -3]))
    assert "-1 means unlabelled" in caught.value.hint


def test_named_tasks_arrive_in_natural_order() -> None:
    tasks = {"a": "session 10", "b": "session 2", "c": "session 1"}
    made = assemble("g", raw(["a", "b", "c"], tasks=tasks))
    assert made.given.arrival is not None
    assert dict(zip(made.class_names, made.given.arrival.tolist(), strict=True)) == {
        "a": 2,
        "b": 1,
        "c": 0,
    }
