"""SIGKILL every stage at random points: nothing half-written is ever seen, and the same command run
again gives the same bytes.

TAAMCTL_KILLS sets the kills per stage (default 3). `pytest -rP` shows what became of them.
"""

from __future__ import annotations

import contextlib
import os
import random
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

import pytest

KILLS = int(os.environ.get("TAAMCTL_KILLS", "3"))
METHODS, EPOCHS = ("taam", "finetune"), 20
STAGES = ("split", "precompute", "train", "infer", "eval", "report")
# A kill "at a write" waits for one of the first so many changes on disk.
WRITES = {"split": 4, "precompute": 4, "train": 20, "infer": 6, "eval": 12, "report": 8}
ENDED = {signal.SIGKILL: (-signal.SIGKILL,), signal.SIGINT: (130, -signal.SIGINT)}


@dataclass(frozen=True)
class Story:
    """What an undisturbed run makes (`new`), what other parameters make (`old`), and how long
    each stage's command takes.
    """

    new: Path
    old: Path
    seconds: dict[str, float]


@dataclass(frozen=True)
class Trial:
    """What became of one kill."""

    how: str
    landed: bool
    complete: int
    resumed: int
    faults: tuple[str, ...]


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> Story:
    base, seconds = tmp_path_factory.mktemp("undisturbed"), {}
    for name, change in (("new", ()), ("old", ("--set", "split.seed=7"))):
        made = support.taamctl(
            base, *support.call("run", *change, "--outputs", name, methods=METHODS, epochs=EPOCHS)
        )
        assert made.code == 0, made.err
    before = support.artefacts(base / "new")
    for path in before:
        support.read_whole(base / "new" / path)
    assert {p.split("/")[0] for p in before} == set(STAGES)
    old = support.artefacts(base / "old")
    assert all(old[p] != data for p, data in before.items() if p.endswith(".h5"))
    for stage in STAGES:
        began = time.perf_counter()  # of a new Python, as those that are killed are
        call = (*_call(support, stage), "--force", "--outputs", "new")
        made = support.finish(support.start(base, *call))
        seconds[stage] = time.perf_counter() - began
        assert made.code == 0, made.err
    assert support.artefacts(base / "new") == before
    return Story(base / "new", base / "old", seconds)


def _call(support: ModuleType, stage: str) -> tuple[str, ...]:
    return support.call(stage, methods=METHODS, epochs=EPOCHS)


@pytest.mark.parametrize("stage", STAGES)
def test_a_killed_stage_leaves_nothing_half_written_and_runs_again_to_the_same_bytes(
    stage: str, story: Story, support: ModuleType, tmp_path: Path
) -> None:
    with ThreadPoolExecutor(min(2, os.cpu_count() or 1)) as pool:
        trials = list(
            pool.map(
                lambda n: _trial(stage, n, story, support, tmp_path / f"trial-{n}"), range(KILLS)
            )
        )
    hows = sorted({t.how for t in trials})
    print(
        f"{stage}: {len(trials)} kills, {sum(t.landed for t in trials)} landed, "
        f"{sum(t.complete > 0 for t in trials)} left a finished artefact, "
        f"{sum(t.resumed > 0 for t in trials)} resumed ({sum(t.resumed for t in trials)} tasks); "
        + ", ".join(
            f"{h} {sum(t.how == h and t.landed for t in trials)}/{sum(t.how == h for t in trials)}"
            for h in hows
        )
    )
    assert [f for t in trials for f in t.faults] == []
    assert any(t.landed for t in trials)
    if stage == "train":
        assert any(t.resumed for t in trials), "no kill fell between two tasks"


def _trial(stage: str, number: int, story: Story, support: ModuleType, folder: Path) -> Trial:
    """Kill one run, look at what is there, run it again, compare.

    Every other run starts over the artefacts of other parameters.
    """
    rng, faults = random.Random(f"{stage} {number}"), []
    outputs = folder / "outputs"
    outputs.mkdir(parents=True)
    for earlier in STAGES[: STAGES.index(stage)]:
        shutil.copytree(story.new / earlier, outputs / earlier)
    whole = support.artefacts(story.new)
    allowed = {path: [data] for path, data in whole.items()}
    if number % 2:
        shutil.copytree(story.old / stage, outputs / stage)
        for path, data in support.artefacts(story.old / stage).items():
            allowed[f"{stage}/{path}"].append(data)
    how, sent = _plan(stage, number)
    landed = False
    for _ in range(2 if number % 8 == 5 else 1):
        landed |= _kill(stage, how, sent, rng, story, support, outputs, faults)
        faults += _half_written(support, outputs, allowed)
    complete = sum(
        data == allowed[path][0] and data not in allowed[path][1:]
        for path, data in support.artefacts(outputs).items()
        if path.startswith(f"{stage}/")
    )
    again = support.taamctl(folder, *_call(support, stage), "--no-wait")
    if again.code != 0:
        faults.append(f"{how}: the second run failed: {again.err}")
    if support.artefacts(outputs) != {
        p: d for p, d in whole.items() if STAGES.index(p.split("/")[0]) <= STAGES.index(stage)
    }:
        faults.append(f"{how}: other bytes than the undisturbed run")
    faults += [
        f"{how}: {p} is left"
        for p in (*support.temporaries(outputs), *support.checkpoints(outputs))
    ]
    shutil.rmtree(folder)
    return Trial(how, landed, complete, again.err.count("taken from the checkpoint"), tuple(faults))


def _plan(stage: str, number: int) -> tuple[str, signal.Signals]:
    """Return when to kill: at any time, late, or at a change on disk; every eighth time with
    Ctrl-C, which must tidy up too.
    """
    if number == 0 and stage != "train":
        return "at the first write", signal.SIGKILL
    if stage == "train" and number % 6 == 0:
        return "between tasks", signal.SIGKILL
    if number % 8 == 6:
        return "at a write, Ctrl-C", signal.SIGINT
    return ("at a write", "any time", "late")[number % 3], signal.SIGKILL


def _kill(
    stage: str,
    how: str,
    sent: signal.Signals,
    rng: random.Random,
    story: Story,
    support: ModuleType,
    outputs: Path,
    faults: list[str],
) -> bool:
    """Start the stage's command, kill its process group, and tell whether the signal ended it."""
    process = support.start(outputs.parent, *_call(support, stage))
    if how == "any time":
        time.sleep(rng.uniform(0, 1.1) * story.seconds[stage])
    elif how == "late":
        time.sleep(rng.uniform(0.6, 1.1) * story.seconds[stage])
    elif how == "between tasks":
        kept = (
            outputs
            / ".checkpoints"
            / "synthetic"
            / rng.choice(METHODS)
            / "seed-1"
            / f"task-{rng.randrange(4):03d}.h5"
        )
        _wait(process, kept.exists)
    else:
        _wait_for_changes(
            process, outputs, 1 if how == "at the first write" else rng.randint(1, WRITES[stage])
        )
        time.sleep(0 if how == "at the first write" else rng.choice((0, rng.uniform(0, 0.004))))
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, sent)
    ended = support.finish(process)
    if ended.code not in (0, *ENDED[sent]):
        faults.append(f"{how}: exit code {ended.code}: {ended.err}")
    if (
        ended.code == 130
    ):  # a Ctrl-C that comes while Python itself starts or ends is not ours to answer
        faults += (
            [f"{how}: no word of the interrupt: {ended.err}"]
            if "interrupted; finished tasks are kept" not in ended.err
            else []
        )
        faults += [f"{how}: {ended.err}"] if "Traceback" in ended.err else []
    if sent == signal.SIGINT:
        faults += [f"{how}: {p} is left after Ctrl-C" for p in support.temporaries(outputs)]
    return ended.code != 0


def _wait(process: subprocess.Popen[str], come: Callable[[], bool]) -> None:
    while process.poll() is None and not come():
        time.sleep(0.0005)


def _wait_for_changes(process: subprocess.Popen[str], outputs: Path, wanted: int) -> None:
    """Wait until files below `outputs`, beside locks, came, went or were replaced `wanted`
    times.
    """
    seen, changes = _files(outputs), 0
    while process.poll() is None and changes < wanted:
        time.sleep(0.0005)
        now = _files(outputs)
        changes += now != seen
        seen = now


def _files(folder: Path) -> frozenset[tuple[str, int]]:
    found = set()
    with contextlib.suppress(FileNotFoundError):
        for parent, _, names in os.walk(folder):
            with os.scandir(parent) as entries:
                found |= {
                    (e.path, e.inode())
                    for e in entries
                    if e.name in names and not e.name.endswith(".lock")
                }
    return frozenset(found)


def _half_written(support: ModuleType, outputs: Path, allowed: dict[str, list[bytes]]) -> list[str]:
    """Return what is wrong with the files that carry a final name: not readable to the end, or
    of bytes that no whole run makes.
    """
    faults = []
    sidecars = list(outputs.rglob("*.provenance.json"))
    for path in (
        *(outputs / p for p in support.artefacts(outputs)),
        *support.checkpoints(outputs),
        *sidecars,
    ):
        try:
            support.read_whole(path)
        except Exception as error:
            faults.append(f"{path} cannot be read: {error}")
    for path, data in support.artefacts(outputs).items():
        if data not in allowed.get(path, ()):
            faults.append(f"{path} holds bytes that no whole run makes")
    return faults
