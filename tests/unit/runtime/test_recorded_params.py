"""Parameters that a file records, bound to classes that are not those of then."""

from __future__ import annotations

import logging
from dataclasses import dataclass, field
from pathlib import Path

import pytest

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import canonical
from taamctl.core.spec import param
from taamctl.params import recorded_params
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.recorded_params import recorded
from taamctl.params.sections import SECTIONS
from taamctl.params.split_params import SplitParams


@dataclass(frozen=True)
class Inner:
    """A section inside a section."""

    width: int = param("width", ge=1)
    depth: int = field(default=3, metadata={"doc": "a field that came later, with a default"})


@dataclass(frozen=True)
class Outer:
    """A section."""

    lr: float = param("rate", gt=0)
    inner: Inner = param("inner section")
    momentum: float = param("a field that came later", ge=0)
    hops: dict[int, float] = field(default_factory=lambda: {0: 1.0}, metadata={"doc": "later too"})


PLACE = recorded_params.place(Outer)
FULL = {"lr": 0.1, "inner": {"width": 2, "depth": 4}, "momentum": 0.5, "hops": {"1": 2.0}}


def bound(values: object) -> tuple[Outer | None, list[str]]:
    faults: list[str] = []
    return recorded_params.bind(Outer, values, "outer", "made.h5", faults), faults


def test_what_is_recorded_in_full_is_bound_as_it_is() -> None:
    assert bound(FULL) == (Outer(0.1, Inner(2, 4), 0.5, {1: 2.0}), [])


def test_a_missing_one_means_what_it_meant_then_or_its_default(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(recorded_params.BEFORE, PLACE, {"momentum": 0.0})
    made = Outer(0.1, Inner(2, 3), 0.0, {0: 1.0})
    assert bound({"lr": 0.1, "inner": {"width": 2}}) == (made, [])
    assert recorded_params.completed(Outer, {"lr": 0.1, "inner": {"width": 2}}) == canonical(made)


def test_a_missing_one_of_which_nothing_is_known_is_a_fault_by_its_name() -> None:
    made, faults = bound({"lr": 0.1, "inner": {}})
    assert made is None
    assert [fault.partition(":")[0] for fault in faults] == ["outer.inner.width", "outer.momentum"]
    with pytest.raises(TaamctlError, match="recorded.momentum: missing") as caught:
        recorded(Outer, {"lr": 0.1, "inner": {"width": 1}}, Path("x.h5"), "taamctl train")
    assert caught.value.hint == "make it again with: taamctl train"


def test_one_too_many_is_told_in_one_line_and_kept(caplog: pytest.LogCaptureFixture) -> None:
    values = {**FULL, "inner": {"width": 2, "depth": 4, "colour": "red"}}
    with caplog.at_level(logging.WARNING, "taamctl"):
        assert bound(values) == bound(FULL)
    assert caplog.messages == [
        "made.h5 records outer.inner.colour = red, a parameter that this taamctl does not know: it "
        "stays in the file and has no effect"
    ]
    assert recorded_params.completed(Outer, values) == values


def test_a_method_that_had_no_parameters_or_has_none_now(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setitem(
        recorded_params.BEFORE, PLACE, {"lr": 1.0, "inner": {"width": 1}, "momentum": 0.0}
    )
    assert bound(None) == (Outer(1.0, Inner(1, 3), 0.0, {0: 1.0}), [])
    faults: list[str] = []
    assert recorded_params.bind(None, {"lr": 1}, "own", "made.h5", faults) is None
    assert not faults
    assert "own.lr = 1" in caplog.text
    made, faults = bound([1])
    assert (made, faults) == (None, ["outer: [1] is no mapping"])


def test_every_line_of_the_table_names_a_field_with_a_value_that_it_may_have() -> None:
    import importlib

    packaged = read(PACKAGED)
    sections = {target: packaged[name] for name, target in SECTIONS.items()}
    for name in registry.builtin("taamctl.methods"):
        sections[f"taamctl.methods.{name}:Params"] = packaged["methods"][name]
    for place, values in recorded_params.BEFORE.items():
        module, name = place.split(":")
        cls = getattr(importlib.import_module(module), name)
        faults: list[str] = []
        assert recorded_params.bind(cls, {**sections[place], **values}, place, "", faults)
        assert not faults
        without = {key: value for key, value in sections[place].items() if key not in values}
        assert recorded_params.bind(cls, without, place, "", faults)
        assert not faults


def test_settings_of_an_earlier_result_are_completed_without_its_method() -> None:
    split = {"seed": 42}
    settings = {"split": split, "train": {"train": {"lr": 1}, "method": {"rank": 4}, "seed": 1}}
    full = recorded_params.settings_in_full(settings, "taam_l")
    assert full["split"] == {"seed": 42, "tasks": "by_size", "parts": "drawn"}
    assert full["train"]["method"] == {"rank": 4, "precision": "float32"}
    assert recorded_params.settings_in_full(full, "taam_l") == full
    lens = {"precompute": {}, "train": {"train": {}, "method": None, "seed": 1}}
    assert recorded_params.settings_in_full(lens, "of_a_plug_in") == lens


def test_a_split_from_before_given_tasks_was_by_size() -> None:
    packaged = read(PACKAGED)["split"]
    older = {name: value for name, value in packaged.items() if name not in ("tasks", "parts")}
    made = recorded(SplitParams, older, Path("split.h5"), "taamctl split")
    assert (made.tasks, made.parts) == ("by_size", "drawn")
