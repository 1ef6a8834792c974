"""No class of one's own graph is left out unasked; published data sets keep what was published."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from taamctl.cli import this_folder
from taamctl.core import registry


def chosen(datasets: list[str], odd_class: str = "drop", overrides: tuple[str, ...] = ()) -> object:
    tree: dict[str, Any] = {
        "run": {"datasets": datasets},
        "split": {"odd_class": odd_class, "seed": 42},
    }
    this_folder.set_usual_of_own(tree, overrides, quiet=True)
    assert tree["split"]["seed"] == 42
    return tree["split"]["odd_class"]


def test_the_last_odd_class_of_own_graphs_joins_the_last_task(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = {"shop": Path("data/shop.h5"), "fair": Path("data/fair.h5")}
    monkeypatch.setattr(registry, "imported", lambda package: own)
    assert chosen(["shop"]) == chosen(["fair", "shop"]) == "merge_into_last"
    assert chosen(["photo"]) == chosen(["photo", "shop"]) == chosen([]) == "drop"
    assert chosen(["shop"], overrides=("split.odd_class=drop",)) == "drop"
    assert chosen(["shop"], overrides=("split.seed=42",)) == "merge_into_last"
    assert chosen(["shop"], "singleton_task") == "singleton_task"


def routed(datasets: list[str], router: str, overrides: tuple[str, ...] = ()) -> object:
    tree: dict[str, Any] = {
        "run": {"datasets": datasets},
        "infer": {"router": router, "alpha": 0.1},
    }
    this_folder.set_usual_of_own(tree, overrides, quiet=True)
    assert tree["infer"]["alpha"] == 0.1
    return tree["infer"]["router"]


def test_own_graphs_are_routed_by_validation_and_published_ones_as_published(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"shop": Path("data/shop.h5"), "fair": Path("data/fair.h5")}
    monkeypatch.setattr(registry, "imported", lambda package: own)
    assert routed(["shop"], "prototype") == routed(["fair", "shop"], "prototype") == "auto"
    assert routed(["photo", "shop"], "prototype") == routed(["photo"], "prototype") == "prototype"
    assert routed(["shop"], "prototype", ("infer.router=prototype",)) == "prototype"
    assert routed(["shop"], "ridge") == "ridge"
    both = ["split.odd_class=merge_into_last", "infer.router=auto"]
    assert this_folder.usual_of_own(["shop"], set()) == both
    said = capsys.readouterr().err
    assert all(f"shop: set {change}" in said for change in both)
    assert this_folder.usual_of_own(["shop"], {"infer.router"}) == both[:1]
    assert this_folder.usual_of_own(["shop", "photo"], set()) == []
