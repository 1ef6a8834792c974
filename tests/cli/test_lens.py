"""`taamctl eval --lens`: what it shows agrees with the evaluation where both look at the same
thing, and works where tasks mix.
"""

from __future__ import annotations

import json
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from taamctl.runtime import provenance

METHODS = ("linear_probe", "taam", "analytic", "oracle")
ARGUMENTS = (
    "--dataset",
    "synthetic",
    "--seed",
    "1",
    *(a for m in METHODS for a in ("--method", m)),
    "--set",
    "train.epochs=2",
    "--set",
    "lens.batches=[10]",
    "--quiet",
)


@pytest.fixture(scope="module")
def looked(
    support: ModuleType, tmp_path_factory: pytest.TempPathFactory
) -> tuple[Path, list[dict[str, Any]]]:
    folder = tmp_path_factory.mktemp("lens")
    support.taamctl(folder, "run", *ARGUMENTS, "--set", "report.pictures=false")
    done = support.taamctl(folder, "eval", *ARGUMENTS, "--lens", "--json")
    assert done.code == 0, done.err
    return folder, json.loads(done.out)


def pick(rows: list[dict[str, Any]], **wanted: Any) -> dict[str, Any]:
    (row,) = [
        r
        for r in rows
        if all(r[k] == v for k, v in {"part": "test", "mode": "hard", **wanted}.items())
    ]
    return row


@pytest.mark.parametrize(
    ("method", "router", "unit"),
    [
        ("linear_probe", "amp", "graph"),
        ("taam", "amp", "graph"),
        ("oracle", "given", "node"),
        ("analytic", "none", "node"),
    ],
)
def test_grouped_graphs_give_what_eval_gives(
    looked: tuple[Path, list[dict[str, Any]]], method: str, router: str, unit: str
) -> None:
    folder, rows = looked
    made = json.loads((folder / f"outputs/eval/synthetic/{method}/seed-1/metrics.json").read_text())
    assert (
        pick(rows, method=method, router=router, unit=unit, protocol="grouped")["aa"] == made["aa"]
    )


@pytest.mark.parametrize(
    ("method", "settings"),
    [
        ("linear_probe", ()),
        ("taam", ("--set", "infer.profile=ls", "--set", "infer.metric=euclid")),
        (
            "taam",
            (
                "--set",
                "infer.router=gaussian",
            ),
        ),
        ("tpp", ("--set", "infer.router=auto", "--set", "methods.tpp.pretrain_epochs=2")),
    ],
)
def test_the_first_row_is_the_runs_own_routing_and_its_aa(
    method: str, settings: tuple[str, ...], support: ModuleType, tmp_path: Path
) -> None:
    """The graph is noisy, so that routings differ in what they get wrong."""
    call = ("--dataset", "synthetic", "--seed", "1", "--method", method, *settings)
    call += ("--set", "train.epochs=2", "--set", "lens.batches=[10]", "--quiet")
    call += ("--set", "datasets.synthetic.noise=3.0", "--set", "report.pictures=false")
    assert support.taamctl(tmp_path, "run", *call).code == 0
    done = support.taamctl(tmp_path, "eval", *call, "--lens", "--json")
    assert done.code == 0, done.err
    path = tmp_path / f"outputs/eval/synthetic/{method}/seed-1/eval.json"
    made = json.loads(path.read_text())
    by = "/".join(made["routed"])
    for part in ("test", "val"):
        row = pick(
            json.loads(done.out),
            **{"protocol": "grouped", "part": part, "unit": "graph", "router": f"run: {by}"},
        )
        scopes = made["parts"][part]["scopes"][made["scope"]]
        assert row["aa"] == scopes["balanced"]["aa"]
        assert row["aa_micro"] == scopes["micro"]["aa"]
    shown = support.taamctl(tmp_path, "eval", *call, "--lens")
    lines = (" ".join(line.split()) for line in shown.out.splitlines())
    first, second, *_ = [line for line in lines if line.startswith("synthetic")]
    assert f" grouped run: {by} test " in first
    assert f" grouped run: {by} val " in second


def test_one_vote_fails_where_tasks_mix_and_a_vote_per_node_does_not(
    looked: tuple[Path, list[dict[str, Any]]],
) -> None:
    _, rows = looked
    cells = {
        (p, u): pick(rows, method="linear_probe", router="ridge", unit=u, protocol=p)
        for p in ("grouped", "mixed")
        for u in ("graph", "node")
    }
    assert cells["grouped", "graph"]["task_id_accuracy"] == 1.0
    assert cells["mixed", "graph"]["aa"] < 0.4 < 0.8 < cells["mixed", "node"]["aa"]
    better = pick(rows, method="linear_probe", router="amp", unit="node", protocol="mixed")
    assert cells["mixed", "node"]["task_id_accuracy"] > better["task_id_accuracy"]


def test_a_table_a_warning_and_a_report_section(
    looked: tuple[Path, list[dict[str, Any]]], support: ModuleType
) -> None:
    folder, _ = looked
    shown = support.taamctl(folder, "eval", *[a for a in ARGUMENTS if a != "--quiet"], "--lens")
    assert "reused" in shown.err and "warning: one vote for a graph" in shown.err
    assert "batch 10" in shown.out and "ridge, soft" in shown.out and "memory M" in shown.out
    made = support.taamctl(folder, "report", *ARGUMENTS)
    assert made.code == 0, made.err
    report = folder / "outputs" / "report"
    assert "## Lens" in (report / "report.md").read_text()
    assert 'id="lens"' in (report / "report.html").read_text()
    assert (
        len((report / "lens.csv").read_text().splitlines())
        == len(json.loads((report / "report.json").read_text())["lens"]) + 1
    )
    assert (report / "lens-synthetic.svg").is_file()


def test_a_broken_lens_file_is_named(
    looked: tuple[Path, list[dict[str, Any]]], support: ModuleType
) -> None:
    folder, _ = looked
    path = folder / "outputs/lens/synthetic/oracle/seed-1/lens.json"
    sidecar = path.with_name("lens.json.provenance.json")
    kept, record = path.read_text(), sidecar.read_text()
    path.write_text("{}")
    try:
        damaged = support.taamctl(folder, "report", *ARGUMENTS)
        made = json.loads(record)
        made["outputs"]["lens.json"]["sha256"] = provenance.sha256(path)
        sidecar.write_text(json.dumps(made))
        failed = support.taamctl(folder, "report", *ARGUMENTS)
    finally:
        path.write_text(kept)
        sidecar.write_text(record)
    assert damaged.code == 2
    assert "lens.json is not as it was written" in damaged.err and "eval --lens" in damaged.err
    assert failed.code == 2
    assert (
        "lens.json is no lens file that this taamctl can read" in failed.err
        and "eval --lens --force" in failed.err
    )


def test_what_the_lens_needs_is_named(support: ModuleType, tmp_path: Path) -> None:
    support.taamctl(
        tmp_path,
        "run",
        "--dataset",
        "synthetic",
        "--method",
        "linear_probe",
        "--seed",
        "1",
        "--set",
        "precompute.store_x=false",
        "--set",
        "report.pictures=false",
        "--quiet",
    )
    failed = support.taamctl(
        tmp_path,
        "eval",
        "--dataset",
        "synthetic",
        "--method",
        "linear_probe",
        "--seed",
        "1",
        "--lens",
        "--quiet",
    )
    assert failed.code == 2
    assert "precompute.store_x" in failed.err


def test_the_amp_router_stays_amp_whatever_the_run_routes_by(
    looked: tuple[Path, list[dict[str, Any]]], support: ModuleType
) -> None:
    folder, rows = looked
    done = support.taamctl(
        folder,
        "eval",
        "--dataset",
        "synthetic",
        "--method",
        "oracle",
        "--method",
        "linear_probe",
        "--seed",
        "1",
        "--set",
        "infer.profile=ls",
        "--set",
        "infer.metric=euclid",
        "--set",
        "lens.batches=[10]",
        "--lens",
        "--json",
        "--quiet",
    )
    assert done.code == 0, done.err
    wanted = {"method": "linear_probe", "router": "amp", "unit": "node", "protocol": "mixed"}
    assert pick(json.loads(done.out), **wanted)["aa"] == pick(rows, **wanted)["aa"]


def test_json_without_the_lens_is_refused(support: ModuleType, tmp_path: Path) -> None:
    failed = support.taamctl(tmp_path, "eval", "--json")
    assert failed.code == 2
    assert "add --lens" in failed.err
