"""Fixtures that every test may use."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType

import pytest

os.environ.setdefault(
    "DGLBACKEND", "pytorch"
)  # else dgl's first import on a machine writes a file, and prints
os.environ.setdefault(
    "OMP_WAIT_POLICY", "PASSIVE"
)  # as the command line has it, and before anything imports torch
os.environ.setdefault(
    "OMP_NUM_THREADS", "1"
)  # one worker of these tests per core: more threads than cores wait for each other
REPOSITORY = Path(__file__).resolve().parents[1]
sys.path.append(str(Path(__file__).parent))  # helpers import each other by their names


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with real raw data: TAAMCTL_SHARED, else `shared/data` beside the
    repository.
    """
    folder = Path(os.environ.get("TAAMCTL_SHARED") or REPOSITORY.parent / "shared" / "data")
    if not (folder / "citeseer.npz").is_file():
        pytest.skip(f"no real data in {folder} (set TAAMCTL_SHARED)")
    return folder


def _beside(name: str) -> ModuleType:
    """Return a module of shared helpers; tests are no package, so it is loaded from its path."""
    known = f"taamctl_tests_{name}"
    if known not in sys.modules:
        spec = importlib.util.spec_from_file_location(known, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None and spec.loader is not None
        sys.modules[known] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules[known])
    return sys.modules[known]


@pytest.fixture(scope="session")
def support() -> ModuleType:
    """Return the module that runs the command line."""
    return _beside("support")


@pytest.fixture
def quick_readers(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the process that reads a file in a foreign format find its libraries loaded."""
    import warm

    from taamctl.importing import guarded

    if warm.can_become(warm.nursery_environment()):
        monkeypatch.setattr(guarded, "_launch", warm.read_guarded)


@pytest.fixture(scope="session")
def made_up() -> ModuleType:
    """Return the module that makes up evaluations."""
    return _beside("made_up")


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    """Return a headless browser; skip where none is installed."""
    module = _beside("browser")
    found = module.executable()
    if found is None:
        pytest.skip("no chromium here")
    with module.Browser(found) as opened:
        yield opened


@pytest.fixture(scope="session")
def script() -> Callable[[str], ModuleType]:
    """Return what imports a script of this folder by its name."""
    return importlib.import_module
