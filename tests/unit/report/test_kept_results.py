"""What keeps results, makes tables of them and looks for numbers in prose, on drawn results."""

from __future__ import annotations

import json
import random
import statistics
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from taamctl.report import published

SCOPES = ("all_seen", "up_to_task", "task_only")
SETS = ("citeseer", "photo", "computer")
QUICK = ("--set", "train.epochs=2", "--set", "train.threads=1")


@pytest.fixture(scope="module")
def tables(script: Any) -> ModuleType:
    return script("result_tables")


@pytest.fixture(scope="module")
def prose(script: Any) -> ModuleType:
    return script("result_prose")


@pytest.fixture(scope="module")
def keeper(script: Any) -> ModuleType:
    return script("keep_results")


def drawn_run(draw: random.Random, dataset: str, method: str, sets: list[str]) -> dict[str, Any]:
    return {
        "dataset": dataset,
        "method": method,
        "set": sets,
        "scope": draw.choice(SCOPES),
        "aa": {scope: draw.random() for scope in SCOPES},
        "af": {scope: draw.random() for scope in SCOPES},
        "bwt": draw.random(),
        "legacy_af": draw.random(),
        "id": None,
        "train_cpu_s": draw.uniform(1, 90),
        "infer_cpu_s": draw.uniform(0, 1),
        "memory_words": draw.randrange(10**7),
    }


@pytest.fixture
def results(tables: ModuleType) -> Any:
    """Return drawn results of every row of every table, over three seeds."""
    draw = random.Random(3)
    runs = []
    seen = set()
    for table in ("main", "ablation", "readings", "tried", "taskid", "sweeps"):
        for row in published.rows(table):
            for dataset in SETS:
                if (dataset, row.method, row.sets) in seen:
                    continue
                seen.add((dataset, row.method, row.sets))
                scope = draw.choice(SCOPES)
                for seed in (1, 2, 3):
                    run = drawn_run(draw, dataset, row.method, list(row.sets))
                    runs.append({**run, "scope": scope, "seed": seed})
    lens = [
        {
            "row": row.row,
            "dataset": dataset,
            "seed": seed,
            "protocol": protocol,
            "aa": draw.random(),
            "id": None,
            "memory_words": 1000,
        }
        for row in published.lens_rows()
        for dataset in SETS
        for seed in (1, 2, 3)
        for protocol in ("grouped", "mixed")
    ]
    return tables.Results(runs, lens, {})


def _is(run: dict[str, Any], row: Any) -> bool:
    return (run["method"], tuple(run["set"])) == (row.method, row.sets)


def page(tables: ModuleType) -> str:
    marks = [f"<!-- results: {name} -->\nold\n<!-- /results -->" for name in tables.TABLES]
    return "\n\n".join(["# Results", *marks, "The end."])


def test_tables_stand_between_their_marks_and_follow_the_data(
    tables: ModuleType, results: Any
) -> None:
    text = page(tables)
    assert tables.differing(text, results) == list(tables.TABLES)
    made = tables.filled(text, results)
    assert tables.differing(made, results) == []
    assert tables.filled(made, results) == made
    assert made.startswith("# Results\n")
    assert made.endswith("The end.")
    aa = next(r for r in results.runs if r["method"] == "finetune" and r["dataset"] == "photo")
    aa["aa"][aa["scope"]] = (aa["aa"][aa["scope"]] + 0.4) % 1
    assert {"main", "readings"} <= set(tables.differing(made, results))
    with pytest.raises(KeyError, match="mian"):
        tables.filled("<!-- results: mian -->\n<!-- /results -->", results)


def test_a_cell_is_mean_and_deviation_over_the_seeds_and_carries_its_verdict(
    tables: ModuleType, results: Any
) -> None:
    (line,) = (line for line in tables.TABLES["main"](results) if line.startswith("| TWP |"))
    cells = [cell.strip() for cell in line.strip("|").split("|")]
    runs = [r for r in results.runs if _of_twp(r, "citeseer")]
    values = [100 * r["aa"][r["scope"]] for r in runs]
    af = statistics.fmean(100 * r["af"][r["scope"]] for r in runs)
    shown = f"{statistics.fmean(values):.1f} ± {statistics.pstdev(values):.1f}"
    assert cells[1].replace("*", "").replace("°", "") == f"{shown} ({af:.1f})"
    assert cells[2] == "36.5 ± 0.4 (66.9)"
    assert "*" in line, "drawn at random: not reproduced"
    mean = statistics.fmean(
        statistics.fmean(100 * r["aa"][r["scope"]] for r in results.runs if _of_twp(r, name))
        for name in SETS
    )
    assert cells[-2] == f"{mean:.1f}"
    assert cells[-1] == f"{(36.5 + 23.2 + 19.2) / 3:.1f}"


def _of_twp(run: dict[str, Any], dataset: str) -> bool:
    return (run["method"], run["dataset"], run["set"]) == ("twp", dataset, [])


def test_a_number_of_the_text_is_found_or_named(prose: ModuleType, results: Any) -> None:
    known = prose.Known(results)
    listed = prose.Elsewhere({"a drawn 12.3": "here"}, {"Speed": "there"})
    photo = [r for r in results.runs if _is(r, published.rows("main")[5]) and r["method"] == "ssm"]
    value = statistics.fmean(100 * r["aa"][r["scope"]] for r in photo if r["dataset"] == "photo")
    right = (
        f"# A\n\nSSM has {value:.1f} on Photo (printed 92.6 ± 0.7). It took 1.5 s, a drawn 12.3, "
        "AA 0.55 and torch 2.13.0.\n\n```text\nAA 99.9 by SSM\n```\n\n    SSM 99.9\n\n## Speed\n\n"
        "SSM has AA 98.7.\n\n### Deeper\n\nSSM: 98.6.\n\n## Next\n\nNothing here is 97.1 wide."
    )
    assert list(prose.missing("p.md", right, known, listed)) == []
    assert listed.unused([right]) == []
    assert listed.unused(["# A"]) == ["a drawn 12.3", "Speed"]
    draw = random.Random(5)
    noticed = 0
    for _ in range(60):
        wrong = right.replace(f"{value:.1f}", f"{draw.uniform(0, 100):.1f}")
        noticed += bool(list(prose.missing("p.md", wrong, known, listed)))
    assert noticed > 45, "of 60 numbers drawn at random"
    (found,) = prose.missing("p.md", "* SSM\n* AA of `taam` on Photo: -33.3 here", known, listed)
    assert str(found) == "p.md: -33.3 in: * AA of `taam` on Photo: -33.3 here"


def test_what_is_kept_is_what_the_runs_say(
    tmp_path: Path, support: ModuleType, keeper: ModuleType, tables: ModuleType
) -> None:
    outputs = tmp_path / "outputs"
    call = ["run", "--dataset", "synthetic", "--method", "taam", "--method", "linear_probe"]
    done = support.taamctl(tmp_path, *call, "--seed", "1", "--seed", "2", *QUICK, "--quiet")
    assert done.code == 0, done.err
    asked = keeper.Asked(outputs, tmp_path / "kept", ("synthetic",), "synthetic", (1, 2))
    keeper.keep(asked)
    results = tables.Results.load(tmp_path / "kept")
    assert {(r["method"], r["seed"]) for r in results.runs} == {
        (method, seed) for method in ("taam", "linear_probe") for seed in (1, 2)
    }
    for run in results.runs:
        folder = outputs / "eval" / "synthetic" / run["method"] / f"seed-{run['seed']}"
        metrics = json.loads((folder / "metrics.json").read_text())
        assert run["aa"]["all_seen"] == pytest.approx(metrics["aa_all_seen"], abs=1e-6)
        assert tables.headline(run, "aa") == pytest.approx(metrics["aa"], abs=1e-6)
        assert run["bwt"] == pytest.approx(metrics["bwt"], abs=1e-6)
        assert run["train_cpu_s"] >= 0
    before = (tmp_path / "kept" / "runs.json").read_bytes()
    keeper.keep(asked)
    assert (tmp_path / "kept" / "runs.json").read_bytes() == before
    assert keeper.stale(tmp_path / "kept") == []

    sidecar = outputs / "train" / "synthetic" / "taam" / "seed-2" / "train.h5.provenance.json"
    record = json.loads(sidecar.read_text())
    record["key"]["code"]["taamctl.stages.train"] = "0" * 64
    sidecar.write_text(json.dumps(record))
    with pytest.raises(SystemExit, match="another version"):
        keeper.keep(asked)


def test_every_table_of_a_page_comes_from_a_step_and_the_main_one_comes_first(
    keeper: ModuleType, tmp_path: Path
) -> None:
    asked = keeper.Asked(tmp_path, data_root=tmp_path / "raw")
    lines = {step.name: keeper.command(step, asked) for step in keeper.STEPS}
    assert next(iter(lines)) == "main"
    made = {line[line.index("reproduce") + 1] for line in lines.values() if "reproduce" in line}
    assert made == set(published.ALL)
    assert lines["main"].count("--seed") == 3
    assert lines["large-readings"][-8:] == [
        *("--dataset", "debian", "--seed", "1", "--outputs", str(tmp_path)),
        *("--data-root", str(tmp_path / "raw")),
    ]
