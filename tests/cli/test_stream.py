"""`taamctl stream`: what it prints and writes, that it goes on where it was stopped, and what it
refuses.
"""

from __future__ import annotations

import contextlib
import csv
import io
import json
import re
import signal
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from taamctl.cli.all_verbs import made_for
from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import REPLAY
from taamctl.pipeline import remains, stream_status
from taamctl.prequential import stream_files
from taamctl.store.artefacts import Artefact
from taamctl.store.lock import writing
from taamctl.store.stream_kind import STREAM

SMALL = (
    "--set",
    "train.epochs=2",
    "--set",
    "train.threads=1",
    "--set",
    "methods.analytic.width=40",
)
CALL = ("stream", "--dataset", "drifting", "--seed", "1", "--snapshots", "4", *SMALL)
BOTH = ("--method", "analytic", "--method", "finetune")
HERE = Path("outputs/stream/drifting")


def here(folder: Path, *arguments: str) -> None:
    """Call taamctl in this process and in a folder."""
    with contextlib.chdir(folder):
        assert not made_for(arguments)(list(arguments), standalone_mode=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, dict[str, Any]]:
    folder = tmp_path_factory.mktemp("stream")
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        here(folder, *CALL, *BOTH, "--json", "--quiet")
    (result,) = json.loads(out.getvalue())
    return folder, result


def test_json_is_the_file_and_says_its_protocol(made: tuple[Path, dict[str, Any]]) -> None:
    folder, result = made
    assert result == json.loads((folder / HERE / "stream.json").read_text(encoding="utf-8"))
    assert result["protocol"] == "prequential"
    assert (result["kind"], result["schema_version"]) == ("taamctl.stream", 1)
    assert "times as the graph states them" in " ".join(result["conditions"])
    assert [run["method"] for run in result["runs"]] == ["analytic", "finetune"]
    for run in result["runs"]:
        snapshots = run["snapshots"]
        assert [s["snapshot"] for s in snapshots] == [1, 2, 3, 4]
        assert sum(s["nodes"] for s in snapshots) == 3000
        assert snapshots[0]["accuracy"] is None
        assert sum(s["known_nodes"] for s in snapshots) == run["known_nodes"]
        assert sum(a["nodes"] for a in run["ages"]) == run["known_nodes"]
        assert run["known_nodes"] + run["unknown_nodes"] + snapshots[0]["nodes"] == 3000
        assert {c["class"] for c in run["classes"]} == {
            n for s in snapshots for n in s["new_classes"]
        }
    assert result["runs"][0]["accuracy"] > 0.8


def test_accuracies_follow_from_the_answers(made: tuple[Path, dict[str, Any]]) -> None:
    folder, result = made
    path = folder / HERE / "analytic" / "seed-1" / "stream.h5"
    with Artefact(path, STREAM) as file:
        snapshot, y, label = (file.read(n) for n in ("nodes/snapshot", "nodes/y", "ahead/label"))
        first, shown, held = (file.read(n) for n in ("classes/first", "nodes/shown", "held/label"))
    run = result["runs"][0]
    for t in range(1, 4):
        rights: dict[int, list[bool]] = {}
        for node in range(3000):
            if snapshot[node] == t and first[y[node]] < t:
                rights.setdefault(int(y[node]), []).append(label[node] == y[node])
        recalls = [sum(own) / len(own) for own in rights.values()]
        assert run["snapshots"][t]["accuracy"] == pytest.approx(sum(recalls) / len(recalls))
    hidden = [node for node in range(3000) if not shown[node]]
    last = [held[3][i] == y[node] for i, node in enumerate(hidden)]
    assert run["held_accuracy_micro"] == pytest.approx(sum(last) / len(last))


def test_tables_and_figure_lie_beside(made: tuple[Path, dict[str, Any]]) -> None:
    folder, result = made
    with (folder / HERE / "stream.csv").open(encoding="utf-8") as handle:
        rows = list(csv.DictReader(handle))
    assert [(row["method"], row["snapshot"]) for row in rows] == [
        (method, str(t)) for method in ("analytic", "finetune") for t in (1, 2, 3, 4)
    ]
    assert rows[0]["accuracy"] == ""
    assert float(rows[3]["held_accuracy"]) == result["runs"][0]["held_accuracy"]
    assert (folder / HERE / "stream-drifting.png").read_bytes().startswith(b"\x89PNG")
    assert (folder / HERE / "stream-drifting.svg").read_bytes().startswith(b"<?xml")


def test_a_second_call_reuses_and_prints_the_same(
    made: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    folder, result = made
    here(folder, *CALL, *BOTH)
    done = capsys.readouterr()
    assert done.err.count(": reused ") == 2
    head, first, second, *rest = done.out.splitlines()
    assert head.split()[:2] == ["method,", "seed"]
    assert f"{100 * result['runs'][0]['accuracy']:.1f}" in first
    assert second.startswith("finetune 1")
    assert "protocol prequential" in rest[0]
    assert json.loads((folder / HERE / "stream.json").read_text(encoding="utf-8")) == result


def test_a_stopped_replay_goes_on_and_ends_with_the_same_bytes(
    support: ModuleType, made: tuple[Path, dict[str, Any]], tmp_path: Path
) -> None:
    at_third = support.signalled(tmp_path, "task-002.h5", signal.SIGINT)
    call = (*CALL, "--method", "finetune")
    done = support.taamctl(tmp_path, *call, env=at_third)
    assert done.code == 130
    kept = tmp_path / HERE / "finetune" / "seed-1" / "unfinished"
    assert [file.name for file in sorted(kept.iterdir())][-1] in ("task-001.h5", "task-002.h5")
    (found,) = remains.unfinished(tmp_path / "outputs")
    assert found.main == kept
    (line,) = stream_status.lines(tmp_path / "outputs")
    after = 1 + int(sorted(kept.glob("*.h5"))[-1].stem.removeprefix("task-"))
    assert line.state == "interrupted"
    assert f"after snapshot {after}:" in line.reasons[0]
    done = support.taamctl(tmp_path, *call)
    assert done.code == 0, done.err
    assert "taken from an interrupted replay" in done.err
    assert not kept.exists()
    whole = made[0] / HERE / "finetune" / "seed-1" / "stream.h5"
    again = tmp_path / HERE / "finetune" / "seed-1" / "stream.h5"
    assert whole.read_bytes() == again.read_bytes()
    assert [line.state for line in stream_status.lines(tmp_path / "outputs")] == ["done"]
    again.write_bytes(b"x")
    (line,) = stream_status.lines(tmp_path / "outputs")
    assert (line.state, line.reasons) == ("damaged", ["stream.h5 is not as it was written"])


def test_status_names_replays(
    made: tuple[Path, dict[str, Any]], capsys: pytest.CaptureFixture[str]
) -> None:
    here(made[0], "report", "--set", "report.pictures=false", "--quiet")
    capsys.readouterr()
    here(made[0], "status", "--dataset", "synthetic", "--set", "report.pictures=false", "--json")
    lines = json.loads(capsys.readouterr().out)
    replays = [line for line in lines if line["stage"] == "stream"]
    assert [(r["method"], r["state"], r["would"]) for r in replays] == [
        ("analytic", "done", "leave"),
        ("finetune", "done", "leave"),
    ]
    assert set(replays[0]) == set(lines[0])
    (page,) = [line for line in lines if line["stage"] == "report"]  # there, of replays alone
    assert (page["state"], page["reasons"], page["would"]) == ("stale", ["after eval"], "check")
    here(made[0], "status", "--dataset", "synthetic")
    shown = capsys.readouterr().out
    assert re.search(r"stream +drifting +analytic +1 +done +leave", shown)


def test_inspect_and_verify_know_the_file(made: tuple[Path, dict[str, Any]]) -> None:
    folder, _ = made
    here(folder, "inspect", str(HERE / "analytic" / "seed-1" / "stream.h5"), "--check")
    here(folder, "verify")


@pytest.mark.parametrize(
    ("arguments", "message", "hint"),
    [
        (("--dataset", "synthetic"), "synthetic does not say when", "--times random"),
        (("--dataset", "drifting", "--snapshots", "1"), "--snapshots 1", "one snapshot"),
        (("--dataset", "drifting", "--method", "ewc"), "ewc does not say how", "analytic"),
        (("--dataset", "drifting", "--every", "1000"), "drifting: one snapshot", "--every"),
        (("--dataset", "drifting", "--every", "3m"), "--every 3m: no span", "of dates 12h, 7d"),
        (("--dataset", "drifting", "--every", "1d"), "drifting: one snapshot", "--every"),
    ],
)
def test_what_cannot_be_replayed_is_refused_before_anything_is_made(
    tmp_path: Path, arguments: tuple[str, ...], message: str, hint: str
) -> None:
    call = ("stream", "--seed", "1", "--method", "finetune", "--method", "analytic", "--quiet")
    with pytest.raises(TaamctlError, match=message) as caught:
        here(tmp_path, *call, *arguments)
    assert hint in caught.value.hint
    assert not (tmp_path / "outputs").exists()


def test_methods_replayed_alike_stand_side_by_side_and_another_replay_says_what_it_replaces(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def told(*arguments: str) -> tuple[list[tuple[str, int]], str]:
        here(tmp_path, *CALL, *arguments)
        made = json.loads((tmp_path / HERE / "stream.json").read_text(encoding="utf-8"))
        return [(run["method"], run["seed"]) for run in made["runs"]], capsys.readouterr().err

    first, said = told("--method", "finetune")
    assert first == [("finetune", 1)] and "replaced" not in said
    for name in ("stream.csv", "stream-drifting.csv", "stream-drifting.svg"):
        assert name in said and (tmp_path / HERE / name).is_file()
    both, said = told("--method", "analytic")
    assert both == [("finetune", 1), ("analytic", 1)] and "replaced" not in said
    lines = (tmp_path / HERE / "stream.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 4
    # a replay that is not there any more goes from the table too
    (tmp_path / HERE / "finetune" / "seed-1" / "stream.h5").unlink()
    (tmp_path / HERE / "finetune" / "seed-1" / "stream.h5.provenance.json").unlink()
    assert told("--method", "analytic")[0] == [("analytic", 1)]
    other, said = told("--method", "finetune", "--draw", "2")
    assert other == [("finetune", 1)]
    note = next(line for line in said.splitlines() if "replaced" in line)
    assert "draw 0 -> 2" in note and "--outputs" in note
    assert said.index("replaced") < said.index("wrote")


def test_a_summary_that_cannot_be_read_is_written_anew(tmp_path: Path) -> None:
    path = tmp_path / HERE / "stream.json"
    path.parent.mkdir(parents=True)
    for text in ("{", "[]", '{"runs": 3}'):
        path.write_text(text, encoding="utf-8")
        here(tmp_path, *CALL, "--method", "finetune", "--quiet")
        made = json.loads(path.read_text(encoding="utf-8"))
        assert [run["method"] for run in made["runs"]] == ["finetune"]


def test_random_times_are_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    call = ("stream", "--dataset", "synthetic", "--times", "random", "--draw", "3", "--seed", "1")
    here(tmp_path, *call, "--method", "finetune", *SMALL, "--quiet")
    assert "times drawn at random (seed 3)" in capsys.readouterr().out


def test_nothing_held_and_nothing_unknown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shares = ("--held", "0", "--unknown", "0", "--every", "33")
    call = ("stream", "--dataset", "drifting", "--seed", "1", "--method", "finetune", *SMALL)
    here(tmp_path, *call, *shares, "--json", "--quiet")
    ((run,),) = (result["runs"] for result in json.loads(capsys.readouterr().out))
    assert len(run["snapshots"]) == 4
    assert run["held_accuracy"] is None
    assert run["forgetting"] is None
    assert (run["unknown_found"], run["false_alarms"]) == (0, 0)
    here(tmp_path, *call, *shares, "--quiet")
    assert "labels of 0 nodes are never shown" in capsys.readouterr().out


@pytest.mark.slow
def test_debian_is_replayed_in_a_random_order(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    call = ("stream", "--dataset", "debian", "--times", "random", "--method", "analytic")
    here(tmp_path, *call, "--seed", "1", "--json", "--quiet")
    ((run,),) = (result["runs"] for result in json.loads(capsys.readouterr().out))
    assert sum(len(s["new_classes"]) for s in run["snapshots"]) == 53
    assert run["known_nodes"] > 45_000
    assert run["accuracy"] > 0.65
    assert run["forgetting"] < 0.02


def test_a_summary_is_written_by_one_command_at_a_time(tmp_path: Path) -> None:
    call = ("stream", "--dataset", "drifting", "--method", "finetune", "--seed", "1", *SMALL)
    summary = tmp_path / HERE / "stream.json"
    with (
        writing(summary, wait=False, tell=print),
        pytest.raises(TaamctlError, match=r"stream.json is being written by"),
    ):
        here(tmp_path, *call, "--no-wait", "--quiet")
    assert not summary.exists()
    here(tmp_path, *call, "--no-wait", "--quiet")
    assert summary.exists()


def test_a_summary_of_a_newer_version_is_not_replaced(tmp_path: Path) -> None:
    path = tmp_path / "stream.json"
    path.write_text(json.dumps({**REPLAY.stamp, "schema_version": 2, "runs": []}), encoding="utf-8")
    with pytest.raises(TaamctlError, match=r"has version 2 of taamctl\.stream") as refused:
        stream_files.earlier(path)
    assert refused.value.hint.startswith("install a newer taamctl")
    path.write_text(json.dumps({"runs": [], "dataset": "drifting"}), encoding="utf-8")
    assert stream_files.earlier(path)["dataset"] == "drifting"
