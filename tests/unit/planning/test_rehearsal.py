"""Methods are rehearsed on drawn rows of the shapes that occur; no time is asserted."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
import yaml

from taamctl.core import registry
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params.params_file import PACKAGED
from taamctl.params.sections import Params
from taamctl.params.train_params import TrainParams
from taamctl.planning import rehearsal, solving
from taamctl.planning.costs import Counts
from taamctl.planning.drawn_stream import CELLS, DrawnStage
from taamctl.planning.rehearsal import Rehearsal
from taamctl.planning.spent import Spent

PARAMS = Params("params.yaml", yaml.safe_load(PACKAGED.read_text(encoding="utf-8")))
TRAIN = replace(PARAMS.section(TrainParams), threads=1, device="cpu", epochs=4)
COUNTS = Counts(
    nodes=200,
    used=800,
    kept=600,
    mixed=100,
    features=12,
    filled=0.3,
    filled_h=0.6,
    classes=6,
    tasks=3,
    train=120,
    val=40,
    test=40,
    largest=40,
)


def of(name: str, counts: Counts = COUNTS, **changes: object) -> Rehearsal:
    own = PARAMS.plugin("methods", name, registry.method_params(name))
    if changes:
        own = replace(own, **changes)  # type: ignore[type-var]
    return Rehearsal(method_class(name), own, TRAIN, counts, 2)


@pytest.mark.parametrize("name", registry.builtin("taamctl.methods"))
def test_every_method_can_be_rehearsed(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rehearsal, "SHORT", 0.0)
    monkeypatch.setattr(solving, "WIDEST", 64)
    threads = torch.get_num_threads()
    found = of(name).run()
    for spent in (found.train, found.infer):
        assert spent.cpu > 0 and spent.wall > 0 and math.isfinite(spent.wall)
    assert torch.get_num_threads() == threads


def test_what_a_method_repeats_beside_epochs_is_found() -> None:
    stage = DrawnStage(COUNTS, 2, 0)
    assert set(of("delome")._repeats(stage)) == {"iterations"}
    assert set(of("cat")._repeats(stage)) == {"encoders"}
    assert of("taam")._repeats(stage) == {}


def test_steps_are_added_up() -> None:
    """A training of 3 + 2 E + 5 f seconds is found again from short ones."""

    def once(epochs: int, repeats: dict[str, int]) -> Spent:
        seconds = 3.0 + 2 * epochs + 5 * repeats["f"]
        return Spent(seconds, seconds)

    least = {"f": rehearsal.LEAST}
    base = once(rehearsal.LEAST, least)
    assert rehearsal._slope(once, least, "", 200, base).cpu == pytest.approx(2)
    assert rehearsal._slope(once, least, "f", 900, base).wall == pytest.approx(5)
    assert rehearsal._slope(once, least, "f", rehearsal.LEAST, base) == Spent()


def test_files_are_priced_by_the_stages_that_are_trained_and_by_rows() -> None:
    """`joint` is trained once, after the last task."""
    train, infer = of("finetune")._files()
    once, same = of("joint")._files()
    assert train - once == pytest.approx(rehearsal.TAUGHT * (COUNTS.tasks - 1))
    assert infer == same == pytest.approx(rehearsal.START + 3 * rehearsal.ASKED, rel=1e-3)
    more = of("finetune", replace(COUNTS, train=10**9))._files()
    assert more[0] > 100 * train and more[1] == infer


def test_drawn_stages_have_the_shapes_of_the_counts() -> None:
    stage = DrawnStage(COUNTS, 2, 1, together=2)
    first, second = stage.data(("x", "edges"))
    assert (first.task.index, second.task.index) == (0, 1)
    assert (second.task.low, second.task.high) == (2, 4)
    for data in (first, second):
        assert data.h.shape == (40, 12)
        assert data.y.unique().tolist() == list(range(data.task.low, data.task.high))
        assert 0.4 < (data.h != 0).float().mean() < 0.8
        assert len(data.extras["x_data"]) == 40 * round(0.3 * 12)
        assert data.extras["indptr"][-1] == len(data.extras["indices"]) == 40 * 4
    assert len(stage.query(()).h) == 13


def test_many_rows_are_cut_and_counted() -> None:
    large = DrawnStage(replace(COUNTS, train=3 * CELLS, features=64), 2, 0)
    assert large.rows * 64 <= CELLS
    assert large.rows * large.cut == pytest.approx(CELLS)
