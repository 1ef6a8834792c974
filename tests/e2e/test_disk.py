"""A full disk, outputs that cannot be written, and two processes at one artefact."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

STAGES = ("split", "precompute", "train", "infer", "eval", "report")
PAGE = 4096
READER = """
import hashlib, sys, h5py
with h5py.File(sys.argv[1], "r") as held:
    print("open", flush=True)
    sys.stdin.readline()
    names = []
    held.visititems(lambda name, at: names.append(name) if isinstance(at, h5py.Dataset) else None)
    arrays = [held[name][()] for name in sorted(names) if held[name].dtype != object]
    print(hashlib.sha256(b"".join(array.tobytes() for array in arrays)).hexdigest())
"""


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Path:
    """Return the outputs of a whole undisturbed run."""
    folder = tmp_path_factory.mktemp("whole")
    done = support.taamctl(folder, *support.call("run"))
    assert done.code == 0, done.err
    return folder / "outputs"


def _mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no file system can be mounted here: {done.stderr.strip()}")


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Yield a folder that is a file system of 4 MiB."""
    if os.geteuid() != 0 or shutil.which("mount") is None:
        pytest.skip("only root can mount a small file system")
    disk = tmp_path / "disk"
    disk.mkdir()
    _mount("-t", "tmpfs", "-o", "size=4m", "tmpfs", str(disk))
    try:
        yield disk
    finally:
        subprocess.run(["umount", "--lazy", str(disk)], check=True)


def _earlier(made: Path, outputs: Path, stage: str) -> None:
    """Copy what the stages before `stage` made."""
    outputs.mkdir(exist_ok=True)
    for name in STAGES[: STAGES.index(stage)]:
        shutil.copytree(made / name, outputs / name)


def _fill(disk: Path, leave: int) -> Path:
    """Fill a file system but for `leave` bytes."""
    filler, state = disk / "filler", os.statvfs(disk)
    filler.write_bytes(bytes(state.f_bavail * state.f_frsize - leave))
    return filler


# Pages left free: none, not even for the lock; the lock only; the artefact cut short early or late,
# in its first or a later file.
@pytest.mark.parametrize(
    ("stage", "pages"),
    [
        ("split", 0),
        ("split", 3),
        ("split", 20),
        ("precompute", 30),
        ("train", 1),
        ("eval", 1),
        ("report", 6),
    ],
)
def test_a_full_disk_is_one_error_line_and_leaves_nothing(
    stage: str, pages: int, small_disk: Path, made: Path, support: ModuleType, tmp_path: Path
) -> None:
    outputs = small_disk / "outputs"
    _earlier(made, outputs, stage)
    before = support.artefacts(outputs)
    filler = _fill(small_disk, pages * PAGE)

    full = support.taamctl(tmp_path, *support.call(stage, "--outputs", str(outputs)))

    assert full.code == 2, full.err
    assert full.out == ""
    errors, hints = support.error_lines(full)
    assert len(errors) == 1
    assert "no space left" in errors[0]
    assert str(outputs) in errors[0]
    assert len(hints) == 1
    assert "free some space" in hints[0]
    assert "Traceback" not in full.err
    assert support.temporaries(outputs) == []
    whole = support.artefacts(made)
    after = support.artefacts(outputs)
    assert all(whole[path] == data for path, data in after.items()), (
        "a partial artefact carries a final name"
    )
    if stage in ("split", "precompute", "train"):
        assert after == before
    for kept in support.checkpoints(outputs):
        support.read_whole(kept)

    filler.unlink()
    again = support.taamctl(tmp_path, *support.call(stage, "--outputs", str(outputs)))
    assert again.code == 0, again.err
    assert support.artefacts(outputs) == {
        p: d for p, d in whole.items() if STAGES.index(p.split("/")[0]) <= STAGES.index(stage)
    }
    assert support.temporaries(outputs) == []
    assert support.checkpoints(outputs) == []


def test_a_full_disk_keeps_the_tasks_that_were_trained(
    small_disk: Path, made: Path, support: ModuleType, tmp_path: Path
) -> None:
    outputs = small_disk / "outputs"
    _earlier(made, outputs, "train")
    filler = _fill(small_disk, 60 * PAGE)
    full = support.taamctl(tmp_path, *support.call("train", "--outputs", str(outputs)))
    assert full.code == 2, full.err
    kept = len(support.checkpoints(outputs))
    assert kept > 0
    filler.unlink()
    again = support.taamctl(tmp_path, *support.call("train", "--outputs", str(outputs)))
    assert again.err.count("taken from the checkpoint") == kept
    assert (outputs / "train/synthetic/finetune/seed-1/train.h5").read_bytes() == (
        made / "train/synthetic/finetune/seed-1/train.h5"
    ).read_bytes()


def test_a_full_disk_does_not_touch_the_artefact_that_was_there(
    small_disk: Path, made: Path, support: ModuleType, tmp_path: Path
) -> None:
    outputs = small_disk / "outputs"
    shutil.copytree(made, outputs)
    before = support.artefacts(outputs)
    _fill(small_disk, 10 * PAGE)
    full = support.taamctl(
        tmp_path, *support.call("precompute", "--force", "--outputs", str(outputs))
    )
    assert full.code == 2, full.err
    assert support.artefacts(outputs) == before
    reused = support.taamctl(tmp_path, *support.call("precompute", "--outputs", str(outputs)))
    assert reused.code == 0, reused.err
    assert "reused" in reused.err


@pytest.fixture(params=["read-only file system", "folders without write permission"])
def read_only(
    request: pytest.FixtureRequest, tmp_path: Path, made: Path, support: ModuleType
) -> Iterator[Callable[..., object]]:
    """Yield a function that runs a command in a folder whose `outputs` are whole and cannot be
    written.
    """
    outputs = tmp_path / "outputs"
    prefix: tuple[str, ...] = ()
    mounted = request.param == "read-only file system"
    if mounted:
        if os.geteuid() != 0 or shutil.which("mount") is None:
            pytest.skip("only root can mount a read-only file system")
        outputs.mkdir()
        _mount("-t", "tmpfs", "-o", "size=8m", "tmpfs", str(outputs))
        shutil.copytree(made, outputs, dirs_exist_ok=True)
        _mount("-o", "remount,ro", str(outputs))
    else:
        shutil.copytree(made, outputs)
        for path in (outputs, *outputs.rglob("*")):
            path.chmod(0o555 if path.is_dir() else 0o444)
        if os.geteuid() == 0:  # root may write anywhere, unless it gives that up
            prefix = ("setpriv", "--bounding-set=-dac_override,-dac_read_search,-fowner")
            if (
                shutil.which("setpriv") is None
                or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
            ):
                pytest.skip("root cannot give up its right to write anywhere here")
    try:
        yield lambda *arguments: support.taamctl(tmp_path, *arguments, prefix=prefix)
    finally:
        if mounted:
            subprocess.run(["umount", "--lazy", str(outputs)], check=True)
        else:
            for path in (outputs, *(p for p in outputs.rglob("*") if p.is_dir())):
                path.chmod(0o755)


def test_read_only_outputs_can_be_read(
    read_only: Callable[..., object], made: Path, support: ModuleType
) -> None:
    shown = read_only("inspect", "outputs/precompute/synthetic/features.h5", "--check", "--json")
    assert shown.code == 0, shown.err
    assert json.loads(shown.out)["kind"] == "precompute"
    assert read_only("inspect", "outputs/train/synthetic/finetune/seed-1/train.h5").code == 0

    report = read_only(*support.call("report", "--json"))
    assert report.code == 0, report.err
    assert report.out == (made / "report" / "report.json").read_text()

    everything = read_only(*support.call("run", "--json"))
    assert everything.code == 0, everything.err
    assert everything.err.count("reused") == len(STAGES)
    assert len(json.loads(everything.out)) == 1


@pytest.mark.parametrize("stage", STAGES)
def test_a_stage_that_must_write_into_read_only_outputs_names_the_path(
    stage: str, read_only: Callable[..., object], made: Path, support: ModuleType
) -> None:
    done = read_only(*support.call(stage, "--force"))
    assert done.code == 2, done.err
    assert done.out == ""
    errors, hints = support.error_lines(done)
    target = {
        "split": "outputs/split/synthetic/split.h5",
        "precompute": "outputs/precompute/synthetic/features.h5",
        "report": "outputs/report/report.json",
    }.get(stage, f"outputs/{stage}/synthetic/finetune/seed-1/{stage}.")
    assert len(errors) == 1
    assert errors[0].startswith(f"error: cannot write {target}")
    assert len(hints) == 1
    assert "--outputs" in hints[0]
    assert "Traceback" not in done.err


def _stopped_writer(
    support: ModuleType, folder: Path, hooks: Path, stage: str
) -> subprocess.Popen[str]:
    """Start a stage that stops while it holds its lock, and return it once it has stopped."""
    stopping = support.signalled(hooks, f"{stage}.h5", signal.SIGSTOP)
    process = support.start(folder, *support.call(stage), env=stopping)
    told = os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    assert told is not None
    assert told.si_code == os.CLD_STOPPED, support.finish(process).err
    return process


def test_the_second_writer_waits_and_is_told_who_writes(
    made: Path, support: ModuleType, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    _earlier(made, tmp_path / "outputs", "train")
    first = _stopped_writer(support, tmp_path, tmp_path_factory.mktemp("signal"), "train")
    try:
        refused = support.taamctl(tmp_path, *support.call("train", "--no-wait"))
        second = support.start(tmp_path, *support.call("train"))
        told = ""
        assert second.stderr is not None
        while "waiting" not in told:
            line = second.stderr.readline()
            assert line, f"the second writer did not wait: {told}"
            told += line
    finally:
        first.send_signal(signal.SIGCONT)
    one, two = support.finish(first), support.finish(second)

    assert refused.code == 2
    errors, hints = support.error_lines(refused)
    assert len(errors) == 1
    assert f"is being written by process {first.pid} " in errors[0]
    assert "train.h5" in errors[0]
    assert len(hints) == 1
    assert "--no-wait" in hints[0]
    assert f"is being written by process {first.pid} " in told
    assert (one.code, two.code) == (0, 0), one.err + two.err
    assert "wrote" in one.err
    assert "reused" in two.err
    assert support.artefacts(tmp_path / "outputs" / "train") == support.artefacts(made / "train")


def test_a_killed_writer_frees_its_lock(
    support: ModuleType, tmp_path: Path, tmp_path_factory: pytest.TempPathFactory
) -> None:
    first = _stopped_writer(support, tmp_path, tmp_path_factory.mktemp("signal"), "split")
    first.kill()
    support.finish(first)
    again = support.taamctl(tmp_path, *support.call("split", "--no-wait"))
    assert again.code == 0, again.err


def test_runs_started_together_end_with_the_same_bytes(
    made: Path, support: ModuleType, tmp_path: Path
) -> None:
    together = [
        support.start(tmp_path, *support.call("run", "--quiet", "--json")) for _ in range(3)
    ]
    ended = [support.finish(process) for process in together]
    assert [done.code for done in ended] == [0, 0, 0], [done.err for done in ended]
    assert [json.loads(done.out)[0]["sha256"] for done in ended] == [
        json.loads(ended[0].out)[0]["sha256"]
    ] * 3
    assert support.artefacts(tmp_path / "outputs") == support.artefacts(made)
    assert support.temporaries(tmp_path / "outputs") == []


def test_a_reader_keeps_the_old_bytes_while_a_writer_replaces_the_file(
    made: Path, support: ModuleType, tmp_path: Path
) -> None:
    outputs = tmp_path / "outputs"
    _earlier(made, outputs, "train")
    features = outputs / "precompute/synthetic/features.h5"
    read = [sys.executable, "-c", READER, str(features)]
    undisturbed = subprocess.run(
        read, input="\n", capture_output=True, text=True, env=support.environment(), check=True
    ).stdout
    reader = subprocess.Popen(
        read, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=support.environment()
    )
    assert reader.stdout is not None
    assert reader.stdout.readline() == "open\n"

    writer = support.taamctl(tmp_path, *support.call("precompute", "--set", "precompute.hops=3"))

    held, _ = reader.communicate("\n", timeout=support.LIMIT)
    assert writer.code == 0, writer.err
    assert reader.returncode == 0
    assert f"open\n{held}" == undisturbed
    new = subprocess.run(
        read, input="\n", capture_output=True, text=True, env=support.environment(), check=True
    ).stdout
    assert new != undisturbed
