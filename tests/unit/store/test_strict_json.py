"""JSON is written and read without infinities and NaN."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from taamctl.core.errors import TaamctlError
from taamctl.store import atomic_files


def test_what_is_written_is_read(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    atomic_files.write_json(path, {"a": [1, -2.5e300, 1e-320], "b": math.inf, "c": math.nan})
    assert atomic_files.read_json(path) == {"a": [1, -2.5e300, 1e-320], "b": None, "c": None}


@pytest.mark.parametrize("number", ["1e999", "-1e999", "Infinity", "-Infinity", "NaN"])
def test_a_number_that_is_not_finite_is_damage(tmp_path: Path, number: str) -> None:
    path = tmp_path / "a.json"
    path.write_text(f'{{"generation": [1, {number}]}}')
    with pytest.raises(TaamctlError, match="broken"):
        atomic_files.read_json(path, "taamctl eval")
