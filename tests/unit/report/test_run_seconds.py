"""What training and inference took."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from taamctl.report import reproduction, run_seconds
from taamctl.runtime.layout import Layout


def note(layout: Layout, seed: int, record: dict[str, Any]) -> None:
    path = layout.file("train", "photo", "taam", seed)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.with_name(f"{path.name}.provenance.json").write_text(json.dumps(record))


def test_a_time_is_of_whole_runs_only(tmp_path: Path) -> None:
    layout = Layout(tmp_path)
    note(layout, 1, {"cost": {"cpu_s": 4.0}, "facts": {"resumed_tasks": 0}})
    note(layout, 2, {"cost": {"cpu_s": 8.0}, "facts": {"resumed_tasks": 0}})
    note(layout, 3, {"cost": {"cpu_s": 0.5}, "facts": {"resumed_tasks": 2}})
    note(layout, 4, {"facts": {}})
    of = [run_seconds.of_run(layout, "photo", "taam", seed, "train") for seed in range(1, 6)]
    assert of == [4.0, 8.0, None, None, None]
    assert run_seconds.mean(layout, "photo", "taam", range(1, 6), "train") == 6.0
    assert run_seconds.mean(layout, "photo", "taam", [3, 5], "train") is None


def test_times_stand_below_the_table(tmp_path: Path) -> None:
    record = {
        "row": "A",
        "dataset": "photo",
        "metric": "aa",
        "paper": None,
        "paper_std": None,
        "ours": 50.0,
        "ours_std": 0.0,
        "difference": None,
        "verdict": "not printed",
        "explanation": "",
        "train_cpu_s": 12.34,
        "infer_cpu_s": 0.456,
    }
    other = {**record, "row": "B", "dataset": "citeseer", "infer_cpu_s": None}
    text = reproduction.markdown("main", [record, other], [], "taamctl reproduce main")
    assert "| training / inference, CPU s | photo | citeseer |" in text
    assert "| A | 12.3 / 0.46 | – |" in text
    assert "| B | – | 12.3 / – |" in text
    without = {**record, "train_cpu_s": None}
    assert "training / inference" not in reproduction.markdown("main", [without], [], "x")
    line = reproduction.comma_separated([record]).splitlines()[1]
    assert "12.34" in line
