"""Published numbers on real graphs: one seed each, with the bands of independent trials."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

# (data set, method): least and most AA in per cent, one seed
BANDS = {
    ("photo", "taam"): (94.2, 97.7),
    ("photo", "linear_probe"): (95.0, 98.0),
    ("photo", "oracle"): (96.0, 98.0),
    ("photo", "joint"): (93.0, 96.0),
    ("photo", "finetune"): (20.0, 25.0),
    ("citeseer", "taam"): (80.5, 86.5),
    ("citeseer", "linear_probe"): (83.0, 87.0),
    ("photo", "ergnn"): (92.5, 95.5),
    ("photo", "ssm"): (91.1, 94.1),
    ("photo", "pdgnns"): (92.8, 95.8),
    ("photo", "mas"): (20.0, 25.0),
    ("photo", "twp"): (20.0, 25.0),
    ("photo", "gpf"): (92.0, 97.0),
}


@pytest.fixture(scope="module")
def results(
    shared_data: Path, tmp_path_factory: pytest.TempPathFactory
) -> dict[tuple[str, str], dict]:
    folder = tmp_path_factory.mktemp("real")
    found = {}
    for dataset in ("photo", "citeseer"):
        methods = [m for d, m in BANDS if d == dataset]
        done = subprocess.run(
            [
                sys.executable,
                "-m",
                "taamctl",
                "run",
                "--dataset",
                dataset,
                *(a for m in methods for a in ("--method", m)),
                "--seed",
                "1",
                "--json",
                "--quiet",
                "--set",
                "train.threads=1",
                "--set",
                "report.pictures=false",
            ],
            check=True,
            capture_output=True,
            text=True,
            cwd=folder,
            env={**os.environ, "TAAMCTL_DATA": str(shared_data)},
            stdin=subprocess.DEVNULL,
        )
        found |= {(dataset, row["method"]): row for row in json.loads(done.stdout)}
    return found


@pytest.mark.parametrize(("dataset", "method"), sorted(BANDS))
def test_average_accuracy_lies_in_its_band(results: dict, dataset: str, method: str) -> None:
    low, high = BANDS[dataset, method]
    assert low <= 100 * results[dataset, method]["aa"] <= high


@pytest.mark.parametrize("dataset", ["photo", "citeseer"])
def test_taam_forgets_nothing_and_every_task_id_is_right(results: dict, dataset: str) -> None:
    row = results[dataset, "taam"]
    assert row["af"] == 0.0
    assert row["task_id_accuracy"] == 1.0
    assert row["aa_by_scope"]["all_seen"] <= row["aa"]


@pytest.mark.parametrize("method", ["finetune", "mas", "twp"])
def test_without_memory_the_last_task_only_is_kept(results: dict, method: str) -> None:
    row = results["photo", method]
    assert row["af"] > 0.9
    assert row["matrix"][-1][-1] > 0.9
    assert max(row["matrix"][-1][:-1]) < 0.1
