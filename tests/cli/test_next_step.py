"""Verbs end with the next useful one, for the same runs and folder."""

from __future__ import annotations

import shlex
from pathlib import Path

from taamctl.cli import next_step
from taamctl.cli.shared_options import Grid, Settings


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
