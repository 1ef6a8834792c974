"""Printed numbers, verdicts on them, and the tables that hold both."""

from __future__ import annotations

import csv
import io
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.params.params_file import PACKAGED, read
from taamctl.pipeline import printed_numbers
from taamctl.report import published, reproduction
from taamctl.report.published import Printed


@pytest.mark.parametrize("target", published.TARGETS)
def test_every_row_names_a_method_of_ours_parameters_that_exist_and_entries_that_exist(
    target: str,
) -> None:
    names = set()
    for row in published.rows(target):
        registry.require("taamctl.methods", row.method)
        read(PACKAGED, row.sets)  # refuses a parameter that is not there
        named = {**row.explain, **row.tried}
        assert all(n in published.register() for n in named.values())
        assert set(row.only) <= set(published.datasets())
        assert {k.partition(".")[0] for k in named} <= set(printed_numbers.METRICS[target])
        assert {d for d, _ in row.cells} <= set(published.datasets())
        names.add(row.row)
        printed_numbers.layout_of(Path("outputs"), row.sets)
    assert len(names) == len(published.rows(target)), "two rows of one name"


def test_spot_checks_against_the_printed_tables() -> None:
    main = {r.row: r for r in published.rows("main")}
    assert main["TAAM"].cells["photo", "aa"] == Printed(96.2, 0.4)
    assert main["TPP"].cells["computer", "af"] == Printed(46.2, 0.1, assumed=True)
    assert main["Joint"].cells["computer", "aa"] == Printed(94.9, 0.1)
    assert ("computer", "af") not in main["Joint"].cells, (
        "AF of Joint is not defined and not printed"
    )
    average = sum(main["TAAM"].cells[d, "aa"].value for d in published.datasets()) / 8
    assert average == pytest.approx(92.9, abs=0.05), "the printed average"
    for row, printed in (
        ("Finetuning", 13.6),
        ("LwF", 12.6),
        ("MAS", 13.3),
        ("TWP", 15.0),
        ("ER-GNN", 56.7),
        ("SSM", 61.9),
        ("PDGNNs", 71.9),
        ("DeLoMe", 45.2),
        ("TPP", 64.3),
        ("Joint", 76.8),
        ("Oracle", 93.6),
    ):
        assert sum(
            main[row].cells[d, "aa"].value for d in published.datasets()
        ) / 8 == pytest.approx(printed, abs=0.051), row
    ablation = {r.row: r for r in published.rows("ablation")}
    for row, printed in (
        ("w/o Task-Aware", 13.0),
        ("w/o NSMs", 17.8),
        ("w/o Unified Cls", 92.6),
        ("w/o LoRA (TAAM-L)", 93.2),
    ):
        assert sum(
            ablation[row].cells[d, "aa"].value for d in published.datasets()
        ) / 8 == pytest.approx(printed, abs=0.051), row


@pytest.mark.parametrize(
    ("printed", "ours", "std", "metric", "entry", "verdict"),
    [
        (Printed(96.2, 0.4), 95.8, 0.0, "aa", None, "reproduced"),
        (Printed(96.2, 0.1), 94.3, 0.1, "aa", None, "close"),
        (Printed(96.2, 0.4), 94.1, 0.0, "aa", None, "not reproduced"),
        (Printed(96.2, 0.4), 94.1, 0.0, "aa", 3, "explained"),
        (Printed(96.2, 0.1), 94.3, 0.1, "aa", 3, "explained"),
        (Printed(23.2, 0.0), 23.24, 0.0, "aa", None, "reproduced"),
        (Printed(30.6, 7.2), 26.0, 3.0, "aa", None, "reproduced"),
        (Printed(49.8, 27.0), 60.0, 0.0, "aa", None, "not reproduced"),
        (Printed(30.6, 7.2), None, 0.0, "aa", None, "not defined"),
        (Printed(30.6, 7.2), float("nan"), 0.0, "aa", None, "not defined"),
        (None, 50.0, 0.0, "aa", 3, "not printed"),
        (Printed(0.02, 0, 2), 0.0185, 0.0, "cost", None, "reproduced"),
        (Printed(3.0861, 0, 4), 3.0863, 0.0, "cost", None, "not reproduced"),
    ],
)
def test_verdicts(
    printed: Printed | None,
    ours: float | None,
    std: float,
    metric: str,
    entry: int | None,
    verdict: str,
) -> None:
    assert published.verdict(printed, ours, std, 3, metric, entry) == verdict


@given(
    paper=st.floats(0, 100),
    off=st.floats(-10, 10),
    spread=st.floats(0, 5),
    own=st.floats(0, 5),
    seeds=st.integers(1, 9),
)
def test_nothing_is_reproduced_outside_three_standard_errors(
    paper: float, off: float, spread: float, own: float, seeds: int
) -> None:
    printed = Printed(round(paper, 1), round(spread, 1))
    found = published.verdict(printed, printed.value + off, own, seeds, "aa", None)
    error = math.hypot(printed.std / 5**0.5, own / seeds**0.5)
    if found == "reproduced":
        assert abs(off) <= min(3 * error + 0.05, 5) + 1e-6
    elif found == "close":
        assert min(3 * error + 0.05, 5) - 1e-6 <= abs(off) <= 2 + 1e-6
    else:
        assert found == "not reproduced"
        assert abs(off) > 2 - 1e-6


def test_a_deviation_of_af_may_be_printed_and_stands_in_where_it_is_not() -> None:
    accuracy, forgetting = published._parse("47.1±4.5/6.5±1.2")
    assert (accuracy, forgetting) == (Printed(47.1, 4.5), Printed(6.5, 1.2))
    _, stand_in = published._parse("47.1±4.5/6.5")
    assert stand_in == Printed(6.5, 4.5, assumed=True)


def test_unknown_tables_and_cells_are_refused() -> None:
    with pytest.raises(TaamctlError, match="no table 'mian'"):
        published.rows("mian")
    with pytest.raises(TaamctlError, match="'96.2~0.4' is no cell"):
        published._parse("96.2~0.4")
    with pytest.raises(TaamctlError, match=r"precompute\.hops=1 changes more than"):
        printed_numbers.layout_of(Path("outputs"), ["precompute.hops=1"])


def test_the_register_is_numbered_without_gaps() -> None:
    assert sorted(published.register()) == list(range(1, len(published.register()) + 1))


def test_a_change_borrows_what_it_leaves_as_it_is() -> None:
    root = Path("outputs")
    plain = printed_numbers.layout_of(root, ())
    deep = printed_numbers.layout_of(root, ["methods.taam.rank=8"])
    shallow = printed_numbers.layout_of(root, ["infer.metric=euclid"])
    both = printed_numbers.layout_of(root, ["methods.taam.rank=8", "infer.metric=euclid"])
    where = {
        name: [layout.file(s, "photo", "taam", 1) for s in ("precompute", "train", "infer")]
        for name, layout in (("plain", plain), ("deep", deep), ("shallow", shallow), ("both", both))
    }
    assert where["deep"][0] == where["plain"][0]
    assert where["deep"][1] != where["plain"][1]
    assert where["shallow"][:2] == where["plain"][:2]
    assert where["shallow"][2] != where["plain"][2]
    assert where["both"][1] == where["deep"][1], "the same training serves both"
    assert len({w[2] for w in where.values()}) == 4


RECORD = {
    "table": "main",
    "row": "A & B_1",
    "dataset": "photo",
    "metric": "af",
    "paper": 38.6,
    "paper_std": 0.0,
    "ours": 98.64,
    "ours_std": 0.25,
    "difference": 60.04,
    "verdict": "explained",
    "explanation": "[20] AF: why.",
    "legacy_af": 60.1,
    "method": "finetune",
    "set": [],
    "seeds": [1, 2],
}


def test_cells_tables_and_latex() -> None:
    assert reproduction.cells(RECORD) == (
        "A & B_1",
        "photo",
        "AF %",
        "38.6",
        "98.6 ± 0.2 (legacy 60.1)",
        "+60.0",
        "explained [20]",
    )
    missing = {
        **RECORD,
        "dataset": "reddit",
        "ours": None,
        "difference": None,
        "verdict": "no data",
        "explanation": "",
        "legacy_af": None,
    }
    records = [RECORD, missing]
    lines = reproduction.conditions("main", records, ["protocol."])
    assert any("no data: reddit" in line for line in lines)
    assert lines[-1] == "[20] AF: why."
    text = reproduction.markdown("main", records, lines, "taamctl reproduce main")
    assert "| A & B_1 | reddit | AF % | 38.6 | – | – | no data |" in text
    assert "1 explained, 1 no data" in text
    rows = list(csv.DictReader(io.StringIO(reproduction.comma_separated(records))))
    assert float(rows[0]["ours"]) == 98.64
    assert rows[1]["ours"] == ""
    tex = reproduction.latex("main", records, lines)
    assert r"A \& B\_1" in tex
    assert tex.count(r"\\") == 3
    assert "photo & reddit" in tex


def test_a_printed_af_that_the_legacy_one_meets_is_explained_by_it() -> None:
    row = next(r for r in published.rows("main") if r.row == "Finetuning")
    assert (
        printed_numbers.record_of(row, "photo", "af", 94.7, 0.5, legacy=(37.9, 0.5))["verdict"]
        == "explained"
    )
    assert (
        printed_numbers.record_of(row, "photo", "af", 94.7, 0.5, legacy=(60.0, 0.5))["verdict"]
        == "not reproduced"
    )
    assert (
        printed_numbers.record_of(row, "photo", "af", 38.4, 0.5, legacy=(60.0, 0.5))["verdict"]
        == "reproduced"
    )
    assert printed_numbers.record_of(row, "photo", "af", None, 0.0)["verdict"] == "not defined"
    assert printed_numbers.record_of(row, "photo", "af", missing=True)["verdict"] == "no data"


def test_a_cell_that_stays_apart_says_what_was_tried() -> None:
    row = next(r for r in published.rows("main") if r.row == "TWP")
    apart = printed_numbers.record_of(row, "citeseer", "aa", 20.0, 0.1)
    assert apart["verdict"] == "not reproduced"
    assert str(apart["explanation"]).startswith("[52] Tried for TWP")
    assert reproduction.cells(apart)[-1] == "not reproduced [52]"
    there = printed_numbers.record_of(row, "citeseer", "aa", 36.5, 0.1)
    assert (there["verdict"], there["explanation"]) == ("reproduced", "")
    only = {r.row: r.only for r in published.rows("tried")}
    assert only["Joint, 1,000 epochs"] == ("computer",)
    joint = next(r for r in published.rows("tried") if r.only)
    assert joint.concerns("computer")
    assert not joint.concerns("photo")
    assert reproduction.counts([]) == "no cells"
