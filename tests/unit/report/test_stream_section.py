from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
import yaml
from taamctl.stages import report

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import REPLAY
from taamctl.params import params_file, sections
from taamctl.prequential.stream_marks import forgetting
from taamctl.report import stream_figure, stream_section
from taamctl.report.method_looks import of
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout


def test_what_was_forgotten_by_the_end_is_the_runs_forgetting() -> None:
    rng = np.random.default_rng(7)
    for count in (2, 3, 7):
        matrix = rng.random((count, count))
        matrix[:, rng.random(count) < 0.2] = np.nan  # snapshots that hold nothing back
        found = stream_figure.forgotten({"held_matrix": matrix.tolist()})
        assert len(found) == count
        assert np.isnan(found[0])
        assert found[-1] == pytest.approx(forgetting(matrix), nan_ok=True)


def test_a_replay_is_read_shown_and_traced(tmp_path: Path, made_up: ModuleType) -> None:
    path = made_up.replay(tmp_path, "grow", ("analytic", "finetune"), 30)
    assert stream_section.files(Layout(tmp_path)) == [path]
    assert stream_section.faults([path]) == []
    (found,) = stream_section.read([path])
    runs, snapshots = stream_section.tables(found, 1)
    assert [line[0] for line in runs.lines] == ["analytic", "finetune"]
    first = found.runs[0]
    assert runs.lines[0][2] == f"{100 * first['accuracy']:.1f}"
    assert runs.lines[0][-1] == first["sha256"][:12]
    assert len(snapshots.lines) == 2 * stream_section.SHOWN
    assert {line[2] for line in snapshots.lines} >= {"1", "30"}
    assert snapshots.lines[0][5] == "–"
    last = snapshots.lines[stream_section.SHOWN - 1]
    assert last[7] == f"{100 * first['forgetting'] + 0.0:.1f}"


def test_a_replay_that_was_made_anew_or_is_broken_is_said(
    tmp_path: Path, made_up: ModuleType
) -> None:
    path = made_up.replay(tmp_path, "grow", ("analytic", "finetune"))
    Layout(tmp_path).file("stream", "grow", "finetune", 1).with_name(
        "stream.h5.provenance.json"
    ).unlink()
    (line,) = stream_section.faults([path])
    assert "grow: the stream.h5 of finetune seed 1" in line
    for text in ("{", "[]", '{"conditions": [], "runs": [{}]}'):
        path.write_text(text, encoding="utf-8")
        assert stream_section.read([path]) == []
        (line,) = stream_section.faults([path])
        assert "cannot be read" in line
    newer = {**REPLAY.stamp, "schema_version": 2, "conditions": [], "runs": []}
    path.write_text(json.dumps(newer), encoding="utf-8")
    assert stream_section.read([path]) == []
    (line,) = stream_section.faults([path])
    assert "has version 2 of taamctl.stream" in line and "install a newer taamctl" in line


def test_the_figure_is_the_means_over_seeds_in_the_methods_colours(
    tmp_path: Path, made_up: ModuleType
) -> None:
    path = made_up.replay(tmp_path, "grow", ("analytic", "finetune"))
    runs = json.loads(path.read_text(encoding="utf-8"))["runs"]
    other = {**runs[0], "seed": 2, "snapshots": [dict(s) for s in runs[0]["snapshots"]]}
    for snapshot in other["snapshots"]:
        snapshot["held_accuracy"] += 0.5
    drawn = stream_figure.draw("grow", [runs[0], other, runs[1]])
    assert sorted(drawn.files()) == stream_figure.names("grow")
    lines = list(csv.DictReader(io.StringIO(drawn.csv)))
    assert len(lines) == 8
    mean = runs[0]["snapshots"][2]["held_accuracy"] + 0.25
    assert float(lines[2]["held_accuracy"]) == pytest.approx(mean)
    assert lines[0]["accuracy"] == ""
    for method in ("analytic", "finetune"):
        assert of(method).colour.lower().encode() in drawn.svg
    assert b"mean over seeds 1, 2" in drawn.caption.encode()


def test_a_report_is_made_anew_where_a_replay_was_and_says_what_it_cannot_read(
    tmp_path: Path, made_up: ModuleType
) -> None:
    made_up.write(tmp_path, made_up.Study(("one",), {"taam": 0.9}, (1,)))
    page = made_up.report(tmp_path, pictures=False)
    assert 'id="streams"' not in page.read_text(encoding="utf-8")
    replays = [made_up.replay(tmp_path, name, ("analytic",)) for name in ("grow", "wane")]
    text = made_up.report(tmp_path, pictures=False).read_text(encoding="utf-8")
    assert all(f"<h3>{name}</h3>" in text for name in ("grow", "wane"))
    digest = stream_section.read(replays)[0].sha256
    assert f"stream.json sha256 <code>{digest[:12]}</code>" in text
    replays[0].write_text("{", encoding="utf-8")
    text = made_up.report(tmp_path, pictures=False).read_text(encoding="utf-8")
    assert "<h3>grow</h3>" not in text and "<h3>wane</h3>" in text
    assert "cannot be read; make it again with: taamctl stream" in text


def test_of_replays_alone_there_is_a_page_too(tmp_path: Path, made_up: ModuleType) -> None:
    replay = made_up.replay(tmp_path, "grow", ("analytic",))
    page = made_up.report(tmp_path, pictures=False)
    text = page.read_text(encoding="utf-8")
    assert "<title>taamctl report: grow</title>" in text
    assert 'id="streams"' in text
    assert not any(f'"#{name}"' in text for name in ("summary", "results", "made", "commands"))
    assert "| analytic | 1 |" in page.with_name("report.md").read_text(encoding="utf-8")
    replay.write_text("{", encoding="utf-8")
    text = made_up.report(tmp_path, pictures=False).read_text(encoding="utf-8")
    assert "cannot be read" in text


def test_a_replay_does_not_hide_that_nothing_of_what_is_asked_for_is_evaluated(
    tmp_path: Path, made_up: ModuleType
) -> None:
    made_up.replay(tmp_path, "grow", ("analytic",))
    made_up.write(tmp_path, made_up.Study(("one",), {"taam": 0.9}, (1,)))
    tree = yaml.safe_load(params_file.PACKAGED.read_text(encoding="utf-8"))
    context = Context(sections.Params("params.yaml", tree), Layout(tmp_path))
    with pytest.raises(TaamctlError, match="no evaluation of what the run section"):
        report.run(context)
