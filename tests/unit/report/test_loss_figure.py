"""Training losses as a table and as a figure."""

from __future__ import annotations

import csv
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.evaluation import loss_curves
from taamctl.report import loss_figure, report_rows
from taamctl.report.report_rows import row_of
from taamctl.runtime import provenance


def drawn(tasks: int, epochs: int, seed: int = 3) -> Array:
    rng = np.random.default_rng(seed)
    return rng.lognormal(size=(tasks, epochs)).astype(np.float32)


def test_a_table_reads_back_to_the_same_float32() -> None:
    losses = drawn(4, 7)
    losses[1] = np.nan  # not trained
    losses[3, 5:] = np.nan  # fewer epochs than the others
    text = loss_curves.table(losses)
    found = loss_curves.read(text)
    assert {task: len(curve) for task, curve in found.items()} == {1: 7, 3: 7, 4: 5}
    for task, curve in found.items():
        for epoch, loss in curve:
            assert np.float32(loss) == losses[task - 1, epoch - 1]
    steps = [int(line.split(",")[0]) for line in text.splitlines()[1:]]
    assert steps == list(range(1, 7 + 7 + 5 + 1))


def test_a_closed_form_has_no_curve(tmp_path: Path) -> None:
    evaluation = tmp_path / "eval.json"
    table = tmp_path / "loss.csv"
    table.write_text(loss_curves.table(np.zeros((5, 1), np.float32)), encoding="utf-8")
    assert loss_figure.files([evaluation]) == []
    table.write_text(loss_curves.table(drawn(2, 2)), encoding="utf-8")
    assert loss_figure.files([evaluation]) == [table]


def test_what_is_no_table_of_losses_is_refused(tmp_path: Path) -> None:
    evaluation = tmp_path / "eval.json"
    evaluation.write_text("{}", encoding="utf-8")
    table = tmp_path / "loss.csv"
    table.write_text("step,task,epoch,loss\n1,1,1,0.5\n", encoding="utf-8")
    found = loss_figure.read([table], [evaluation])
    assert found == {provenance.sha256(evaluation): {1: [(1, 0.5)]}}
    table.write_text("step,task,epoch,loss\n1,one,1,0.5\n", encoding="utf-8")
    with pytest.raises(TaamctlError, match="no table of losses"):
        loss_figure.read([table], [evaluation])


@pytest.mark.parametrize(("count", "most"), [(1, 8), (8, 8), (9, 8), (200, 60), (61, 60)])
def test_a_long_row_is_cut_evenly_and_keeps_its_ends(count: int, most: int) -> None:
    found = loss_figure._spread(count, most)
    assert found[0] == 1
    assert found[-1] == count
    assert len(found) == min(count, most)
    steps = np.diff(found)
    assert steps.size == 0 or steps.max() - steps.min() <= 1


def test_a_panel_per_task_holds_the_losses_of_the_first_seed_that_has_some(
    made_up: ModuleType,
) -> None:
    study = made_up.Study(right={"net": 0.8, "closed": 0.7})
    made = [made_up.evaluation(study, "shop", m, seed) for m in study.right for seed in (1, 2)]
    rows = report_rows.over_seeds(row_of(each, f"{each.method} {each.seed}") for each in made)
    tasks = len(rows[0].matrix)
    losses = drawn(tasks, 150)
    picture = loss_figure.draw(rows, {"net 2": loss_curves.read(loss_curves.table(losses))})
    lines = list(csv.reader(picture.csv.splitlines()))[1:]
    assert {(line[1], line[2]) for line in lines} == {("2", str(k + 1)) for k in range(tasks)}
    assert len(lines) == tasks * loss_figure.POINTS
    for _, _, task, epoch, loss in lines:
        assert np.float32(loss) == losses[int(task) - 1, int(epoch) - 1]
    assert b"mathdefault" not in picture.svg  # a scale in plain numbers


def test_a_task_with_one_loss_has_no_line() -> None:
    nan = float("nan")
    losses = np.array([[0.5, nan, nan], [0.4, 0.3, nan]], np.float32)
    assert loss_curves.table(losses).splitlines()[1:] == ["1,2,1,0.4", "2,2,2,0.3"]
