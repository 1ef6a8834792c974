"""The bound on the task-ID error in `data doctor`."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

import pytest

from taamctl.doctor import id_bound


def test_doctor_and_theory_say_the_same(tmp_path: Path, support: ModuleType) -> None:
    call = ("reproduce", "theory", "--dataset", "synthetic", "--json", "--quiet")
    done = support.taamctl(tmp_path, *call)
    assert done.code == 0, done.err
    bounds = [row["bound"] for row in json.loads(done.out)["rows"]]
    said = support.taamctl(tmp_path, "data", "doctor", "synthetic", "--quick", "--json")
    found = json.loads(said.out)["bound"]
    assert found == pytest.approx({"least": min(bounds), "most": max(bounds)}, rel=1e-6)
    lines = support.taamctl(tmp_path, "data", "doctor", "synthetic", "--quick").out
    assert f"for amp: {min(bounds):.3g} to {max(bounds):.3g}; a bound near 1" in lines


def test_the_line_warns_of_a_bound_near_one() -> None:
    assert "says nothing" in id_bound.line({"least": 0.2, "most": 0.97})
    sharp = id_bound.line({"least": 0.001, "most": 0.001})
    assert sharp == "the paper's bound on the share of wrong ones, for amp: 0.001"
