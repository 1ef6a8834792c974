"""Rows of one method are told apart by their settings, in the same words on every data set."""

from __future__ import annotations

import random
from dataclasses import replace
from types import ModuleType

import pytest

from taamctl.params import params_file
from taamctl.report import findings, paper_tables, report_rows, setting_names
from taamctl.report.report_rows import SeedsRow, row_of
from taamctl.report.setting_names import Ran

SETS = ("one", "two", "three")


@pytest.mark.parametrize("seed", range(20))
def test_what_is_set_otherwise_gets_other_words_and_the_same_the_same(seed: int) -> None:
    draw = random.Random(seed)
    wanted = [
        [f"train.lr={draw.choice((0.1, 0.2))}"] * draw.randrange(2)
        + ["methods.a.rank=3"] * draw.randrange(2)
        for _ in range(4)
    ]
    ran = [Ran("a", name, changes) for name in SETS for changes in draw.sample(wanted, 3)]
    told = setting_names.apart(ran)
    for row, words in zip(ran, told, strict=True):
        for other, others in zip(ran, told, strict=True):
            assert (words == others) == (list(row.changes) == list(other.changes))


def test_what_all_share_and_what_belongs_to_a_data_set_tells_nothing_apart() -> None:
    ran = [
        Ran("a", "one", ["train.lr=0.1", "datasets.one.size=3"]),
        Ran("a", "two", ["train.lr=0.1"]),
        Ran("b", "one", []),
    ]
    assert setting_names.apart(ran) == ["", "", ""]
    more = [*ran, Ran("a", "one", ["train.lr=0.1", "datasets.one.size=4"])]
    assert setting_names.apart(more) == ["datasets.one.size=3", "", "", "datasets.one.size=4"]


def two_settings(made_up: ModuleType) -> list[SeedsRow]:
    """Return rows of a method: with a rate of its own on two data sets, and the usual one on one
    of them, which comes first there and is the only one of its kind.
    """
    usual = params_file.read(params_file.PACKAGED)["train"]["lr"]
    study = made_up.Study(right={"net": 0.8}, datasets=("one", "two"))
    runs = []
    for name, rates in (("one", (usual, 0.25)), ("two", (0.25,))):
        for at, lr in enumerate(rates):
            made = made_up.evaluation(study, name, "net", at + 1)
            made.settings["train"]["train"] = {"lr": lr}
            runs.append(replace(row_of(made, f"{name} {lr}"), seed=1))
    return report_rows.over_seeds(runs)


def test_a_line_of_a_papers_table_holds_one_setting(made_up: ModuleType) -> None:
    rows = two_settings(made_up)
    (table,) = paper_tables.tables(rows, [])
    lines = dict(table.lines)
    assert set(lines) == {"Net", "Net (train.lr=0.25)"}
    aa = [at for at, name in enumerate(table.columns) if name.endswith("AA")]
    found = {who: [values[at] for at in aa] for who, values in lines.items()}
    assert found["Net"][1] is None
    of = {(row.dataset, row.apart): row.aa for row in rows}
    assert [v and v.mean for v in found["Net (train.lr=0.25)"]] == [
        of["one", "train.lr=0.25"],
        of["two", "train.lr=0.25"],
    ]


def test_a_sentence_names_the_setting_of_a_method_that_ran_with_two(made_up: ModuleType) -> None:
    (said, *_) = findings.of(two_settings(made_up), [], "one")
    assert "net (train.lr=0.25)" in said
    assert said.count("net ") - said.count("net (") == 1
