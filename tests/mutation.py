"""Change the code at random places, one at a time, and count how many changes the tests notice.

    pip install -e '.[test,mutation]'
    python tests/mutation.py --sample 60 --seed 0

Works on a copy of the checkout with cosmic-ray. Of all mutants of a package a sample is drawn by
seed, so that a run takes minutes and can be repeated; `--sample 0` runs all of them, which takes
days. Prints the share of killed mutants per package, and every survivor as a diff: one that matters
needs a test.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
# package -> the tests that should notice a change in it, fast ones first: one failure is enough
TESTS = {
    "core": ("tests/unit/core", "tests/property"),
    "learning": ("tests/unit/learning", "tests/golden", "tests/contract/test_methods.py"),
    "models": ("tests/unit/models", "tests/golden", "tests/unit/learning"),
    "evaluation": ("tests/unit/evaluation", "tests/golden"),
    "report": ("tests/unit/report",),
}
# In an annotation `X | None` is no operation: nothing that runs could notice a change.
LEFT_OUT = ("core/ReplaceBinaryOperator_BitOr_",)
TIMEOUT = 600.0  # seconds for the tests of one mutant: an endless loop counts as noticed
CONFIG = """
[cosmic-ray]
module-path = "taamctl/{package}"
timeout = {timeout}
excluded-modules = []
test-command = "{python} -m pytest -x -q -p no:cacheprovider {tests}"

[cosmic-ray.distributor]
name = "local"
"""


@dataclass(frozen=True)
class Outcome:
    """What became of one mutant."""

    package: str
    killed: bool
    diff: str


def copy_checkout(folder: Path) -> Path:
    """Return a copy of what the tests need, where code may be changed."""
    copy = folder / "checkout"
    copy.mkdir()
    for name in ("pyproject.toml", "params.yaml", "dvc.yaml", "README.md"):
        shutil.copy(ROOT / name, copy / name)
    for name in ("taamctl", "stages", "tests"):
        shutil.copytree(ROOT / name, copy / name, ignore=shutil.ignore_patterns("__pycache__"))
    return copy


def mutants(package: str, copy: Path, sample: int, seed: int) -> list[Outcome]:
    """Return what became of a sample of the mutants of a package."""
    from cosmic_ray.work_db import use_db
    from cosmic_ray.work_item import TestOutcome, WorkerOutcome, WorkResult

    config = copy / f"{package}.toml"
    session = copy / f"{package}.sqlite"
    tests = " ".join(name for name in TESTS[package] if (copy / name).exists())
    config.write_text(
        CONFIG.format(package=package, timeout=TIMEOUT, python=sys.executable, tests=tests)
    )
    environment = {**os.environ, "PYTHONPATH": str(copy), "PYTHONDONTWRITEBYTECODE": "1"}

    def cosmic_ray(*arguments: str) -> None:
        command = [sys.executable, "-m", "cosmic_ray.cli", *arguments]
        subprocess.run(command, cwd=copy, env=environment, check=True)

    cosmic_ray("init", str(config), str(session))
    with use_db(session) as database:
        items = sorted(database.work_items, key=lambda item: str(item.mutations))
        possible = [
            item for item in items if not item.mutations[0].operator_name.startswith(LEFT_OUT)
        ]
        chosen = possible
        if sample:
            chosen = random.Random(seed).sample(possible, min(sample, len(possible)))
        keep = {item.job_id for item in chosen}
        skipped = [item.job_id for item in items if item.job_id not in keep]
        database.set_multiple_results(skipped, WorkResult(worker_outcome=WorkerOutcome.SKIPPED))
    cosmic_ray("exec", str(config), str(session))
    with use_db(session) as database:
        return [
            Outcome(package, result.test_outcome != TestOutcome.SURVIVED, result.diff or "")
            for _, result in database.completed_work_items
            if result.worker_outcome != WorkerOutcome.SKIPPED
        ]


def main() -> int:
    """Do what the command line asks for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--package", action="append", choices=tuple(TESTS))
    parser.add_argument("--sample", type=int, default=60, help="mutants per package; 0: all")
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    outcomes: list[Outcome] = []
    with tempfile.TemporaryDirectory(prefix="taamctl-mutation-") as folder:
        copy = copy_checkout(Path(folder))
        for package in asked.package or TESTS:
            found = mutants(package, copy, asked.sample, asked.seed)
            outcomes += found
            killed = sum(outcome.killed for outcome in found)
            print(f"{package}: {killed} of {len(found)} mutants killed", flush=True)
    for outcome in outcomes:
        if not outcome.killed:
            print(f"\nsurvived in {outcome.package}\n{outcome.diff}")
    killed = sum(outcome.killed for outcome in outcomes)
    print(f"\n{killed} of {len(outcomes)} mutants killed ({killed / max(1, len(outcomes)):.0%})")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
