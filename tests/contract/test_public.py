"""What `import taamctl` offers: named, typed for its users, and cheap."""

from __future__ import annotations

import os
import subprocess
import sys
from importlib import metadata, resources
from pathlib import Path

import pytest

import taamctl

ROOT = Path(__file__).resolve().parents[2]
USER = """
import taamctl

answers = taamctl.load_bank("model").predict("graph.h5")
reveal_type(answers)
reveal_type(answers.label)
reveal_type(taamctl.__version__)
def names(graph: taamctl.NodeGraph) -> tuple[str, ...]:
    return graph.feature_names
taamctl.load_bank(3)
"""


def test_every_public_name_is_there_and_listed() -> None:
    assert set(taamctl.__all__) <= set(dir(taamctl))
    for name in taamctl.__all__:
        assert getattr(taamctl, name) is not None
    assert taamctl.__version__ == metadata.version("taamctl")
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = taamctl.nothing  # type: ignore[attr-defined]


def test_importing_it_loads_nothing_heavy() -> None:
    program = (
        "import sys, taamctl; dir(taamctl); print({'torch', 'numpy', 'h5py'} & set(sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "set()", done.stderr


def test_a_user_gets_types(tmp_path: Path) -> None:
    assert resources.files("taamctl").joinpath("py.typed").is_file()
    (tmp_path / "user.py").write_text(USER)
    options = ("--follow-imports=silent", "--cache-dir", str(tmp_path / "cache"))
    done = subprocess.run(
        [sys.executable, "-m", "mypy", *options, "user.py"],
        cwd=tmp_path,
        env={**os.environ, "MYPYPATH": str(ROOT)},
        capture_output=True,
        text=True,
    )
    assert 'user.py:5: note: Revealed type is "taamctl.bank.answers.Answers"' in done.stdout
    assert "user.py:6: note: Revealed type is" in done.stdout and "ndarray" in done.stdout
    assert 'user.py:7: note: Revealed type is "' in done.stdout and "str" in done.stdout
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    assert len(errors) == 1 and errors[0].startswith("user.py:10: error: Argument 1"), done.stdout
