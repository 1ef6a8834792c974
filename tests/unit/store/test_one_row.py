"""An array of which one row is in memory."""

from __future__ import annotations

from pathlib import Path

import h5py
import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.store.artefact_writer import create
from taamctl.store.artefacts import Artefact
from taamctl.store.infer_kind import INFER
from taamctl.store.one_row import OneRow


def test_rows_are_those_of_the_array_and_damage_is_seen_by_the_last(tmp_path: Path) -> None:
    path = tmp_path / "infer.h5"
    rng = np.random.default_rng(0)
    answers = rng.integers(0, 9, (5, 70_000)).astype(np.int32)
    create(path, INFER, {}, lambda writer: writer.put("test/all_seen", answers))
    with Artefact(path, INFER) as artefact:
        rows = OneRow(artefact, "test/all_seen")
        assert len(rows) == 5
        for at in (*rng.integers(-5, 5, 12).tolist(), *range(5), -1):
            assert np.array_equal(rows[at], answers[at])
        with pytest.raises(IndexError):
            rows[5]
    with h5py.File(path, "r+") as file:
        file["test/all_seen"][2, 7] += 1
    with Artefact(path, INFER) as artefact:
        rows = OneRow(artefact, "test/all_seen")
        with pytest.raises(TaamctlError, match="all_seen"):
            [rows[at].sum() + rows[at].max() for at in range(5)]
