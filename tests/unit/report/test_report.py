from __future__ import annotations

import csv
import io
from dataclasses import replace

import msgspec
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.report import figure_data, figures, render, report_rows


def _run(seed: int, aa: float, af: float | None = 0.0) -> report_rows.RunRow:
    made = {
        "dataset": "d",
        "method": "m",
        "title": "M",
        "profile": "release",
        "seed": seed,
        "part": "test",
        "scope": "up_to_task",
        "averaging": "balanced",
        "unit": "graph",
        "protocol": "grouped",
        "split": "60/20/20",
        "aa": aa,
        "af": af,
        "bwt": None if af is None else -af,
        "legacy_af": 0.0,
        "task_id_grid": {},
        "aa_curve": [aa],
        "matrix": [[aa, None], [aa, aa]],
        "aa_by_scope": dict.fromkeys(("all_seen", "up_to_task", "task_only"), aa),
        "task_id_kind": "inferred",
        "task_id_accuracy": 1.0,
        "task_id": "amp/cosine",
        "parameters": {"extra_paper": 1234567, "extra_full": 2},
        "flags": [],
        "settings": {"train": {"train": {"lr": 0.1, "device": "cpu"}}},
        "af_by_scope": {},
        "sha256": f"{seed}" * 20,
    }
    return msgspec.convert(made, report_rows.RunRow)


def test_seeds_are_gathered_as_mean_and_population_deviation() -> None:
    (row,) = report_rows.over_seeds([_run(1, 0.9), _run(2, 0.8)])
    assert row.seeds == [1, 2]
    assert row.aa == pytest.approx(0.85)
    assert row.aa_std == pytest.approx(0.05)
    assert row.matrix[0][1] is None
    assert row.matrix[1][1] == pytest.approx(0.85)


def test_a_missing_value_stays_missing() -> None:
    (row,) = report_rows.over_seeds([_run(1, 0.9, None), _run(2, 0.8, None)])
    assert row.af is None
    assert render.cells(row, 1)[3] == "–"
    assert any("not defined" in line for line in render.conditions([row]))


@pytest.mark.parametrize(
    ("mean", "std", "text"),
    [
        (0.96234, 0.004, "96.2 ± 0.4"),
        (0.5, None, "50.0"),
        (None, None, "–"),
        (-0.0, None, "0.0"),
        (-0.00001, None, "0.0"),
        (-0.0004, None, "0.0"),
        (-0.0006, None, "-0.1"),
        (-0.02, None, "-2.0"),
    ],
)
def test_per_cent(mean: float | None, std: float | None, text: str) -> None:
    assert render.percent(mean, std, 1) == text


def test_csv_keeps_unrounded_fractions() -> None:
    rows = report_rows.over_seeds([_run(1, 1 / 3)])
    (read,) = csv.DictReader(io.StringIO(render.comma_separated(rows)))
    assert float(read["aa"]) == 1 / 3
    assert read["protocol"] == "grouped"
    assert read["extra_paper"] == "1234567"


def test_markdown_names_conditions_and_the_command() -> None:
    text = render.markdown(report_rows.over_seeds([_run(1, 0.9), _run(2, 0.8)]), 1)
    assert "| d | m (release) | 85.0 ± 5.0 | 0.0 ± 0.0 | 100.0 ± 0.0 |" in text
    for words in (
        "balanced",
        "grouped protocol",
        "per graph",
        "60/20/20",
        "taamctl run --dataset d --method m --seed 1 --seed 2 --set 'train.lr=0.1'`",
    ):
        assert words in text, words


@pytest.mark.parametrize("kind", figure_data.KINDS)
def test_pictures_repeat_byte_for_byte(kind: str) -> None:
    runs = [replace(run, aa_curve=[run.aa] * 2) for run in (_run(1, 0.9), _run(2, 0.8))]
    evidence = figure_data.Evidence(
        report_rows.over_seeds(runs), {r.sha256: r for r in runs}, {r.sha256: 1.5 for r in runs}
    )
    first, second = (figures.draw(kind, evidence) for _ in range(2))
    assert first == second
    assert first.png[:4] == b"\x89PNG"
    assert first.svg.endswith(b"</svg>\n")


def test_runs_with_different_settings_are_never_averaged() -> None:
    other = replace(_run(2, 0.8), settings={"train": {"train": {"lr": 0.2, "device": "cpu"}}})
    rows = report_rows.over_seeds([_run(1, 0.9), other])
    assert [r.seeds for r in rows] == [[1], [2]]
    assert "d m: rows differ, top to bottom, in train.train.lr: 0.1, 0.2." in render.conditions(
        rows
    )


def test_the_same_run_counts_once_and_a_contradiction_is_refused() -> None:
    (row,) = report_rows.over_seeds([_run(1, 0.9), _run(1, 0.9)])
    assert row.seeds == [1]
    with pytest.raises(TaamctlError, match="two different results of d m seed 1"):
        report_rows.over_seeds([_run(1, 0.9), replace(_run(1, 0.8), sha256="other")])


def test_the_command_names_every_changed_parameter() -> None:
    (row,) = report_rows.over_seeds([_run(1, 0.9)])
    settings = {
        "dataset": {"noise": 0.5},
        "infer": {"hops": {"0": 1.0}, "alpha": 0.1},
        "precompute": {"feature_norm": "none", "hops": 2},
        "train": {
            "train": {"lr": 0.005, "device": "cuda"},
            "method": {"profile": "text", "rank": 4},
        },
    }
    row = replace(row, method="taam", dataset="synthetic", settings=settings)
    assert render.changes(row) == [
        "infer.hops={0: 1.0}",
        "datasets.synthetic.noise=0.5",
        "methods.taam.profile=text",
    ]


def test_what_to_run_instead_names_every_method_that_differs_in_nothing_else() -> None:
    (row,) = report_rows.over_seeds([_run(1, 0.9)])
    sets = ["infer.profile=amp", "infer.metric=euclid"]
    made = [
        replace(
            row,
            dataset="own",
            method=name,
            doubts=["they fail"],
            instead=sets,
            settings={"train": {"train": held}},
        )
        for name, held in (("taam", {}), ("linear_probe", {}), ("gpf", {"lr": 0.1}))
    ]
    (said,) = render.warnings(made)
    assert said == (
        "warning: own (taam, linear_probe, gpf): they fail. Run: taamctl run --dataset own "
        "--method taam --method linear_probe --seed 1 "
        "--set infer.profile=amp --set infer.metric=euclid"
    )


def test_what_to_run_instead_replaces_what_the_row_was_made_with() -> None:
    (row,) = report_rows.over_seeds([_run(1, 0.9)])
    held = {"infer": {"alpha": 0.2, "router": "auto"}, "train": {"train": {}}}
    row = replace(row, method="taam", dataset="synthetic", settings=held)
    row = replace(row, doubts=["they fail"], instead=["infer.router=ridge"])
    (said,) = render.warnings([row])
    assert said.endswith("--seed 1 --set 'infer.alpha=0.2' --set infer.router=ridge")
