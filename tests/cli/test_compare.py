"""`taamctl compare` as a user meets it, and what its table says about pairs, scopes and what
cannot be told apart.
"""

from __future__ import annotations

import csv
import re
import shutil
import signal
from dataclasses import replace
from pathlib import Path
from types import ModuleType
from typing import Any

import msgspec
import numpy as np
import pytest

from taamctl.cli import common
from taamctl.cli.flat_options import flat
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.cli.verb_compare import command
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.evaluation import statistics
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params.split_params import SplitParams
from taamctl.pipeline.compare_runs import plan
from taamctl.pipeline.compare_runs import run as run_cells
from taamctl.report import comparison, comparison_text
from taamctl.report.report_rows import RunRow

METHODS = ("finetune", "linear_probe")
GRID = ("--order", "1", "--order", "natural", "--split", "43", "--scope", "own")


def _call(support: ModuleType, *more: str, methods: tuple[str, ...] = METHODS) -> tuple[str, ...]:
    """Return the arguments of a small comparison; `support.call` names the seed for the verb
    `run` only.
    """
    _, *arguments = support.call("run", *more, methods=methods)
    return ("compare", *arguments)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory, support: ModuleType) -> tuple[Path, Any]:
    """Return a folder with a finished comparison over two blocks, and how the command ended."""
    folder = tmp_path_factory.mktemp("made")
    return folder, support.taamctl(folder, *_call(support, *GRID))


def _result(folder: Path, support: ModuleType) -> Any:
    return support.strict_json(
        (folder / "outputs/compare/compare.json").read_text(encoding="utf-8")
    )


# --------------------------------------------------------------------------------------------------


def test_a_comparison_says_what_it_does_and_what_came_out(
    made: tuple[Path, Any], support: ModuleType
) -> None:
    folder, done = made
    assert done.code == 0, done.err
    result = _result(folder, support)
    assert "next: taamctl docs compare-methods" in done.err
    assert (result["kind"], result["schema_version"]) == ("taamctl.compare", 1)
    assert (
        "compare: 4 runs: 2 class orders x 1 split x 1 data set x 2 methods x 1 seed, below "
        "outputs/compare" in done.err
    )
    assert (
        "note: 2 pairs are too few to tell 2 methods apart, whatever comes out (6 is the fewest)"
        in done.err
    )
    steps = re.findall(r"^compare: (order .*)$", done.err, re.MULTILINE)
    assert steps == ["order 1, split 43 (1 of 2)", "order natural, split 43 (2 of 2)"]
    assert re.search(r"^synthetic +(finetune|linear_probe) .* best *$", done.out, re.MULTILINE)
    assert "not distinguishable: 2 pairs are too few (6 is the fewest)" in done.out
    for words in (
        "The rows' scopes differ (all_seen, task_only)",
        "Class orders: 1, natural; split seeds: 43; seeds: 1.",
        "A pair is one class order with one split (2 per data set)",
        "all 4 sign patterns",
        "balanced accuracy; grouped",
    ):
        assert words in done.out
    assert "\x1b" not in done.out + done.err


def test_the_files_agree_with_the_evaluations(made: tuple[Path, Any], support: ModuleType) -> None:
    folder, _ = made
    outputs, result = folder / "outputs", _result(folder, support)
    assert {p.name for p in (outputs / "compare").iterdir() if p.is_dir()} == {
        "order-1_split-43",
        "order-natural_split-43",
    }
    assert {p.name for p in outputs.iterdir()} == {"compare"}
    scores: dict[str, list[float]] = {m: [] for m in METHODS}
    for run in result["runs"]:
        at = (
            outputs
            / "compare"
            / f"order-{run['order']}_split-{run['split']}"
            / f"eval/synthetic/{run['method']}/seed-1/eval.json"
        )
        made_with = support.strict_json(at.read_text(encoding="utf-8"))
        split = made_with["settings"]["split"]
        assert (split["class_order"], split["seed"]) == (
            "natural" if run["order"] == "natural" else "seeded_permutation",
            run["split"],
        )
        assert (
            run["aa"] == made_with["parts"]["test"]["scopes"][made_with["scope"]]["balanced"]["aa"]
        )
        scores[run["method"]].append(run["aa"])
    assert len({tuple(s) for s in scores.values()}) == 2
    for row in result["datasets"][0]["methods"]:
        assert row["aa"] == pytest.approx(np.mean(scores[row["method"]]))
        assert row["aa_low"] < row["aa"] < row["aa_high"]
    table = list(
        csv.DictReader((outputs / "compare/compare.csv").read_text(encoding="utf-8").splitlines())
    )
    assert [float(r["aa"]) for r in table] == [r["aa"] for r in result["datasets"][0]["methods"]]
    page = (outputs / "compare/compare.md").read_text(encoding="utf-8")
    assert all(f"- {condition}" in page for condition in result["conditions"])
    assert not support.temporaries(outputs)


def test_a_second_call_recomputes_nothing_and_a_wider_one_only_what_is_new(
    made: tuple[Path, Any], support: ModuleType
) -> None:
    folder, _ = made
    before = support.artefacts(folder / "outputs")
    again = support.taamctl(folder, *_call(support, *GRID, "--json"))
    assert again.code == 0
    assert again.out == (folder / "outputs/compare/compare.json").read_text(encoding="utf-8")
    assert not re.search(r"^(split|precompute|train|infer|eval) .*: wrote", again.err, re.MULTILINE)
    assert again.err.count(": reused outputs/compare/order-") == 2 * (2 + 2 * 3)
    assert support.artefacts(folder / "outputs") == before

    seeds = support.taamctl(
        folder, *_call(support, "--seed", "2", "--split", "43", "--scope", "all_seen", "--quiet")
    )
    assert (seeds.code, seeds.err) == (0, "")
    assert (
        "A pair is a seed (2 per data set): one class order and one split were run, so nothing is "
        "said about others." in seeds.out
    )
    assert "Logit scope of every row: all_seen." in seeds.out
    result = _result(folder, support)
    assert (result["orders"], result["splits"], result["seeds"], result["scope"]) == (
        ["natural"],
        [43],
        [1, 2],
        "all_seen",
    )
    for path, content in before.items():
        if "/eval/" in path or path.endswith(".h5"):
            assert (folder / "outputs" / path).read_bytes() == content


def test_an_interrupted_comparison_goes_on(
    made: tuple[Path, Any],
    support: ModuleType,
    tmp_path: Path,
    tmp_path_factory: pytest.TempPathFactory,
) -> None:
    block = Path("outputs/compare/order-1_split-43")
    shutil.copytree(
        made[0] / block, tmp_path / block
    )  # the first block is done, the second not begun
    hooks = tmp_path_factory.mktemp("signal")
    at_training = support.signalled(hooks, "train.h5", signal.SIGINT)
    stopped = support.taamctl(tmp_path, *_call(support, *GRID), env=at_training)
    assert stopped.code == 130, stopped.err
    assert "(2 of 2)" in stopped.err
    assert not (tmp_path / "outputs/compare/compare.json").exists()

    done = support.taamctl(tmp_path, *_call(support, *GRID))
    assert done.code == 0
    assert done.err.count(": reused outputs/compare/order-1_split-43/") == 8
    known = {
        (run["order"], run["method"]): run["sha256"]
        for run in _result(made[0], support)["runs"]
        if run["seed"] == 1
    }
    assert all(
        known.get((run["order"], run["method"]), run["sha256"]) == run["sha256"]
        for run in _result(tmp_path, support)["runs"]
    )


def _arguments(tmp_path: Path, **changes: Any) -> dict[str, Any]:
    return {
        "datasets": ["synthetic"],
        "methods": list(METHODS),
        "seeds": [1],
        "outputs": tmp_path / "outputs",
        "quiet": True,
        **changes,
    }


@pytest.mark.parametrize(
    ("changes", "error", "hint"),
    [
        (
            {"methods": ["finetune"]},
            "a comparison needs two methods, there is one: finetune",
            "--method",
        ),
        (
            {"methods": ["finetune"] * 2},
            "a comparison needs two methods, there is one: finetune",
            "--method",
        ),
        (
            {"orders": ["natural", "alphabetic"]},
            "--order alphabetic: neither natural nor a whole number from 0",
            "--order 1",
        ),
        ({"orders": ["-1"]}, "--order -1: neither natural nor a whole number from 0", "--order 1"),
        (
            {"orders": ["4294967296"]},
            "split.order_seed: 4294967296 must be < 4294967296",
            "params.yaml",
        ),
        ({"splits": [42, -3]}, "--split -3: a seed is not negative", "--split 42"),
        ({"scope": "all"}, "--scope all: no such logit scope", "all_seen, up_to_task, task_only"),
    ],
)
def test_what_cannot_be_meant_is_refused_before_any_work(
    changes: dict[str, Any], error: str, hint: str, tmp_path: Path
) -> None:
    with pytest.raises(TaamctlError, match=re.escape(error)) as caught:
        flat(command)(**_arguments(tmp_path, **changes))
    assert hint in caught.value.hint
    assert list(tmp_path.iterdir()) == []


def test_a_negative_seed_reaches_the_command(support: ModuleType, tmp_path: Path) -> None:
    for option in ("--order", "--split"):
        refused = support.taamctl(tmp_path, "compare", option, "-1")
        assert (refused.code, refused.out) == (2, "")
        assert refused.err.startswith(f"error: {option} -1: ")
        assert support.error_lines(refused)[1] != []


def test_every_order_meets_every_split_once(tmp_path: Path) -> None:
    context = common.make_context(
        Grid(["synthetic"], list(METHODS)), Settings(outputs=tmp_path), Writing(quiet=True)
    )
    cells = plan(context, ["natural", "1", "01", "natural"], [42, 7, 42])
    assert [cell.folder for cell, _ in cells] == [
        f"order-{o}_split-{s}" for o in ("natural", "1") for s in (42, 7)
    ]
    for cell, own in cells:
        split = own.params.section(SplitParams)
        assert (split.class_order, split.seed) == (
            "natural" if cell.order == "natural" else "seeded_permutation",
            cell.split,
        )
        assert own.layout.root == tmp_path / "compare" / cell.folder
    assert cells[2][1].params.section(SplitParams).order_seed == 1
    assert [cell for cell, _ in plan(context, None, None)] == [comparison.Cell("natural", 42)]
    own_order = common.make_context(
        Grid(["synthetic"], list(METHODS)),
        Settings(
            overrides=[
                "split.class_order=seeded_permutation",
                "split.order_seed=5",
                "split.seed=6",
            ],
            outputs=tmp_path,
        ),
        Writing(quiet=True),
    )
    assert [cell for cell, _ in plan(own_order, None, None)] == [comparison.Cell("5", 6)]


# --------------------------------------------------------------------------------------------------


def _row(method: str, aa: float | None, seed: int, dataset: str = "toy", **changes: Any) -> RunRow:
    scopes = dict.fromkeys(("all_seen", "up_to_task", "task_only"), aa)
    made = {
        "dataset": dataset,
        "method": method,
        "title": method,
        "profile": "",
        "seed": seed,
        "part": "test",
        "averaging": "balanced",
        "unit": "graph",
        "protocol": "grouped",
        "scope": "all_seen",
        "aa": aa,
        "af": 0.1,
        "aa_by_scope": scopes,
        "af_by_scope": dict.fromkeys(scopes, 0.2),
        "task_id_kind": "none",
        "flags": [],
        "sha256": "0" * 64,
        "split": "60/20/20 per class, split seed 42, natural class order",
        "task_id": "none",
        "settings": {"train": {}},
        "bwt": None,
        "legacy_af": None,
        "aa_curve": [],
        "matrix": [],
        "task_id_accuracy": None,
        "task_id_grid": {},
        "parameters": {"extra_paper": 0, "extra_full": 0},
        **changes,
    }
    return msgspec.convert(made, RunRow)


def _grid(
    scores: dict[str, list[float]], *, blocks: bool, **changes: Any
) -> list[tuple[comparison.Cell, RunRow]]:
    return [
        (
            comparison.Cell("natural", 42 + i if blocks else 42),
            _row(method, aa, 1 if blocks else 1 + i, **changes),
        )
        for method, values in scores.items()
        for i, aa in enumerate(values)
    ]


def _texts(result: dict[str, Any]) -> dict[str, str]:
    return {m["method"]: m["text"] for m in result["datasets"][0]["methods"]}


def test_verdicts_in_words() -> None:
    base = [0.90, 0.91, 0.89, 0.92, 0.88, 0.90, 0.93, 0.87]
    # |a + 3b| >= 8 with a, b sums of four signs: 72 of 256 patterns
    near = [b - 0.002 + (-1) ** i * 0.004 for i, b in enumerate(base)]
    result = comparison.compared(
        _grid({"low": [b - 0.2 for b in base], "near": near, "top": base}, blocks=True)
    )
    assert _texts(result) == {
        "top": "best",
        "near": "not distinguishable, p = 0.28 (Holm)",
        "low": "worse, p = 0.02 (Holm)",
    }
    assert result["datasets"][0]["top_group"] == ["top", "near"]
    assert [m["rank"] for m in result["datasets"][0]["methods"]] == [1.5, 1.5, 3.0]
    assert "adjusted by Holm for the 3 comparisons of a data set" in " ".join(result["conditions"])
    assert not any("is the fewest" in line for line in result["conditions"])


@pytest.mark.parametrize(
    ("pairs", "text"),
    [(1, "1 pair is too few (6 is the fewest)"), (5, "5 pairs are too few (6 is the fewest)")],
)
def test_too_few_pairs_are_called_so(pairs: int, text: str) -> None:
    result = comparison.compared(
        _grid({"good": [0.9 + 0.01 * i for i in range(pairs)], "bad": [0.1] * pairs}, blocks=False)
    )
    assert _texts(result) == {"good": "best", "bad": f"not distinguishable: {text}"}
    assert "No difference can reach p < 0.05 here" in result["conditions"][-1 - (pairs == 1)]


def test_methods_that_no_seed_changes() -> None:
    fixed = comparison.compared(_grid({"probe": [0.85] * 8, "other": [0.8] * 8}, blocks=False))
    assert (
        _texts(fixed)["other"]
        == "not distinguishable: neither depends on the seed, so 8 seeds are 1 pair (6 is the "
        "fewest)"
    )
    twins = comparison.compared(_grid({"probe": [0.85] * 8, "twin": [0.85] * 8}, blocks=False))
    assert _texts(twins)["twin"] == "not distinguishable: equal in every pair"
    noisy = comparison.compared(
        _grid({"probe": [0.85] * 8, "net": [0.8 + 0.001 * i for i in range(8)]}, blocks=False)
    )
    assert _texts(noisy)["net"] == "worse, p = 0.008 (Holm)"


def test_seeds_are_averaged_inside_a_block_and_data_sets_only_ranked() -> None:
    found = [
        (comparison.Cell(order, 42), _row(method, aa + 0.1 * seed, seed, dataset))
        for dataset, flip in (("one", 0), ("two", 1))
        for order in ("natural", "3")
        for method, aa in (("a", 0.5), ("b", 0.5 + 0.1 * (-1) ** flip))
        for seed in (1, 2)
    ]
    result = comparison.compared(found)
    assert [d["pairs"] for d in result["datasets"]] == [
        ["order natural, split 42", "order 3, split 42"]
    ] * 2
    assert [m["aa"] for m in result["datasets"][0]["methods"]] == pytest.approx([0.75, 0.65])
    assert result["overall"] == [{"method": m, "mean_rank": 1.5, "blocks": 4} for m in ("a", "b")]
    assert any("no test is made across data sets" in line for line in result["conditions"])
    assert comparison_text.overall_cells(result) == [("a", "1.50", "4"), ("b", "1.50", "4")]
    assert "| a | 1.50 | 4 |" in comparison_text.markdown(result, 1)


def test_methods_of_different_scopes_are_compared_among_all_classes() -> None:
    grid = _grid({"a": [0.5, 0.6], "b": [0.4, 0.5]}, blocks=True)
    narrow = {"a": "all_seen", "b": "task_only"}
    found = [(cell, replace(row, scope=narrow[row.method])) for cell, row in grid]

    def scopes(found: Any, asked: str | None = None) -> set[tuple[str, str]]:
        return {(r["method"], r["scope"]) for r in comparison.compared(found, asked)["runs"]}

    assert scopes(found) == {("a", "all_seen"), ("b", "all_seen")}
    assert scopes(found, "own") == set(narrow.items())
    alike = [(cell, replace(row, scope="task_only")) for cell, row in grid]
    assert scopes(alike) == {("a", "task_only"), ("b", "task_only")}


def test_one_scope_for_all_takes_its_forgetting_too() -> None:
    result = comparison.compared(
        _grid({"a": [0.5, 0.6], "b": [0.4, 0.5]}, blocks=True), "task_only"
    )
    assert {(m["scope"], round(m["af"], 3)) for m in result["datasets"][0]["methods"]} == {
        ("task_only", 0.2)
    }
    assert "Logit scope of every row: task_only." in result["conditions"]


def test_a_flag_that_holds_in_one_order_only_names_it() -> None:
    found = _grid({"a": [0.5, 0.6], "b": [0.4, 0.5]}, blocks=True)
    found = [
        (cell, replace(row, flags=["everywhere", *(["once"] if cell.split == 43 else [])]))
        for cell, row in found
    ]
    assert comparison.compared(found)["conditions"][-2:] == [
        "toy: everywhere",
        "toy: once (order natural, split 43)",
    ]


def test_a_run_without_a_score_is_refused_by_name() -> None:
    with pytest.raises(TaamctlError, match=r"toy b seed 1 \(order natural, split 42\) has no AA"):
        comparison.compared(
            [
                *_grid({"a": [0.5]}, blocks=True),
                (comparison.Cell("natural", 42), _row("b", None, 1)),
            ]
        )


@pytest.mark.parametrize(
    ("p", "text"),
    [
        (0.03, "p = 0.03"),
        (0.0499, "p = 0.050"),
        (0.052, "p = 0.05"),
        (0.0078, "p = 0.008"),
        (0.0002, "p < 0.001"),
        (1.0, "p = 1.00"),
        (0.29, "p = 0.29"),
    ],
)
def test_p_values_as_text(p: float, text: str) -> None:
    assert comparison.p_text(p) == text


@pytest.mark.parametrize(
    ("cells", "methods", "seeds", "pairs", "more"),
    [
        (1, 2, 3, "3 pairs are", "--order, --split or --seed"),
        (4, 3, 9, "4 pairs are", "--order or --split"),
        (1, 2, 1, "1 pair is", "--order, --split or --seed"),
    ],
)
def test_what_could_tell_is_said_before_the_work(
    cells: int, methods: int, seeds: int, pairs: str, more: str
) -> None:
    note = comparison.too_few(cells, methods, seeds)
    assert note.startswith(f"{pairs} too few to tell {methods} methods apart")
    assert note.endswith(f"name more {more}")
    enough = statistics.fewest_pairs(methods * (methods - 1) // 2)
    assert comparison.too_few(enough, methods, 1) == "" == comparison.too_few(1, methods, enough)


def test_several_splits_of_parts_that_no_seed_draws_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    ring, _ = adjacency_from_edges(np.arange(40), (np.arange(40) + 1) % 40, 40, "shop")
    part = (np.arange(40) // 4 % 3).astype(np.int8)
    _imported.write(
        Path("data/shop.h5"),
        NodeGraph(
            "shop",
            ring,
            np.ones((40, 2), np.float32),
            np.arange(40) % 4,
            tuple("abcd"),
            (),
            Given(part=part),
        ),
        {},
    )
    context = common.make_context(
        Grid(["shop"], ["finetune", "linear_probe"]),
        Settings(overrides=["train.epochs=1"], outputs=Path("outputs")),
        Writing(quiet=True),
    )
    with pytest.raises(
        TaamctlError, match="the parts of shop are given: a split seed changes nothing"
    ):
        run_cells(context, plan(context, None, [1, 2]), None)


def test_a_data_set_of_one_class_graphs_is_not_ranked() -> None:
    scores = {"a": [0.9, 0.8, 0.9], "b": [1.0, 1.0, 1.0]}
    alone = _grid(scores, blocks=True, dataset="alone", one_class_tasks=[1], aa_defined=False)
    result = comparison.compared(alone)
    (found,) = result["datasets"]
    assert (found["aa_defined"], found["comparisons"], found["top_group"]) == (False, [], [])
    assert [m["rank"] for m in found["methods"]] == [None, None]
    assert {m["text"] for m in found["methods"]} == {"not ranked: test graphs of one class"}
    assert result["overall"] == []
    text = comparison_text.markdown(result, 1)
    assert "| alone | b | 100.0* |" in text
    assert "test graphs of alone hold one class, so its methods are not ranked" in text

    both = comparison.compared([*_grid(scores, blocks=True), *alone])
    assert [d["aa_defined"] for d in both["datasets"]] == [True, False]
    assert [(r["method"], r["blocks"]) for r in both["overall"]] == [("b", 3), ("a", 3)]
