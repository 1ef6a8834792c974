"""The short form of the suite of faults: every kind, on a small world; see tests/faults.py."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

SUITE = Path(__file__).resolve().parents[1] / "faults.py"


@pytest.mark.skipif(sys.platform != "linux", reason="it forks, and sets limits of Linux")
def test_after_every_fault_it_is_right_or_was_refused(support: ModuleType) -> None:
    command = [sys.executable, str(SUITE), "--faults", "40", "--seed", "0"]
    done = subprocess.run(
        command, capture_output=True, text=True, env=support.environment(), check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (told,) = re.findall(r"^(\d+) faults in \d+ s, (\d+) with a violation$", done.stdout, re.M)
    assert told == ("40", "0")
