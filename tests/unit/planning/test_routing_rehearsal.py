"""What task IDs take is put together from what they ask for; no time is asserted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import yaml

from taamctl.core.routings import LINEAR
from taamctl.learning.routing.linear_routing import RouterSettings
from taamctl.learning.routing.routing_choice import Asked
from taamctl.params.params_file import PACKAGED
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.sections import Params
from taamctl.params.train_params import InferParams, LensParams
from taamctl.planning import routing_rehearsal, solving
from taamctl.planning import spent as spent_module
from taamctl.planning.costs import Counts
from taamctl.planning.routing_rehearsal import RoutingRehearsal
from taamctl.planning.solving import Solving
from taamctl.planning.spent import Spent

PARAMS = Params("params.yaml", yaml.safe_load(PACKAGED.read_text(encoding="utf-8")))
COUNTS = Counts(
    nodes=200,
    used=800,
    kept=600,
    mixed=100,
    features=12,
    filled=0.3,
    filled_h=0.6,
    classes=8,
    tasks=4,
    train=120,
    val=40,
    test=40,
    largest=40,
)


def rehearsed(
    router: str, stages: Sequence[int] | None = None, **changes: bool
) -> RoutingRehearsal:
    lens = PARAMS.section(LensParams)
    linear = RouterSettings(replace(lens.router, width=24), lens.temperature)
    infer = replace(PARAMS.section(InferParams), router=router)
    asked = Asked(infer, ("amp", "cosine"), linear, PARAMS.section(PrecomputeParams))
    asked = replace(asked, inferred=changes.pop("inferred", True))
    return RoutingRehearsal(COUNTS, 2, asked, stages, **changes)


def test_regressions_are_priced_where_they_are_looked_at() -> None:
    assert rehearsed("prototype").wanted() == []
    assert rehearsed("auto").wanted() == [1, 2, 3], "at the first stage there is no choice"
    assert rehearsed("auto", [2]).wanted() == [2]
    assert rehearsed("auto", []).wanted() == []
    assert rehearsed("auto", halves=False).wanted() == []
    for router in LINEAR:
        assert rehearsed(router).wanted() == [0, 1, 2, 3]
        assert rehearsed(router, inferred=False).wanted() == []


def test_what_had_to_be_assumed_is_said() -> None:
    assert rehearsed("auto").note == routing_rehearsal.ASSUMED
    for known in (rehearsed("auto", []), rehearsed("ridge"), rehearsed("auto", inferred=False)):
        assert known.note == ""


def test_each_stage_that_is_looked_at_adds_to_the_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only regressions cost here."""
    none = Solving(24, Spent(), Spent(), Spent())
    monkeypatch.setattr(solving.Solving, "measured", staticmethod(lambda width, classes: none))
    monkeypatch.setattr(solving.Solving, "ridge", lambda self, given: Spent(0, 1e6))
    found = [rehearsed("auto", stages).taken.cpu / 1e6 for stages in ([], [1], [1, 3])]
    assert found == pytest.approx([0, 1, 2], abs=1e-3)
    assert rehearsed("auto", inferred=False).taken == Spent()
    assert math.isfinite(rehearsed("auto").taken.wall)


def test_a_ridge_that_is_given_is_not_searched_for() -> None:
    solving = Solving(24, Spent(2.0, 3.0), Spent(1.0, 1.0), Spent())
    assert solving.ridge(None) == Spent(2.0, 3.0)
    assert solving.ridge(0.5) == Spent(1.0, 1.0)


def test_a_wide_system_is_priced_from_a_narrow_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(solving, "WIDEST", 32)
    monkeypatch.setattr(solving, "spent", lambda work: Spent(1.0, 2.0))
    assert Solving.measured(16, 3).chosen == Spent(1.0, 2.0)
    monkeypatch.setattr(solving, "GROWS", 3)
    assert Solving.measured(64, 3).fixed == Spent(8.0, 16.0)
    assert Solving.measured(64, 3).chosen == Spent(1.0, 2.0) * 2**solving.CHOICE_GROWS
    assert Solving.measured(64, 50).discriminant == Spent(8.0, 16.0)


def test_short_work_is_priced_by_the_call_that_was_disturbed_least(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    found = iter([Spent(1.0, 3.0), Spent(9.0, 2.0), Spent(2.0, 4.0)])
    monkeypatch.setattr(spent_module, "spent", lambda work: next(found))
    assert spent_module.least_spent(lambda: None) == Spent(9.0, 2.0)
