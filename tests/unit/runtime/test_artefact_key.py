"""Why an artefact is not what would be made now."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from taamctl.runtime import artefact_key

KEY: dict[str, Any] = {
    "params": {"train": {"lr": 0.1}},
    "inputs": {"split/a/split.h5": "1"},
    "raw": {"x.csv": "1"},
    "code": {"taamctl.models.layer": "1"},
    "libraries": {"numpy": "2.0"},
    "subnormals": "flushed",
}


@pytest.mark.parametrize(
    ("where", "old", "new", "reason"),
    [
        (("params", "train"), {"lr": 0.2}, {"lr": 0.1}, "train.lr 0.2 -> 0.1"),
        (("params", "train"), {}, {"lr": None}, "train.lr (not there) -> None"),
        (("inputs",), {"b": "1"}, {}, "b is another file"),
        (("inputs",), {"b": "1"}, {"b": "2"}, "b is another file"),
        (("raw",), {"y": "1", "x": "1"}, {"x": "1"}, "raw file y is another"),
        (("code",), {"m": "1"}, {"m": "2"}, "code of m"),
        (("libraries",), {"numpy": "1.0"}, {"numpy": "2.0"}, "numpy 1.0 -> 2.0"),
        (("libraries",), {}, {"torch": "2.0"}, "torch (not there) -> 2.0"),
        (
            (),
            {"subnormals": "kept"},
            {"subnormals": "flushed"},
            "subnormal numbers kept -> flushed",
        ),
    ],
)
def test_every_difference_has_its_reason(
    where: tuple[str, ...], old: dict[str, Any], new: dict[str, Any], reason: str
) -> None:
    def with_(values: dict[str, Any]) -> dict[str, Any]:
        key = copy.deepcopy(KEY)
        inner = key
        for name in where:
            inner = inner[name]
        if where:
            inner.clear()
        inner.update(values)
        return key

    record = {"key": with_(old)}
    assert not artefact_key.is_key(record, with_(new))
    assert artefact_key.reasons(record, with_(new)) == [reason]


def test_raw_data_that_is_gone_makes_nothing_stale() -> None:
    assert artefact_key.is_key({"key": KEY}, {**KEY, "raw": {}})
    assert not artefact_key.is_key({"key": {**KEY, "raw": {}}}, KEY)
