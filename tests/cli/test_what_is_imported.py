"""What commands import: those that compute nothing do without torch, and no verb imports others."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

RUN = (
    *("run", "--dataset", "synthetic", "--method", "taam", "--method", "cat", "--quiet"),
    *("--set", "train.device=cpu", "--set", "train.epochs=2", "--set", "methods.cat.epochs=2"),
    *("--set", "methods.cat.encoders=2"),
)
ON_CPU = ("--set", "train.device=cpu")  # a machine with a GPU asks torch what auto means
AFTER = """
import sys
from taamctl.cli.app import entry
try:
    entry()
finally:
    print(*sorted(sys.modules), file=sys.stderr)
"""


def imported(support: ModuleType, folder: Path, *words: str) -> set[str]:
    """Return the modules that a command that succeeds has imported when it ends."""
    done = subprocess.run(
        [sys.executable, "-c", AFTER, *words],
        cwd=folder,
        capture_output=True,
        text=True,
        env=support.environment(),
        check=True,
    )
    return set(done.stderr.splitlines()[-1].split())


def test_a_run_that_reuses_everything_never_needs_torch(
    support: ModuleType, tmp_path: Path
) -> None:
    assert "torch" in imported(support, tmp_path, *RUN)
    again = imported(support, tmp_path, *RUN)
    assert "taamctl.methods.cat" in again
    assert "torch" not in again


@pytest.mark.parametrize(
    "words",
    [
        ("methods", "list"),
        ("methods", "show", "delome"),
        ("plan", "--no-calibrate", "--dataset", "synthetic", "--method", "all", *ON_CPU),
    ],
    ids=" ".join,
)
def test_what_methods_declare_is_read_without_torch(
    support: ModuleType, tmp_path: Path, words: tuple[str, ...]
) -> None:
    found = imported(support, tmp_path, *words)
    assert "taamctl.methods.delome" in found
    assert "torch" not in found


def test_the_help_imports_no_verb_and_a_verb_no_other(support: ModuleType, tmp_path: Path) -> None:
    for words, verbs in ((("--help",), set()), (("params",), {"taamctl.cli.verb_params"})):
        found = imported(support, tmp_path, *words)
        assert {name for name in found if name.startswith("taamctl.cli.verb_")} == verbs
