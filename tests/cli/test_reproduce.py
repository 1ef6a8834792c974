"""`taamctl reproduce` through the real command line, on small data."""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType

QUICK = ("--seed", "1", "--set", "train.epochs=2", "--set", "train.threads=1")


def test_a_table_is_run_once_written_in_four_forms_and_lists_what_is_not_there(
    tmp_path: Path, support: ModuleType
) -> None:
    call = (
        "reproduce",
        "taskid",
        "--dataset",
        "synthetic",
        "--dataset",
        "wikics",
        "--data-root",
        str(tmp_path),
        *QUICK,
    )
    first = support.taamctl(tmp_path, *call, "--json")
    assert first.code == 0, first.err
    made = json.loads(first.out)
    assert made["target"] == "taskid"
    by_row = {(r["row"], r["dataset"]): r for r in made["rows"]}
    assert by_row["AMP, cosine", "synthetic"]["ours"] == 100
    assert by_row["AMP, cosine", "synthetic"]["verdict"] == "not printed"
    assert by_row["AMP, cosine", "wikics"]["verdict"] == "no data"
    assert by_row["AMP, cosine", "wikics"]["paper"] == 100
    folder = tmp_path / "outputs" / "reproduce"
    assert sorted(p.name for p in folder.iterdir() if p.is_file()) == [
        "taskid.csv",
        "taskid.json",
        "taskid.md",
        "taskid.tex",
    ]
    trained = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("train.h5"))
    assert trained == [Path("outputs/train/synthetic/taam/seed-1/train.h5")], (
        "six rows, one training"
    )
    before = support.artefacts(tmp_path / "outputs")
    second = support.taamctl(tmp_path, *call)
    assert second.code == 0
    assert "no data: wikics" in second.out
    assert support.artefacts(tmp_path / "outputs") == before
    assert "wrote" not in second.err


def test_rows_with_other_parameters_lie_apart(tmp_path: Path, support: ModuleType) -> None:
    done = support.taamctl(
        tmp_path, "reproduce", "ablation", "--dataset", "synthetic", *QUICK, "--json", "--quiet"
    )
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert (made["kind"], made["schema_version"]) == ("taamctl.reproduce", 1)
    rows = {(r["row"], r["metric"]): r for r in made["rows"]}
    assert rows["w/o NSMs, head trained", "aa"]["ours"] > rows["w/o NSMs", "aa"]["ours"]
    assert rows["w/o NSMs", "af"]["ours"] == 0
    assert len(list((tmp_path / "outputs/reproduce/runs").iterdir())) == 3


def test_the_cost_table_needs_no_data(tmp_path: Path, support: ModuleType) -> None:
    done = support.taamctl(tmp_path, "reproduce", "params")
    assert done.code == 0, done.err
    assert "103.2285" in done.out
    assert "3.0861" in done.out
    assert "no data: arxiv, products, reddit" in done.out


def test_wrong_calls_are_refused_before_any_work(tmp_path: Path, support: ModuleType) -> None:
    for arguments, said in (
        (("mian",), "no table 'mian'"),
        (("main", "--dataset", "foto"), "no dataset called 'foto'"),
        (("main", "--set", "train.epochs=0"), "train.epochs"),
    ):
        done = support.taamctl(tmp_path, "reproduce", *arguments)
        assert done.code == 2
        errors, _ = support.error_lines(done)
        assert len(errors) == 1
        assert said in done.err
        assert not (tmp_path / "outputs").exists()


def test_tables_without_verdicts_are_counted_from_the_cache(
    tmp_path: Path, support: ModuleType
) -> None:
    done = support.taamctl(tmp_path, "reproduce", "theory", "--dataset", "synthetic", "--json")
    assert done.code == 0, done.err
    made = json.loads(done.out)
    assert [row["task"] for row in made["rows"]] == list(range(1, len(made["rows"]) + 1))
    assert all(0 < row["bound"] <= 1 for row in made["rows"])
    assert made["versions"]["torch"]
    assert (made["kind"], made["schema_version"]) == ("taamctl.reproduce", 1)
    done = support.taamctl(tmp_path, "reproduce", "datasets", "--dataset", "synthetic")
    assert done.code == 0, done.err
    assert "edges inside a part" in done.out
    assert "next: taamctl docs reproduce-paper" in done.err
    folder = tmp_path / "outputs" / "reproduce"
    assert (folder / "datasets.md").read_text().startswith("# Data sets: printed and counted")
    assert (folder / "theory.csv").read_text().startswith("dataset,task,nearest")
    alone = ("--set", "precompute.store_x=false")
    refused = support.taamctl(tmp_path, "reproduce", "theory", "--dataset", "synthetic", *alone)
    assert refused.code == 2
    assert "precompute.store_x" in refused.err
