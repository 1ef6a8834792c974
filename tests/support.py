"""Run the real command line in a folder, and look at what it left there.

Test modules get this module as the fixture `support`.
"""

from __future__ import annotations

import csv
import json
import os
import re
import shutil
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
import warm

if TYPE_CHECKING:
    import torch

STAGES = ("split", "precompute", "train", "infer", "eval", "report")
PER_RUN = ("train", "infer", "eval", "report", "run")
TAAMCTL = (sys.executable, "-m", "taamctl")
LIMIT = 300  # seconds that no command of these tests comes near; a hang fails instead of blocking

if (
    signal.getsignal(signal.SIGINT) is signal.SIG_IGN
):  # so a shell starts a background job, and the commands would inherit it
    signal.signal(signal.SIGINT, signal.default_int_handler)


@dataclass(frozen=True)
class Result:
    """How a command ended."""

    code: int
    out: str
    err: str


def environment(**changes: str) -> dict[str, str]:
    """Return this environment with one numerical thread and nothing that steers taamctl or
    colours, then `changes`.
    """
    kept = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith("TAAMCTL_") and k not in ("FORCE_COLOR", "NO_COLOR", "COLUMNS")
    }
    path = os.pathsep.join([str(Path(sys.executable).parent), kept.get("PATH", "")])
    return {**kept, "PATH": path, "OMP_NUM_THREADS": "1", **changes}


def with_commands(folder: Path, **changes: str) -> dict[str, str]:
    """Return this environment, in which the shell finds commands that start at once in a new
    folder; they cannot be killed.
    """
    made = environment(**changes)
    if shutil.which("taamctl", path=made["PATH"]) != str(Path(sys.executable).parent / "taamctl"):
        pytest.skip("taamctl is not installed beside this Python")
    if warm.can_become(made):
        made["PATH"] = os.pathsep.join([str(warm.commands(folder)), made["PATH"]])
    return made


def taamctl(folder: Path, *arguments: str, prefix: tuple[str, ...] = (), **options: Any) -> Result:
    """Run `taamctl ARGUMENTS` in `folder` with stdin closed, to its end; `prefix` is a command
    that runs another one.
    """
    options = {"stdin": subprocess.DEVNULL, "env": environment(), **options}
    if not prefix and set(options) == {"stdin", "env"} and warm.can_become(options["env"]):
        return Result(*warm.run(("taamctl", *arguments), folder, options["env"], LIMIT))
    done = subprocess.run(
        [*prefix, *TAAMCTL, *arguments],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        check=False,
        **options,
    )
    return Result(done.returncode, done.stdout, done.stderr)


def start(folder: Path, *arguments: str, **options: Any) -> subprocess.Popen[str]:
    """Start `taamctl ARGUMENTS` in `folder`, in a process group of its own."""
    options = {
        "stdin": subprocess.DEVNULL,
        "stdout": subprocess.PIPE,
        "stderr": subprocess.PIPE,
        "env": environment(),
        **options,
    }
    return subprocess.Popen(
        [*TAAMCTL, *arguments], cwd=folder, text=True, start_new_session=True, **options
    )


SIGNAL_ITSELF = """
import os
replace = os.replace
def signal_and_replace(source, target):
    if os.path.basename(target) == os.environ["SIGNAL_BEFORE"]:
        os.kill(os.getpid(), int(os.environ["SIGNAL"]))
    replace(source, target)
os.replace = signal_and_replace
"""


def signalled(folder: Path, name: str, number: int, **changes: str) -> dict[str, str]:
    """Return an environment in which a command sends itself a signal just before a file called
    `name` comes to stand in its place.

    A signal from outside comes too late on a fast machine and too early on a busy one.
    """
    hooks = folder / "hooks"
    hooks.mkdir()
    (hooks / "sitecustomize.py").write_text(SIGNAL_ITSELF, encoding="utf-8")
    return environment(
        PYTHONPATH=str(hooks), SIGNAL_BEFORE=name, SIGNAL=str(int(number)), **changes
    )


def finish(process: subprocess.Popen[str]) -> Result:
    """Wait for a started command and return how it ended."""
    out, err = process.communicate(timeout=LIMIT)
    return Result(process.returncode, out, err)


def call(
    stage: str, *more: str, methods: tuple[str, ...] = ("finetune",), epochs: int = 5
) -> tuple[str, ...]:
    """Return the arguments that run a stage (or `run`) on the small synthetic data set, on one
    thread.
    """
    grid = (
        [a for m in methods for a in ("--method", m)] + ["--seed", "1"] if stage in PER_RUN else []
    )
    data = ("--dataset", "synthetic", "--set", f"train.epochs={epochs}", "--set", "train.threads=1")
    return (stage, *data, *grid, *more)


def shortened(params: str) -> str:
    """Return the text of a params.yaml whose runs do the same in less time: two epochs, narrow
    profiles of routers and regressions, one size of batches, one thread.
    """
    text = params
    for pattern, short in (
        (r"epochs: \d+", "epochs: 2"),
        (r"width: 1400 ", "width: 100 "),
        (r"widest: 4096 ", "widest: 200 "),
        (r"batches: \[[\d, ]+\]", "batches: [20]"),
        (r"threads: \d+", "threads: 1"),
    ):
        text, found = re.subn(pattern, short, text)
        assert found, pattern
    return text


def artefacts(outputs: Path) -> dict[str, bytes]:
    """Return the bytes of every artefact below `outputs`: all files but sidecars, locks, temporary
    files and checkpoints.

    The figure of accuracy against time, and a section of the page, are made from the sidecars'
    seconds and dates, which differ from run to run.
    """
    return {
        str(p.relative_to(outputs)): without_times(p.read_bytes())
        for p in sorted(outputs.rglob("*"))
        if p.is_file()
        and not p.name.startswith(".")
        and not p.name.endswith(".provenance.json")
        and ".checkpoints" not in p.parts
        and not p.name.startswith("accuracy-time-")
    }


def without_times(data: bytes) -> bytes:
    """Return a report's page without the section that says when and how it was made; any other
    file as it is.
    """
    return re.sub(rb'<section id="made">.*?</section>', b"", data, flags=re.DOTALL)


def temporaries(outputs: Path) -> list[Path]:
    """Return the temporary files below `outputs`."""
    return [p for p in outputs.rglob("*.tmp") if p.is_file()]


def checkpoints(outputs: Path) -> list[Path]:
    """Return the kept tasks of unfinished training runs."""
    return sorted((outputs / ".checkpoints").rglob("task-*.h5"))


def read_whole(path: Path) -> None:
    """Read a file to its end as what its name says, so that anything half-written raises."""
    from taamctl.store.artefacts import Artefact

    if path.suffix == ".h5":
        with Artefact(path) as opened:
            for name in opened.paths():
                opened.read(name)
    elif path.suffix == ".json":
        strict_json(path.read_text(encoding="utf-8"))
    elif path.suffix == ".png":
        data = path.read_bytes()
        assert data.startswith(b"\x89PNG") and data.endswith(b"IEND\xaeB`\x82"), (
            f"{path} is cut short"
        )
    elif path.suffix == ".csv":
        rows = list(csv.reader(path.read_text(encoding="utf-8").splitlines()))
        assert rows and all(len(row) == len(rows[0]) for row in rows), f"{path} is cut short"
    else:
        assert path.read_text(encoding="utf-8").endswith("\n"), f"{path} is cut short"


def strict_json(text: str) -> Any:
    """Parse JSON that holds neither NaN nor an infinity."""

    def refuse(name: str) -> Any:
        raise ValueError(f"{name} is no JSON")

    return json.loads(text, parse_constant=refuse)


def error_lines(result: Result) -> tuple[list[str], list[str]]:
    """Return the `error:` and the `hint:` lines of a command."""
    lines = result.err.splitlines()
    return [x for x in lines if x.startswith("error: ")], [
        x for x in lines if x.startswith("hint: ")
    ]


def modulate(
    weights: Mapping[str, torch.Tensor],
    h: torch.Tensor,
    *,
    normalise: bool = True,
    residual: bool = True,
) -> torch.Tensor:
    """Return h' as the equations of TAAM state it, [N, F]: the plain form of what `models.layer`
    computes.
    """
    import torch
    from torch.nn import functional

    from taamctl.models.modulators import modulation

    gamma, beta = modulation(dict(weights))
    a = torch.softmax(functional.linear(h, weights["watt"], weights["watt_bias"]), dim=1)
    scaled = functional.layer_norm(h, h.shape[1:], eps=1e-5) if normalise else h
    moved = (a @ gamma) * scaled + a @ beta
    return moved + h if residual else moved
