"""`taamctl reproduce lens`, and how far a long command is."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from taamctl.cli.reproduce_plans import plan_of
from taamctl.cli.shared_options import RawSettings, Writing
from taamctl.pipeline.countdown import Countdown
from taamctl.pipeline.plain_tables import PlainTable
from taamctl.report import published
from taamctl.report.published import LensLine
from taamctl.runtime.job import Outcome

ROWS = [
    LensLine("taam, one vote", "taam", "amp", "graph"),
    LensLine("probe, per node", "linear_probe", "ridge", "node"),
    LensLine("finetune", "finetune", "none", "node"),
]


def test_the_lens_table_says_what_the_lens_files_say(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "lens_rows", lambda: ROWS)
    settings = RawSettings(
        outputs=tmp_path, overrides=["train.epochs=2", "train.threads=1"], data_root=tmp_path
    )
    plan = plan_of("lens", ("synthetic", "photo"), [1, 2], settings, Writing(quiet=True))
    table = plan.table(None)
    assert isinstance(table, PlainTable)
    assert [line["row"] for line in table.lines] == [row.row for row in ROWS]
    assert {line["dataset"] for line in table.lines} == {"synthetic"}, "photo is not at hand"
    for row, line in zip(ROWS, table.lines, strict=True):
        for protocol in ("grouped", "mixed"):
            found = [_aa(tmp_path, row, seed, protocol) for seed in (1, 2)]
            assert line[protocol] == pytest.approx(50 * sum(found))
            assert line[f"{protocol} std"] == pytest.approx(50 * abs(found[0] - found[1]))
    assert table.lines[2]["right mixed"] is None
    again = plan.table(None)
    assert isinstance(again, PlainTable)
    assert again.lines == table.lines
    path = table.write(tmp_path / "reproduce", "taamctl reproduce lens")
    assert "| taam, one vote | synthetic |" in path.with_suffix(".md").read_text()


def _aa(outputs: Path, row: LensLine, seed: int, protocol: str) -> float:
    path = outputs / "lens" / "synthetic" / row.method / f"seed-{seed}" / "lens.json"
    (cell,) = (
        cell
        for cell in json.loads(path.read_text())["cells"]
        if (cell["router"], cell["unit"]) == (row.router, row.unit)
        and (cell["protocol"], cell["part"], cell["mode"]) == (protocol, "test", "hard")
    )
    return float(cell["aa"])


def test_a_countdown_estimates_from_runs_that_were_made_anew() -> None:
    said: list[str] = []
    countdown = Countdown(said.append, 3)
    old, new = (Outcome(Path("x"), reused, {}) for reused in (True, False))
    countdown.begin("a")
    countdown.end([old, old])
    countdown.begin("b")
    countdown.end([old, new])
    countdown.began -= 240
    countdown.begin("c")
    assert said == ["run 1/3: a", "run 2/3: b", "run 3/3: c, about 4 min left"]
