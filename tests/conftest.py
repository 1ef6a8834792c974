"""Fixtures that every test may use."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="session")
def shared_data() -> Path:
    """Return the folder with real raw data: TAAMCTL_SHARED, else `shared/data` beside the repository."""
    folder = Path(os.environ.get("TAAMCTL_SHARED") or REPOSITORY.parent / "shared" / "data")
    if not (folder / "citeseer.npz").is_file():
        pytest.skip(f"no real data in {folder} (set TAAMCTL_SHARED)")
    return folder
