"""The command line as a user meets it: stdout, stderr and exit code, each on its own."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
from importlib import metadata
from pathlib import Path
from types import ModuleType
from typing import Any

import h5py
import pytest
import yaml
from typer.main import get_command

from taamctl.cli.all_verbs import GROUPS, VERBS
from taamctl.cli.app import app
from taamctl.runtime.provenance import sidecar_of

REPOSITORY = Path(__file__).resolve().parents[2]
RESULT_KEYS = {
    "dataset",
    "method",
    "seed",
    "profile",
    "scope",
    "averaging",
    "unit",
    "protocol",
    "split",
    "aa",
    "af",
    "bwt",
    "task_id_accuracy",
    "task_id",
    "matrix",
    "aa_by_scope",
    "af_by_scope",
    "parameters",
    "flags",
    "one_class_tasks",
    "thin_classes",
    "aa_low",
    "aa_high",
    "aa_defined",
    "doubts",
    "sha256",
    "seconds",
    "peak_memory_mib",
}
FEATURES = "outputs/precompute/synthetic/features.h5"
INPUTS = {
    "precompute": ("split",),
    "train": ("precompute",),
    "infer": ("precompute", "train"),
    "eval": ("split", "infer"),
}


def _commands() -> dict[tuple[str, ...], Any]:
    root: Any = get_command(app)
    found: dict[tuple[str, ...], Any] = {(): root}
    for name, command in root.commands.items():
        found[name,] = command
        found |= {(name, inner): c for inner, c in getattr(command, "commands", {}).items()}
    return found


COMMANDS = _commands()


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    """Return a folder with the outputs of a whole run; tests copy it, or only read it."""
    folder = tmp_path_factory.mktemp("made")
    done = support.taamctl(folder, *support.call("run"))
    assert done.code == 0, done.err
    return folder


@pytest.fixture
def copy(made: Path, tmp_path: Path) -> Path:
    """Return a folder of this test's own, with the outputs of a whole run."""
    shutil.copytree(made / "outputs", tmp_path / "outputs")
    return tmp_path


def _refused(result: Any, support: ModuleType, code: int = 2) -> tuple[str, str]:
    """Check that a command ended with one error and at most one hint, and nothing else; return
    both.
    """
    assert result.code == code, result.err
    assert result.out == ""
    assert "Traceback" not in result.err
    errors, hints = support.error_lines(result)
    assert len(errors) == 1, result.err
    assert len(hints) <= 1, result.err
    return result.err[result.err.index("error: ") :].split("hint: ")[0], hints[0] if hints else ""


# --------------------------------------------------------------------------------------------------


def test_every_verb_is_there() -> None:
    assert {names[0] for names in COMMANDS if names} == {*VERBS, *GROUPS}


@pytest.mark.parametrize("names", COMMANDS, ids=lambda names: " ".join(names) or "taamctl")
def test_help_names_and_explains_every_option(
    names: tuple[str, ...], support: ModuleType, tmp_path: Path
) -> None:
    shown = support.taamctl(tmp_path, *names, "--help", env=support.environment(COLUMNS="300"))
    assert shown.code == 0
    assert shown.err == ""
    assert "\x1b" not in shown.out
    for parameter in COMMANDS[names].params:
        assert parameter.help, f"{parameter.name} is not explained"
        assert all(option in shown.out for option in parameter.opts if option.startswith("-"))
        assert parameter.help.split(".")[0] in shown.out
    for name in getattr(COMMANDS[names], "commands", {}):
        assert re.search(rf"\b{name} +\S", shown.out), f"{name} is not listed with what it does"


def test_version(support: ModuleType, tmp_path: Path) -> None:
    shown = support.taamctl(tmp_path, "--version")
    assert (shown.code, shown.err) == (0, "")
    first, rest = shown.out.splitlines()
    assert first == f"taamctl {metadata.version('taamctl')}"
    for name in ("torch", "numpy", "dvc"):
        assert f"{name} {metadata.version(name)}" in rest


def test_the_command_line_loads_nothing_heavy(support: ModuleType, tmp_path: Path) -> None:
    code = (
        "import sys, taamctl.cli.app; print(sorted({'torch', 'numpy', 'h5py', 'dgl', 'pandas', "
        "'scipy', 'sklearn', 'matplotlib'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        env=support.environment(),
        check=True,
    )
    assert done.stdout == "[]\n"


def test_a_call_without_a_verb_shows_the_help_and_fails(
    support: ModuleType, tmp_path: Path
) -> None:
    shown = support.taamctl(tmp_path)
    assert shown.code == 2
    assert "Usage:" in shown.out + shown.err
    assert "Traceback" not in shown.err


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("trian",), "trian"),
        (("train", "--epochs", "5"), "--epochs"),
        (("train", "--seed", "-1"), "--seed"),
        (("train", "--seed", "one"), "--seed"),
        (("inspect",), "file"),
        (("train", "--set"), "--set"),
        (("split", "synthetic"), "synthetic"),
    ],
)
def test_a_call_that_the_parser_refuses(
    arguments: tuple[str, ...], says: str, support: ModuleType, tmp_path: Path
) -> None:
    error, _ = _refused(support.taamctl(tmp_path, *arguments), support)
    assert says in error.lower()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        (
            ("run", "--dataset", "synthetik"),
            "no dataset called 'synthetik'; there are: arxiv,",
            "did you mean 'synthetic'?",
        ),
        (
            ("split", "--dataset", "cora-full"),
            "no dataset called 'cora-full'",
            "did you mean 'corafull'?",
        ),
        (
            ("run", "--dataset", "synthetic", "--method", "tam"),
            "no method called 'tam'; there are: analytic, cat,",
            "did you mean 'taam'?",
        ),
        (
            ("train", "--dataset", "synthetic", "--method", "finetuned"),
            "no method called 'finetuned'",
            "did you mean 'finetune'?",
        ),
        (("data", "info", "foto"), "no dataset called 'foto'", "did you mean 'photo'?"),
        (
            ("run", "--set", "train.epoch=5"),
            "--set train.epoch=5: no such parameter",
            "did you mean train.epochs=...?",
        ),
        (
            ("run", "--set", "trian.lr=1"),
            "--set trian.lr=1: no such parameter",
            "did you mean train.lr=...?",
        ),
        (("run", "--set", "train.lr"), "--set train.lr: no value", "section.key=value"),
        (("run", "--params", "nowhere.yaml"), "no parameter file nowhere.yaml", "--params FILE"),
    ],
)
def test_a_misspelt_name_gets_a_suggestion(
    arguments: tuple[str, ...], error: str, hint: str, support: ModuleType, tmp_path: Path
) -> None:
    said, hinted = _refused(support.taamctl(tmp_path, *arguments), support)
    assert error in said
    assert hint in hinted
    assert list(tmp_path.iterdir()) == []


def test_all_faults_of_a_parameter_file_come_in_one_message(
    support: ModuleType, tmp_path: Path
) -> None:
    tree = yaml.safe_load((REPOSITORY / "params.yaml").read_text(encoding="utf-8"))
    del tree["precompute"]["hops"]
    tree["train"] |= {"epochs": "many", "lr": -1, "momentum": 0.9}
    tree["split"]["odd_class"] = "dropp"
    tree["infer"]["hops"] = "both"
    tree["training"] = {}
    tree["methods"]["taam"]["rank"] = 0
    (tmp_path / "params.yaml").write_text(yaml.safe_dump(tree), encoding="utf-8")

    error, _ = _refused(
        support.taamctl(tmp_path, "run", "--dataset", "synthetic", "--method", "taam"), support
    )

    assert error.startswith("error: params.yaml: ")
    for fault in (
        "precompute.hops",
        "train.epochs: 'many' is no whole number",
        "train.lr: -1 must be > 0",
        "train.momentum",
        "split.odd_class: 'dropp' is not one of",
        "did you mean drop?",
        "infer.hops: 'both'",
        "training",
        "methods.taam.rank: 0",
    ):
        assert fault in error
    assert "8 faults" in error
    assert not (tmp_path / "outputs").exists()


@pytest.mark.parametrize("text", ["train: [", "- a list\n", "train: 3\n", ""])
def test_a_parameter_file_of_the_wrong_form(text: str, support: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    error, _ = _refused(support.taamctl(tmp_path, "split", "--dataset", "synthetic"), support)
    assert "params.yaml" in error


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("stage", INPUTS)
def test_a_missing_input_names_the_command_that_makes_it(
    stage: str, support: ModuleType, copy: Path
) -> None:
    for needed in INPUTS[stage]:
        moved = (copy / "outputs" / needed).rename(copy / "elsewhere")
        error, hint = _refused(support.taamctl(copy, *support.call(stage)), support)
        assert f"{stage} needs outputs/{needed}/synthetic" in error
        tail = " --method finetune --seed 1" if needed in ("train", "infer") else ""
        assert hint == f"hint: make it with: taamctl {needed} --dataset synthetic{tail}"
        moved.rename(copy / "outputs" / needed)


def test_a_report_of_nothing(support: ModuleType, tmp_path: Path) -> None:
    error, hint = _refused(support.taamctl(tmp_path, "report"), support)
    assert "no evaluation below outputs/eval" in error
    assert "taamctl run" in hint
    assert list(tmp_path.iterdir()) == []


def _flip_a_byte(path: Path, entry: str) -> None:
    with h5py.File(path, "r") as opened:
        place = opened[entry].id.get_offset()
    assert place is not None
    data = bytearray(path.read_bytes())
    data[place + 5] ^= 0x40
    path.write_bytes(data)


def test_a_flipped_bit_is_found_and_named(support: ModuleType, copy: Path) -> None:
    sound = (copy / FEATURES).read_bytes()
    _flip_a_byte(copy / FEATURES, "tasks/01/train/H")

    said, hint = _refused(support.taamctl(copy, "inspect", FEATURES, "--check"), support)
    assert FEATURES in said
    assert hint != ""
    sidecar_of(
        copy / FEATURES
    ).unlink()  # without a record of the whole file, the checksum of the array still tells
    said, hint = _refused(support.taamctl(copy, "inspect", FEATURES, "--check"), support)
    assert f"{FEATURES}: tasks/01/train/H does not match its checksum" in said
    assert hint != ""
    said, hint = _refused(support.taamctl(copy, *support.call("train")), support)
    assert f"{FEATURES}: tasks/01/train/H does not match its checksum" in said
    assert hint == "hint: make it again with: taamctl precompute --dataset synthetic --force"

    mended = support.taamctl(copy, *support.call("precompute"))
    assert mended.code == 0
    assert "wrote" in mended.err
    assert (copy / FEATURES).read_bytes() == sound


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-1000])


def _empty(path: Path) -> None:
    path.write_bytes(b"")


def _text(path: Path) -> None:
    path.write_text("these are no features\n", encoding="utf-8")


def _unmark(path: Path) -> None:
    with h5py.File(path, "r+") as opened:
        del opened.attrs["complete"]


def _age(path: Path) -> None:
    with h5py.File(path, "r+") as opened:
        opened.attrs["schema_version"] = 999


def _swap(path: Path) -> None:
    shutil.copyfile(path.parents[2] / "split/synthetic/split.h5", path)


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (_cut, "is broken"),
        (_empty, "is broken"),
        (_text, "is broken"),
        (_unmark, "is incomplete"),
        (_age, "has version 999 of precompute"),
        (_swap, "holds a split artefact, expected precompute"),
    ],
)
def test_a_damaged_artefact_is_refused_by_the_stage_that_reads_it(
    damage: Any, says: str, support: ModuleType, copy: Path
) -> None:
    damage(copy / FEATURES)
    error, hint = _refused(support.taamctl(copy, *support.call("train")), support)
    assert f"{FEATURES} is not as it was written" in error
    assert "taamctl precompute --dataset synthetic" in hint
    sidecar_of(copy / FEATURES).unlink()  # without a record, the file itself tells
    error, hint = _refused(support.taamctl(copy, *support.call("train")), support)
    assert FEATURES in error
    assert says in error
    assert "taamctl precompute --dataset synthetic" in hint


@pytest.mark.parametrize(
    ("damage", "says"), [(_cut, "is broken"), (_unmark, "is incomplete"), (Path.unlink, "no file")]
)
def test_inspect_refuses_what_is_not_whole(
    damage: Any, says: str, support: ModuleType, copy: Path
) -> None:
    damage(copy / FEATURES)
    error, _ = _refused(support.taamctl(copy, "inspect", FEATURES), support)
    assert FEATURES in error
    sidecar_of(copy / FEATURES).unlink()
    error, _ = _refused(support.taamctl(copy, "inspect", FEATURES), support)
    assert FEATURES in error
    assert says in error


# --------------------------------------------------------------------------------------------------


def _times(folder: Path) -> dict[str, int]:
    return {
        str(p): p.stat().st_mtime_ns
        for p in sorted((folder / "outputs").rglob("*"))
        if p.is_file() and not p.name.startswith(".")
    }


def test_run_json_is_one_strict_array_and_nothing_else(support: ModuleType, copy: Path) -> None:
    times, bytes_ = _times(copy), support.artefacts(copy / "outputs")

    second = support.taamctl(copy, *support.call("run", "--json"))

    assert second.code == 0
    rows = support.strict_json(second.out)
    assert [(r["dataset"], r["method"], r["seed"]) for r in rows] == [("synthetic", "finetune", 1)]
    assert set(rows[0]) == RESULT_KEYS
    assert 0 <= rows[0]["aa"] <= 1
    assert len(rows[0]["matrix"]) == 5
    assert set(rows[0]["seconds"]) == {"split", "precompute", "train", "infer", "eval"}
    assert second.err.count(": reused outputs/") == 6
    assert "wrote" not in second.err
    assert _times(copy) == times

    forced = support.taamctl(copy, *support.call("run", "--json", "--force", "--quiet"))
    assert forced.code == 0
    assert forced.err == ""
    volatile = ("seconds", "peak_memory_mib")
    assert [
        {k: v for k, v in r.items() if k not in volatile} for r in support.strict_json(forced.out)
    ] == [{k: v for k, v in r.items() if k not in volatile} for r in rows]
    assert support.artefacts(copy / "outputs") == bytes_
    assert _times(copy).keys() == times.keys()
    assert all(now > times[path] for path, now in _times(copy).items()), (
        "--force left something as it was"
    )


def test_a_table_without_a_terminal_is_plain_text(support: ModuleType, copy: Path) -> None:
    shown = support.taamctl(copy, *support.call("run"))
    assert shown.code == 0
    assert re.search(r"^synthetic +finetune ", shown.out, re.MULTILINE)
    again = support.taamctl(copy, *support.call("report"))
    assert (again.code, again.out) == (0, shown.out)
    stored = support.taamctl(copy, *support.call("report", "--json"))
    assert stored.out == (copy / "outputs/report/report.json").read_text(encoding="utf-8")
    assert stored.err == ""
    assert "\x1b" not in shown.out + shown.err + again.err


def test_inspect(support: ModuleType, copy: Path) -> None:
    tree = support.taamctl(copy, "inspect", FEATURES)
    assert (tree.code, tree.err) == (0, "")
    assert "precompute, schema 3" in tree.out
    assert "all checksums right" not in tree.out
    assert re.search(r"H +float32 \[N=\d+ x F=\d+\]", tree.out.replace("\n", " "))
    assert "\x1b" not in tree.out

    checked = support.taamctl(copy, "inspect", FEATURES, "--check", "--rows", "0")
    assert checked.code == 0
    assert "all checksums right" in " ".join(checked.out.split())

    told = support.taamctl(copy, "inspect", FEATURES, "--json", "--rows", "1")
    assert (told.code, told.err) == (0, "")
    facts = support.strict_json(told.out)
    assert facts["kind"] == "precompute"
    assert facts["params"]["hops"] == 2
    assert facts["made"]["stage"] == "precompute"
    entry = next(e for e in facts["entries"] if e["path"] == "tasks/00/train/H")
    assert (entry["dtype"], entry["dims"], len(entry["head"])) == ("float32", ["N", "F"], 1)
    for artefact in (copy / "outputs").rglob("*.h5"):
        assert support.taamctl(copy, "inspect", str(artefact), "--check").code == 0


# --------------------------------------------------------------------------------------------------


def test_doctor_says_with_its_exit_code_whether_something_clashes(
    support: ModuleType, tmp_path: Path
) -> None:
    told = support.taamctl(tmp_path, "doctor", "--json")
    facts = support.strict_json(told.out)
    assert told.code == (1 if facts["clashes"] else 0)
    assert facts["backends"]["scipy"] == "works"
    shown = support.taamctl(tmp_path, "doctor")
    assert shown.code == told.code
    assert f"torch                  {facts['versions']['torch']}" in shown.out
    assert "Traceback" not in shown.err


def test_doctor_finds_a_broken_installation(support: ModuleType, tmp_path: Path) -> None:
    (tmp_path / "dgl").mkdir()
    (tmp_path / "dgl" / "__init__.py").write_text(
        "raise ImportError('broken for this test')\n", encoding="utf-8"
    )
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]).rstrip(os.pathsep)
    told = support.taamctl(tmp_path, "doctor", "--json", env=support.environment(PYTHONPATH=path))
    assert told.code == 1
    clashes = support.strict_json(told.out)["clashes"]
    assert any("dgl" in c["what"] and c["fix"] for c in clashes)


# --------------------------------------------------------------------------------------------------


EPOCHS = 20


def test_an_interrupted_training_run_says_so_and_goes_on_later(
    support: ModuleType, copy: Path, tmp_path: Path
) -> None:
    trained = copy / "outputs/train/synthetic/finetune/seed-1/train.h5"
    whole = support.taamctl(copy, *support.call("train", epochs=EPOCHS))
    assert whole.code == 0
    undisturbed = trained.read_bytes()
    shutil.rmtree(copy / "outputs/train")

    at_second = support.signalled(tmp_path, "task-001.h5", signal.SIGINT)
    stopped = support.taamctl(copy, *support.call("train", epochs=EPOCHS), env=at_second)

    assert stopped.code == 130
    assert stopped.out == ""
    assert stopped.err.endswith(
        "interrupted; finished tasks are kept, run the same command again to go on\n"
    )
    assert "Traceback" not in stopped.err
    assert not trained.exists()
    assert [p.name for p in support.checkpoints(copy / "outputs")] == ["task-000.h5"]
    assert support.temporaries(copy / "outputs") == []
    again = support.taamctl(copy, *support.call("train", epochs=EPOCHS))
    assert again.code == 0
    assert "task 1/5: taken from the checkpoint" in again.err
    assert trained.read_bytes() == undisturbed


def test_an_interrupt_on_a_terminal_gives_the_cursor_back(
    support: ModuleType, copy: Path, tmp_path: Path
) -> None:
    pty = pytest.importorskip("pty")
    ours, theirs = pty.openpty()
    at_second = support.signalled(tmp_path, "task-001.h5", signal.SIGINT, TERM="xterm")
    process = support.start(copy, *support.call("train", epochs=150), stderr=theirs, env=at_second)
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the end of a terminal is an error
        while piece := os.read(ours, 1 << 16):
            shown += piece
    os.close(ours)
    assert support.finish(process).code == 130
    assert shown.count(b"\x1b[?25l") > 0, "no bar was drawn"
    assert shown.rfind(b"\x1b[?25h") > shown.rfind(b"\x1b[?25l")
    assert shown.rstrip().endswith(b"run the same command again to go on")


@pytest.mark.parametrize(
    "arguments",
    [("inspect", FEATURES, "--json"), ("--version",), ("--help",), ("report", "--json")],
    ids=lambda a: " ".join(a),
)
def test_a_reader_that_goes_away_is_no_error(
    arguments: tuple[str, ...], support: ModuleType, copy: Path
) -> None:
    if arguments[0] == "report":
        arguments = support.call(*arguments)
    process = support.start(copy, *arguments)
    process.stdout.close()
    err = process.stderr.read()
    assert process.wait(support.LIMIT) == 0
    assert "Traceback" not in err
    assert "Exception ignored" not in err


def test_work_goes_on_when_nobody_reads_its_progress(support: ModuleType, copy: Path) -> None:
    shutil.rmtree(copy / "outputs/train")
    process = support.start(copy, *support.call("train"))
    process.stderr.close()
    assert process.stdout.read() == ""
    assert process.wait(support.LIMIT) == 0
    assert (copy / "outputs/train/synthetic/finetune/seed-1/train.h5").is_file()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full here")
@pytest.mark.parametrize(
    "arguments", [("--version",), ("inspect", FEATURES, "--json")], ids=lambda a: a[0]
)
def test_output_that_cannot_be_written_is_an_error(
    arguments: tuple[str, ...], support: ModuleType, made: Path
) -> None:
    with Path("/dev/full").open("w") as full:
        process = support.start(made, *arguments, stdout=full)
        done = support.finish(process)
    assert done.code == 2
    errors, _ = support.error_lines(done)
    assert errors == ["error: input or output failed: No space left on device"]
    assert "Traceback" not in done.err


@pytest.mark.parametrize("closed", [">&-", "2>&-", "<&- >&- 2>&-"])
def test_closed_streams_do_no_harm(closed: str, support: ModuleType, copy: Path) -> None:
    shutil.rmtree(copy / "outputs/report")
    command = " ".join([*support.TAAMCTL, *support.call("report"), closed])
    done = subprocess.run(
        ["sh", "-c", command],
        cwd=copy,
        capture_output=True,
        text=True,
        env=support.environment(),
        check=False,
    )
    assert done.returncode == 0
    assert (copy / "outputs/report/report.json").is_file()
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("stdin", ["DEVNULL", "PIPE"])
def test_missing_raw_data_is_named_and_nothing_is_asked(
    stdin: str, support: ModuleType, tmp_path: Path
) -> None:
    (tmp_path / "data").mkdir()
    process = support.start(
        tmp_path,
        "run",
        "--dataset",
        "citeseer",
        "--data-root",
        "data",
        stdin=getattr(subprocess, stdin),
    )
    error, hint = _refused(support.finish(process), support)
    assert "citeseer: no raw data under data; looked for data/citeseer/" in error
    assert " into data/citeseer" in hint


def test_a_whole_run_needs_no_stdin_and_prints_no_escape_codes(
    support: ModuleType, tmp_path: Path
) -> None:
    done = support.taamctl(tmp_path, *support.call("run"))
    assert done.code == 0
    assert "task 5/5" in done.err
    assert "\x1b" not in done.out + done.err
    assert "\r" not in done.err


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "arguments",
    [("inspect", "nowhere.h5"), ("run", "--dataset", "nothing"), ("report",)],
    ids=lambda a: a[0],
)
def test_a_traceback_is_shown_only_when_asked_for(
    arguments: tuple[str, ...], support: ModuleType, tmp_path: Path
) -> None:
    _refused(support.taamctl(tmp_path, *arguments), support)
    shown = support.taamctl(tmp_path, "--debug", *arguments)
    assert shown.code != 0
    assert "Traceback (most recent call last)" in shown.err
    assert "TaamctlError" in shown.err


def test_a_profile_is_set_where_a_method_has_it_and_left_elsewhere(
    tmp_path: Path, support: ModuleType
) -> None:
    done = support.taamctl(
        tmp_path,
        *support.call(
            "run",
            "--profile",
            "strict_gcil",
            "--json",
            "--quiet",
            methods=("taam", "twp", "finetune"),
            epochs=1,
        ),
    )
    assert done.code == 0, done.err
    assert {r["method"]: r["profile"] for r in support.strict_json(done.out)} == {
        "taam": "strict_gcil",
        "twp": "release",
        "finetune": "",
    }
    wrong = support.taamctl(
        tmp_path, *support.call("run", "--profile", "txt", methods=("taam", "twp"))
    )
    assert wrong.code == 2
    assert "did you mean text" in wrong.err


def test_a_memory_limit_changes_no_byte_and_one_that_is_too_low_is_refused(
    tmp_path: Path, support: ModuleType
) -> None:
    assert support.taamctl(tmp_path, *support.call("split")).code == 0
    refused = support.taamctl(tmp_path, *support.call("precompute", "--max-memory", "20M"))
    errors, hints = support.error_lines(refused)
    assert refused.code == 2
    assert re.search(r"precompute \w+ needs about \d+ MiB of memory, .* allows 20 MiB", errors[0])
    assert "--max-memory" in hints[0]
    assert not list((tmp_path / "outputs" / "precompute").rglob("*.h5"))
    wrong = support.taamctl(tmp_path, *support.call("precompute", "--max-memory", "lots"))
    assert support.error_lines(wrong)[0] == ["error: --max-memory lots: no size"]
    assert support.taamctl(tmp_path, *support.call("precompute")).code == 0
    whole = (tmp_path / FEATURES).read_bytes()
    enough = hints[0].split("--max-memory ")[1].split()[0]
    limited = support.taamctl(
        tmp_path,
        *support.call("precompute", "--force", "--max-memory", f"{int(enough[:-1]) + 20}M"),
    )
    assert limited.code == 0, limited.err
    assert (tmp_path / FEATURES).read_bytes() == whole
    assert "--max-memory" in support.taamctl(tmp_path, "precompute", "--help").out


def test_threads_wait_asleep_unless_told_otherwise(support: ModuleType, tmp_path: Path) -> None:
    code = (
        "import os, sys; sys.argv = ['taamctl', 'methods', 'list']; from taamctl.cli.app import "
        "entry\ntry:\n    entry()\nfinally:\n    print('policy', os.environ['OMP_WAIT_POLICY'])"
    )
    for told, want in ((None, "PASSIVE"), ("ACTIVE", "ACTIVE")):
        environment = {k: v for k, v in support.environment().items() if k != "OMP_WAIT_POLICY"}
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=False,
            env=environment | ({"OMP_WAIT_POLICY": told} if told else {}),
        )
        assert f"policy {want}" in done.stdout, done.stderr
