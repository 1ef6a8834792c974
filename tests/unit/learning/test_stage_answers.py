"""Predictions of every stage, in memory and in a file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from taamctl.learning.routing import stage_answers
from taamctl.learning.routing.stage_answers import StageAnswers


@pytest.mark.parametrize("kind", [np.int16, np.int32])
@pytest.mark.parametrize("seed", range(8))
def test_a_file_gives_what_memory_gives(
    seed: int, kind: type[np.int16 | np.int32], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(stage_answers, "FEW", 0)
    rng = np.random.default_rng(seed)
    shape = (int(rng.integers(1, 6)), int(rng.integers(1, 50)))
    want = np.full(shape, -1, kind)
    held, filed = StageAnswers(shape, kind), StageAnswers(shape, kind, tmp_path)
    for _ in range(int(rng.integers(0, 9))):
        stage, low = int(rng.integers(shape[0])), int(rng.integers(shape[1]))
        labels = rng.integers(32_700, 32_768, int(rng.integers(0, shape[1] - low + 1)))
        columns = slice(low, low + len(labels))
        want[stage, columns] = labels
        for answers in (held, filed):
            answers.put(stage, columns, labels)
    for answers in (held, filed):
        assert np.array_equal(answers.array(), want)
        assert np.array_equal(answers.slices().whole(), want)
        assert answers.array().dtype == kind
