"""The sensitivity figures, on drawn tables."""

from __future__ import annotations

import csv
import io
import random
from typing import Any

from taamctl.report import published, sweep_figure

USUAL = {
    "methods.taam.rank": 4,
    "methods.taam.heads": 2,
    "methods.taam.d_task": 6,
    "infer.hops": {"0": 1.0, "2": 1.0},
    "infer.alpha": 0.1,
}


def records(seed: int) -> list[dict[str, Any]]:
    draw = random.Random(seed)
    return [
        {
            "row": row.row,
            "dataset": dataset,
            "set": list(row.sets),
            "ours": draw.uniform(20, 90),
            "ours_std": draw.uniform(0, 3),
            "seeds": [1, 2, 3],
        }
        for row in published.rows("sweeps")
        for dataset in ("photo", "citeseer")
    ]


def test_a_line_holds_every_value_of_its_parameter_and_the_usual_one_in_order() -> None:
    drawn = records(1)
    lines = sweep_figure.points(drawn, "methods.taam.rank", 4)
    assert list(lines) == ["photo", "citeseer"]
    assert [p.value for p in lines["photo"]] == ["1", "2", "4", "8", "16"]
    by_row = {(r["row"], r["dataset"]): r["ours"] for r in drawn}
    assert [p.aa for p in lines["citeseer"]] == [
        by_row[name, "citeseer"] for name in ("rank 1", "rank 2", "TAAM", "rank 8", "rank 16")
    ]
    hops = sweep_figure.points(drawn, "infer.hops", USUAL["infer.hops"])
    assert [p.value for p in hops["photo"]] == ["0", "2", "0, 2", "0, 1, 2", "10"]


def test_every_parameter_has_a_figure_with_its_numbers_and_the_same_bytes() -> None:
    drawn = records(2)
    made = sweep_figure.files(drawn, USUAL)
    assert set(made) == {
        f"sweeps-{knob}.{kind}" for knob in sweep_figure.KNOBS for kind in ("png", "svg", "csv")
    }
    assert made == sweep_figure.files(drawn, USUAL)
    rows = list(csv.DictReader(io.StringIO(made["sweeps-alpha.csv"].decode())))
    assert [r["value"] for r in rows if r["dataset"] == "photo"] == ["0", "0.1", "0.5", "1"]
    one = next(r for r in drawn if (r["row"], r["dataset"]) == ("alpha 0.5", "photo"))
    assert float(rows[2]["aa"]) == one["ours"]
    assert b"infer.alpha" in made["sweeps-alpha.svg"]


def test_what_was_not_run_is_left_out() -> None:
    drawn = [{**r, "ours": None} for r in records(3) if r["dataset"] == "photo"]
    assert sweep_figure.files(drawn, USUAL) == {}
