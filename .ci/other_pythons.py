"""Try a wheel of taamctl under every other Python at hand that it supports.

    python .ci/other_pythons.py WHEEL

A Python that cannot make an environment, or that has no wheels of what taamctl needs, is left out
with a line that says so. Only a fault of taamctl itself makes this end with 1.

Where the only torch is a CUDA build of several GB, what needs no torch is tried; with ALL_WHEELS=1
in the environment that torch is taken.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator, Sequence
from pathlib import Path

from packaging.markers import default_environment
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
NEED_TORCH = ("torch", "ogb")
# dgl has no wheel for these Pythons, and dvc brings a hundred packages that no stage imports
LEFT_OUT = ("dgl", "dvc")
SECONDS = 150  # for one command; a registry that takes longer counts as one without the wheel
ASK = "import ensurepip, ssl, sys; print('.'.join(map(str, sys.version_info[:3])))"
WITHOUT_TORCH = (("params",), ("data", "list"), ("run", "--help"))
RUN = ("run", "--dataset", "synthetic", "--method", "taam", "--method", "linear_probe")
RUN += ("--seed", "1", "--set", "train.epochs=20")


class Lacking(Exception):
    """Something that this machine does not have."""


def main() -> int:
    """Try every Python; return the exit code."""
    wheel, failed = Path(sys.argv[1]).resolve(), []
    for version, python in sorted(others().items()):
        with tempfile.TemporaryDirectory() as folder:
            try:
                print(
                    f"Python {version}: {tried(python, version, wheel, Path(folder))}", flush=True
                )
            except Lacking as lack:
                print(f"Python {version}: left out: {lack}", flush=True)
            except subprocess.CalledProcessError as error:
                failed.append(version)
                shown = " ".join(map(str, error.cmd))
                print(f"Python {version}: {shown}\n{error.stdout}", flush=True)
    for minor in wanted() - {v.rpartition(".")[0] for v in others()}:
        print(f"Python {minor}: left out: no such interpreter here")
    return bool(failed)


def wanted() -> set[str]:
    """Return the Pythons that the project names as its own, but for this one."""
    head = "Programming Language :: Python :: 3."
    minors = {c.rpartition(" ")[2] for c in PROJECT["classifiers"] if c.startswith(head)}
    return minors - {f"3.{sys.version_info.minor}"}


def others() -> dict[str, Path]:
    """Return the other Pythons that taamctl supports, one of each minor version."""
    found: dict[str, Path] = {}
    minors: set[str] = set()
    for python in candidates():
        done = subprocess.run([python, "-c", ASK], capture_output=True, text=True, check=False)
        version = done.stdout.strip()
        minor = version.rpartition(".")[0]
        if done.returncode == 0 and minor in wanted() - minors:
            minors.add(minor)
            found[version] = python
    return found


def candidates() -> Iterator[Path]:
    """Yield what may be a Python: on the path, and where pyenv keeps its own."""
    for minor in sorted(wanted()):
        on_path = shutil.which(f"python{minor}")
        if on_path:
            yield Path(on_path)
    home = Path(os.environ.get("PYENV_ROOT") or Path.home() / ".pyenv")
    yield from sorted(home.glob("versions/3.*/bin/python3"))


def tried(python: Path, version: str, wheel: Path, folder: Path) -> str:
    """Install the wheel and run it; return what was done.

    Raises:
        Lacking: no environment, or no wheels.
        CalledProcessError: taamctl fails.
    """
    needs(python, "-m", "venv", folder / "v")
    own = folder / "v" / "bin" / "python"
    torch = has_torch(own, folder)
    skipped = LEFT_OUT if torch else (*LEFT_OUT, *NEED_TORCH)
    asked = [need for need in requirements(version) if need.name not in skipped]
    pip(own, *(f"{need.name}{need.specifier}" for need in asked))
    ours(folder, own, "-m", "pip", "install", "--quiet", "--no-deps", wheel)
    taamctl = (own, "-m", "taamctl")
    ours(folder, own, "-W", "error", "-m", "compileall", "-qf", *packages(folder))
    ours(folder, *taamctl, "--version")
    for call in (RUN,) if torch else WITHOUT_TORCH:
        ours(folder, *taamctl, *call)
    return "installed, and run" if torch else "installed; no run: no torch without CUDA here"


def requirements(version: str) -> list[Requirement]:
    """Return what taamctl needs under a Python."""
    there = {
        **default_environment(),
        "python_version": version.rpartition(".")[0],
        "python_full_version": version,
    }
    all_ = [Requirement(text) for text in PROJECT["dependencies"]]
    return [need for need in all_ if need.marker is None or need.marker.evaluate(there)]


def has_torch(own: Path, folder: Path) -> bool:
    """Tell whether a Python gets a torch that brings no CUDA libraries."""
    report = folder / "report.json"
    pip(own, "torch", "--dry-run", "--no-deps", "--report", report)
    (torch,) = json.loads(report.read_text(encoding="utf-8"))["install"]
    brought = [Requirement(text) for text in torch["metadata"].get("requires_dist", ())]
    cuda = [
        need
        for need in brought
        if need.name.startswith(("nvidia-", "cuda-"))
        and (need.marker is None or need.marker.evaluate())
    ]
    return not cuda or os.environ.get("ALL_WHEELS") == "1"


def packages(folder: Path) -> list[Path]:
    """Return where taamctl was installed."""
    return list((folder / "v" / "lib").glob("python3*/site-packages/taamctl"))


def pip(own: Path, *arguments: object) -> None:
    """Install wheels, with the versions that CI has seen where it names any."""
    constraints = ("--constraint", ROOT / ".ci" / "constraints.txt")
    needs(own, "-m", "pip", "install", "--quiet", "--no-compile", "--only-binary", ":all:",
          *constraints, *arguments)  # fmt: skip


def needs(*command: object) -> None:
    """Run what may fail without a fault of taamctl."""
    try:
        _run(command, None)
    except subprocess.TimeoutExpired:
        raise Lacking(f"no answer within {SECONDS} s") from None
    except subprocess.CalledProcessError as error:
        said = [line for line in error.stdout.splitlines() if line.startswith("ERROR")]
        raise Lacking((said or error.stdout.splitlines() or ["it failed"])[-1]) from None


def ours(folder: Path, *command: object) -> None:
    """Run what must not fail, away from the checkout."""
    _run(command, folder)


def _run(command: Sequence[object], folder: Path | None) -> None:
    subprocess.run(
        [str(word) for word in command],
        cwd=folder,
        timeout=SECONDS,
        check=True,
        text=True,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env={k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"},
    )


if __name__ == "__main__":
    sys.exit(main())
