"""`--live`: what DVCLive gets while training runs is what the model keeps of its losses."""

from __future__ import annotations

import csv
import sys
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from taamctl.cli.app import app
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.store.artefacts import Artefact
from taamctl.store.train_kind import TRAIN

RUN = ("--dataset", "synthetic", "--method", "finetune", "--seed", "1", "--seed", "2")
SHORT = ("--set", "train.epochs=3", "--set", "train.threads=1")


def shown(folder: Path, seed: int) -> Array:
    file = folder / "plots/metrics/synthetic/finetune" / f"seed-{seed}.tsv"
    lines = list(csv.reader(file.open(encoding="utf-8"), delimiter="\t"))[1:]
    assert [int(step) for step, _ in lines] == list(range(1, len(lines) + 1))
    return np.array([float(loss) for _, loss in lines], np.float32)


def test_every_epoch_of_every_task_is_handed_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("dvclive")
    monkeypatch.chdir(tmp_path)
    for verb in ("split", "precompute"):
        assert CliRunner().invoke(app, [verb, "--dataset", "synthetic", *SHORT]).exit_code == 0
    done = CliRunner().invoke(app, ["train", *RUN, *SHORT, "--live", "live"])
    assert done.exit_code == 0, done.output
    for seed in (1, 2):
        path = tmp_path / f"outputs/train/synthetic/finetune/seed-{seed}/train.h5"
        with Artefact(path, TRAIN) as trained:
            losses = trained.read("loss")
        assert np.array_equal(shown(tmp_path / "live", seed), losses[~np.isnan(losses)])
    assert {path.name for path in tmp_path.iterdir()} == {"live", "outputs"}


def test_without_dvclive_an_error_names_what_installs_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from taamctl.pipeline import loss_log

    monkeypatch.setitem(sys.modules, "dvclive", None)
    with pytest.raises(TaamctlError, match="needs DVCLive") as caught:
        loss_log.begun(tmp_path / "live")
    assert caught.value.hint == "pip install 'taamctl[live]'"
