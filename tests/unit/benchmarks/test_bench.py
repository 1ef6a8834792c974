"""The benchmarks start, measure and compare; no time is asserted."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "benchmarks" / "bench.py"


def _bench(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, str(BENCH), *arguments], capture_output=True, text=True, check=False
    )


def test_a_benchmark_writes_what_a_later_run_is_compared_with(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    first = _bench("condensing", "--json", str(kept))
    assert first.returncode == 0, first.stderr
    made = json.loads(kept.read_text())
    assert made["condensing"]["product"]["ratio"] == 1.0
    assert set(made["condensing"]) == {"product", "fused", "written out"}
    assert made["machine"]["cores"] >= 1
    again = _bench("condensing", "--compare", str(kept))
    assert again.returncode == 0, again.stderr
    assert again.stdout.count("[ratio was ") == 3


def test_a_wrong_name_and_a_missing_comparison_are_told_before_any_work(tmp_path: Path) -> None:
    wrong = _bench("propagatoin")
    assert wrong.returncode == 2
    assert "unknown: propagatoin; there are propagation" in wrong.stderr
    missing = _bench("condensing", "--compare", str(tmp_path / "none.json"))
    assert missing.returncode == 2
    assert "none.json" in missing.stderr and not missing.stdout
    other = tmp_path / "other.json"
    other.write_text('{"condensing": [1]}')
    assert "not what --json writes" in _bench("condensing", "--compare", str(other)).stderr
    assert (
        "there is no folder"
        in _bench("condensing", "--json", str(tmp_path / "no" / "x.json")).stderr
    )
