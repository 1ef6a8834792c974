"""Verbs end with the next useful one, for the same runs and folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from taamctl.cli import next_step
from taamctl.cli.answering import Answering
from taamctl.cli.one_graph import OneGraph
from taamctl.cli.shared_options import Grid, RawSettings, Settings


def test_the_next_command_keeps_what_was_asked() -> None:
    grid = Grid(["photo", "shop"], ["taam"], [1, 2])
    settings = Settings(Path("my params.yaml"), ["train.lr=0.01"], Path("trial"))
    assert shlex.split(next_step.command("infer", grid, settings)) == [
        *("taamctl", "infer", "--dataset", "photo", "--dataset", "shop", "--method", "taam"),
        *("--seed", "1", "--seed", "2", "--set", "train.lr=0.01"),
        *("--params", "my params.yaml", "--outputs", "trial"),
    ]


def test_what_was_not_asked_is_left_out() -> None:
    assert next_step.command("train", Grid(), Settings()) == "taamctl train"


def test_after_a_data_set_has_come_it_is_run() -> None:
    assert next_step.of_data("photo", None) == "taamctl run --dataset photo"
    said = next_step.of_data("photo", Path("my data"))
    assert shlex.split(said)[-2:] == ["--data-root", "my data"]


def test_after_answers_one_of_them_is_explained() -> None:
    settings = RawSettings(overrides=["bank.top=1"], data_root=Path("raw"))
    named = OneGraph(graph=Path("my graph.h5"), context="shop")
    said = next_step.of_answers(Path("model"), named, "-n 1", settings, Answering())
    assert shlex.split(said) == [
        *("taamctl", "predict", "--bank", "model", "--graph", "my graph.h5", "--context", "shop"),
        *("--data-root", "raw", "--set", "bank.top=1", "--explain=-n 1"),
    ]
    otherwise = Answering(router="prototype", unit="graph", unknown="off", sets=0.9)
    said = next_step.of_answers(Path("model"), named, "a", settings, otherwise)
    told = ["--router", "prototype", "--unit", "graph", "--unknown", "off"]
    assert shlex.split(said)[-7:-1] == told
