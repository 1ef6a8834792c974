"""The lens table: a line per method, protocol and router, and none that hides another."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taamctl.report import lens_table as lens


def written(path: Path, seed: int, lr: float, aa: float) -> Path:
    """Write a lens file with one cell."""
    cell = {
        "protocol": "mixed",
        "part": "test",
        "router": "ridge",
        "unit": "node",
        "size": 0,
        "mode": "hard",
        "aa": aa,
        "aa_micro": aa,
        "task_id_accuracy": 0.5,
    }
    path.write_text(
        json.dumps(
            {
                "dataset": "d",
                "method": "m",
                "seed": seed,
                "title": "M",
                "profile": "",
                "scope": "all_seen",
                "memory_words": 1_500_000,
                "averaging": "balanced",
                "cells": [cell],
                "settings": {"train": {"train": {"lr": lr}, "seed": seed}},
            }
        )
    )
    return path


def test_seeds_of_one_setting_are_averaged(tmp_path: Path) -> None:
    found = lens.rows([written(tmp_path / "a", 1, 0.1, 0.8), written(tmp_path / "b", 2, 0.1, 0.9)])
    assert len(found) == 1 and found[0].seeds == [1, 2] and found[0].aa == pytest.approx(0.85)
    _, lines = lens.table(found, 1)
    assert lines[0][:4] == ("d", "m", "mixed", "ridge")
    assert lines[0][-2:] == ("85.0 ± 5.0 (50.0)", "1.50")


def test_other_settings_stand_in_lines_of_their_own(tmp_path: Path) -> None:
    found = lens.rows([written(tmp_path / "a", 1, 0.1, 0.9), written(tmp_path / "b", 2, 0.2, 0.1)])
    _, lines = lens.table(found, 1)
    assert sorted(line[-2] for line in lines) == ["10.0 (50.0)", "90.0 (50.0)"]
    assert len({line[1] for line in lines}) == 2 and all(
        line[1].startswith("m [") for line in lines
    )
