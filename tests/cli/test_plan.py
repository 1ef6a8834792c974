"""`taamctl plan` as a user meets it."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest

from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges

COUNTS = ("--nodes", "111059956", "--edges", "1615685872", "--features", "128", "--classes", "172")
STAGES = ["split", "precompute", "train", "infer", "eval", "report"]


def _plan(folder: Path, support: ModuleType, *arguments: str, code: int = 0) -> Any:
    done = support.taamctl(folder, "plan", "--no-calibrate", "--quiet", "--json", *arguments)
    assert done.code == code, done.err
    return support.strict_json(done.out)


def test_a_plan_needs_no_data_and_makes_nothing(support: ModuleType, tmp_path: Path) -> None:
    made = _plan(
        tmp_path, support, "--dataset", "arxiv", "--method", "taam", "--seed", "1", "--seed", "2"
    )
    assert list(tmp_path.iterdir()) == []
    assert set(made) == {"machine", "rates", "margin", "graphs", "total", "workers", "ok"}
    assert made["ok"] is True
    assert made["margin"] is None
    (graph,) = made["graphs"]
    assert set(graph) == {
        "dataset",
        "counts",
        "kept_range",
        "from",
        "assumptions",
        "stages",
        "total",
        "findings",
    }
    assert [s["stage"] for s in graph["stages"]] == STAGES
    assert [s["times"] for s in graph["stages"]] == [1, 1, 2, 2, 2, 1]
    assert graph["from"] == "estimated" and graph["assumptions"]
    assert graph["kept_range"][0] < graph["counts"]["kept"] < graph["kept_range"][1]
    assert made["rates"]["source"] == "reference"


def test_packaged_rates_give_the_same_plan_again_and_parameters_change_it(
    support: ModuleType, tmp_path: Path
) -> None:
    arguments = ("--dataset", "photo", "--method", "taam", "--method", "ssm")
    one, two = (_plan(tmp_path, support, *arguments)["graphs"][0] for _ in range(2))
    assert one["stages"] == two["stages"] and one["counts"] == two["counts"]
    less = _plan(tmp_path, support, *arguments, "--set", "train.epochs=100")["graphs"][0]
    assert less["stages"][2]["seconds"] < one["stages"][2]["seconds"]
    assert [s["rough"] for s in one["stages"] if s["stage"] == "train"] == [False, True]


def test_of_an_own_graph_it_says_that_the_lens_is_not_in_the_price(
    support: ModuleType, tmp_path: Path
) -> None:
    rng = np.random.default_rng(1)
    adjacency, _ = adjacency_from_edges(*rng.integers(0, 48, (2, 200)), 48, "shop")
    features = rng.normal(size=(48, 4)).astype(np.float32)
    labels = np.repeat(np.arange(4), 12)
    own = NodeGraph("shop", adjacency, features, labels, tuple("abcd"))
    _imported.write(tmp_path / "data" / "shop.h5", own, {})
    arguments = ("--dataset", "shop", "--dataset", "synthetic", "--method", "taam")
    shop, other = _plan(tmp_path, support, *arguments)["graphs"]
    assert any("mixed graph" in line for line in shop["assumptions"])
    assert not any("mixed graph" in line for line in other["assumptions"])
    lean = _plan(tmp_path, support, *arguments, "--set", "precompute.store_x=false")["graphs"][0]
    assert not any("mixed graph" in line for line in lean["assumptions"])


def test_a_split_that_is_there_makes_the_counts_exact(support: ModuleType, tmp_path: Path) -> None:
    done = support.taamctl(tmp_path, "split", "--dataset", "synthetic")
    assert done.code == 0, done.err
    arguments = ("--dataset", "synthetic", "--method", "taam")
    (graph,) = _plan(tmp_path, support, *arguments)["graphs"]
    assert graph["from"].startswith("exact, from outputs") and graph["assumptions"] == []
    assert graph["kept_range"] == [graph["counts"]["kept"]] * 2
    (other,) = _plan(tmp_path, support, *arguments, "--set", "split.seed=1")["graphs"]
    assert other["from"] == "estimated"


def test_a_graph_in_numbers_that_cannot_fit_says_what_to_change_and_exits_1(
    support: ModuleType, tmp_path: Path
) -> None:
    arguments = (*COUNTS, "--method", "taam", "--max-memory", "8G")
    made = _plan(tmp_path, support, *arguments, code=1)
    (graph,) = made["graphs"]
    assert made["ok"] is False and graph["counts"]["tasks"] == 86
    stops = [f for f in graph["findings"] if f["level"] == "stop"]
    assert (
        stops
        and all("--max-memory allows" in f["what"] or "disk" in f["what"] for f in stops)
        and all(f["mend"] for f in stops)
    )
    told = support.taamctl(tmp_path, "plan", "--no-calibrate", *arguments)
    assert told.code == 1 and "does not fit" in told.out and "assumed:" in told.out


def test_people_get_a_table_with_a_total_and_a_verdict(support: ModuleType, tmp_path: Path) -> None:
    done = support.taamctl(
        tmp_path,
        "plan",
        "--dataset",
        "citeseer",
        "--dataset",
        "photo",
        "--method",
        "linear_probe",
        "--workers",
        "3",
    )
    assert done.code == 0, done.err
    assert "rates        measured" in done.out  # the one plan here that looks at the machine
    for words in (
        "citeseer fits",
        "photo fits",
        "all of it: about",
        "with 3 workers",
        "precompute",
        "total",
    ):
        assert words in done.out
    workers = _plan(tmp_path, support, "--dataset", "photo", "--method", "taam", "--workers", "4")
    assert (
        workers["workers"]["count"] == 4
        and workers["workers"]["seconds"] < workers["total"]["seconds"]
    )


def test_the_largest_numbers_that_are_taken_still_give_a_plan(
    support: ModuleType, tmp_path: Path
) -> None:
    most = str(1 << 48)
    made = _plan(
        tmp_path,
        support,
        "--nodes",
        most,
        "--edges",
        most,
        "--features",
        most,
        "--classes",
        most,
        "--method",
        "taam",
        code=1,
    )
    assert made["ok"] is False and made["total"]["seconds"] > 1e12


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("--dataset", "nothing"), "no dataset called 'nothing'"),
        (("--method", "nothing"), "no method called 'nothing'"),
        ((*COUNTS[:2], "--nodes", "-5", *COUNTS[2:]), "--nodes -5"),
        (
            ("--edges", str(10**30), *COUNTS[:2], *COUNTS[4:]),
            "--edges 1000000000000000000000000000000",
        ),
        (COUNTS[:4], "a graph in numbers needs --features, --classes too"),
        (("--labelled", "5"), "a graph in numbers needs --nodes"),
        ((*COUNTS, "--dataset", "photo"), "--dataset and counts of another graph at once"),
        ((*COUNTS, "--labelled", "5"), "labelled nodes 5"),
        (("--max-memory", "much"), "--max-memory much: no size"),
        (
            ("--set", "split.classes_per_task=100", "--dataset", "photo"),
            "8 classes make no task of 100",
        ),
    ],
    ids=lambda v: " ".join(v) if isinstance(v, tuple) else "",
)
def test_what_makes_no_plan_is_refused(
    arguments: tuple[str, ...], words: str, support: ModuleType, tmp_path: Path
) -> None:
    done = support.taamctl(tmp_path, "plan", "--no-calibrate", "--quiet", *arguments)
    errors, hints = support.error_lines(done)
    assert done.code == 2 and done.out == "" and "Traceback" not in done.err
    assert len(errors) == 1 and words in done.err and len(hints) <= 1
