"""A graph of one's own, `data/NAME.h5`: found by its name wherever a data set is named."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
import pytest
from taamctl.stages import precompute, split
from typer.testing import CliRunner

from taamctl.cli import common
from taamctl.cli.app import app
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, Given, NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.pipeline.split_account import lines as show_account
from taamctl.runtime.provenance import sidecar_of
from taamctl.store.artefacts import Artefact
from taamctl.store.split_kind import SPLIT

SHOP = Path("data/shop.h5")
DATASETS = "taamctl.datasets"

NOTHING = Given()


def graph(
    *,
    sparse: bool = False,
    shift: float = 0.0,
    given: Given = NOTHING,
    sizes: tuple[int, ...] = (30, 30, 30, 30),
) -> NodeGraph:
    rng = np.random.default_rng(0)
    labels = np.repeat(np.arange(len(sizes)), sizes)
    n = len(labels)
    adjacency, _ = adjacency_from_edges(
        rng.integers(0, n, 4 * n), rng.integers(0, n, 4 * n), n, "shop"
    )
    x: Any = rng.normal(size=(n, 4)).astype(np.float32) + np.float32(shift)
    if sparse:
        x = CSR(np.arange(n + 1, dtype=np.int64), (np.arange(n) % 4).astype(np.int32), None, (n, 4))
    return NodeGraph(
        "shop",
        adjacency,
        x,
        labels,
        tuple(f"kind {i}" for i in range(len(sizes))),
        ("cast from text",),
        given,
    )


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def context(*overrides: str, datasets: list[str] | None = None) -> Any:
    return common.make_context(
        Grid(datasets or ["shop"]),
        Settings(overrides=list(overrides), outputs=Path("outputs")),
        Writing(quiet=True),
    )


def invoke(*arguments: str) -> Any:
    return CliRunner().invoke(app, arguments)


@pytest.mark.parametrize("sparse", [False, True])
def test_what_is_written_is_read(here: Path, sparse: bool) -> None:
    n = 120
    made = graph(
        sparse=sparse,
        given=Given(
            np.array([1, 0, 0, 1]),
            (np.arange(n) % 3).astype(np.int8),
            np.arange(n) / 2,
            np.array([f"n{i}ü" for i in range(n)]),
        ),
    )
    _imported.write(
        SHOP, made, {"nodes": "shop.csv", "sha256": "0" * 64, "licence": "CC0"}, directed=True
    )
    before = SHOP.read_bytes()
    _imported.write(
        SHOP, made, {"nodes": "shop.csv", "sha256": "0" * 64, "licence": "CC0"}, directed=True
    )
    assert SHOP.read_bytes() == before
    read = _imported.read(SHOP)
    assert (read.name, read.class_names, read.notes) == (made.name, made.class_names, made.notes)
    for name in ("arrival", "part", "time", "node_id"):
        assert np.array_equal(getattr(read.given, name), getattr(made.given, name))
    assert np.array_equal(read.adjacency.indptr, made.adjacency.indptr)
    assert np.array_equal(read.adjacency.indices, made.adjacency.indices)
    assert np.array_equal(read.labels, made.labels)
    if sparse:
        assert isinstance(read.features, CSR) and isinstance(made.features, CSR)
        assert read.features.data is None and np.array_equal(
            read.features.indices, made.features.indices
        )
    else:
        assert np.array_equal(read.features, made.features)
    module = _imported.module(SHOP)
    meta = module.META
    assert (meta.nodes, meta.edges, meta.features, meta.classes, meta.directed, meta.licence) == (
        n,
        made.adjacency.nnz,
        4,
        4,
        True,
        "CC0",
    )
    assert (module.SOURCE["nodes"], module.TASKS, module.STATES) == (
        "shop.csv",
        2,
        ("arrival", "part", "time", "node_id"),
    )


def test_nothing_is_written_under_a_name_that_is_taken_or_none(here: Path) -> None:
    with pytest.raises(TaamctlError, match="there is a dataset 'photo' already, from taamctl"):
        _imported.write(Path("data/photo.h5"), graph(), {})
    with pytest.raises(TaamctlError, match="'My-Shop' is no name"):
        _imported.write(Path("data/My-Shop.h5"), graph(), {})
    assert not Path("data").exists()


def test_a_damaged_file_names_the_place(here: Path) -> None:
    _imported.write(SHOP, graph(), {})
    data = bytearray(SHOP.read_bytes())
    at = data.find(graph().labels.tobytes()[-200:])
    data[at + 3] ^= 1
    SHOP.write_bytes(data)
    with pytest.raises(TaamctlError, match=r"data/shop\.h5 is not as it was written"):
        _imported.read(SHOP)
    sidecar_of(SHOP).unlink()
    with pytest.raises(TaamctlError, match="data/shop.h5: labels does not match its checksum"):
        registry.load(DATASETS, "shop").load(None)


def test_lists_and_near_misses_hold_it(here: Path) -> None:
    assert "shop" not in registry.names(DATASETS)
    _imported.write(SHOP, graph(), {})
    assert "shop" in registry.names(DATASETS)
    assert "shop" not in registry.builtin(DATASETS)
    with pytest.raises(TaamctlError, match="no dataset called 'shpo'; there are: .*shop") as error:
        registry.require(DATASETS, "shpo")
    assert error.value.hint == "did you mean 'shop'?"
    rows = {row["name"]: row for row in json.loads(invoke("data", "list", "--json").stdout)}
    assert (rows["shop"]["nodes"], rows["shop"]["classes"], rows["shop"]["found"]) == (
        120,
        4,
        "data/shop.h5",
    )
    assert json.loads(invoke("data", "info", "shop", "--json").stdout)["features"] == 4
    assert registry.origin(DATASETS, "shop") == "data/shop.h5"


def test_a_clash_with_one_of_ours_is_refused_and_listed(here: Path) -> None:
    _imported.write(SHOP, graph(), {})
    SHOP.rename("data/photo.h5")
    Path("data/other.h5").write_bytes(b"not HDF5")
    with pytest.raises(
        TaamctlError, match="data/photo.h5 is called as a dataset of taamctl"
    ) as error:
        registry.load(DATASETS, "photo")
    assert "mv data/photo.h5 data/my_photo.h5" in error.value.hint
    rows = {row["name"]: row for row in json.loads(invoke("data", "list", "--json").stdout)}
    assert "broken: data/photo.h5 is called as" in rows["photo"]["found"]
    assert "broken: data/other.h5 is broken" in rows["other"]["found"]
    Path("data/photo.h5").rename("data/my_photo.h5")
    assert registry.load(DATASETS, "my_photo").load(None).name == "my_photo"


def test_its_section_may_be_left_out_or_empty(here: Path) -> None:
    _imported.write(SHOP, graph(), {})
    assert context().params.plugin("datasets", "shop", None) is None
    text = invoke("params").stdout
    Path("params.yaml").write_text(text.replace("  debian: {}\n", "  debian: {}\n  shop: {}\n"))
    assert context().params.tree["datasets"]["shop"] == {}
    Path("params.yaml").write_text(text.replace("  debian: {}\n", "  debian: {}\n  shop: {a: 1}\n"))
    with pytest.raises(TaamctlError, match="datasets.shop.a: unknown key"):
        context()


def test_replacing_the_file_remakes_split_and_what_follows(here: Path) -> None:
    _imported.write(SHOP, graph(), {})
    assert [stage.run(context(), "shop").reused for stage in (split, precompute)] == [False, False]
    assert [stage.run(context(), "shop").reused for stage in (split, precompute)] == [True, True]
    _imported.write(SHOP, graph(), {})
    assert [stage.run(context(), "shop").reused for stage in (split, precompute)] == [True, True]
    _imported.write(SHOP, graph(shift=1.0), {})
    with pytest.raises(TaamctlError, match="the raw data of shop is not what .* was made from"):
        precompute.run(dataclasses.replace(context(), force=True), "shop")
    assert [stage.run(context(), "shop").reused for stage in (split, precompute)] == [False, False]


# --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("policy", "line"),
    [
        ("drop", "left out: class kind 6 (9 nodes): leftover class (odd_class: drop)"),
        ("merge_into_last", "leftover: kind 6 joined the last task (odd_class: merge_into_last)"),
        ("singleton_task", "leftover: kind 6 became a task of 1 (odd_class: singleton_task)"),
    ],
)
def test_no_leftover_class_goes_unsaid(here: Path, policy: str, line: str) -> None:
    _imported.write(SHOP, graph(sizes=(9, 9, 9, 9, 9, 9, 9)), {})
    said = [
        x.strip()
        for x in show_account(split.run(context(f"split.odd_class={policy}"), "shop").path)
    ]
    assert [x for x in said if x.startswith(("left", "leftover"))] == [line]


def test_small_classes_and_those_without_test_nodes_are_named(here: Path) -> None:
    _imported.write(SHOP, graph(sizes=(9, 9, 2, 9, 1)), {})
    said = [x.strip() for x in show_account(split.run(context(), "shop").path)]
    assert "left out: class kind 4 (1 nodes): fewer than 2 nodes (small_class: drop)" in said
    assert "warning: class kind 2 has no node in: test; it is left out of that part's means" in said
    assert not any(x.startswith("leftover") for x in said)


def test_what_the_graph_states_is_said_and_stands_in_the_account(here: Path) -> None:
    part = np.array([-1, 0, 2], np.int8)[np.arange(120) % 3]  # none, train, test: no val
    _imported.write(SHOP, graph(given=Given(arrival=np.array([0, 1, 1, 1]), part=part)), {})
    path = split.run(context(), "shop").path
    said = [x.strip() for x in show_account(path)]
    assert "tasks: as the graph states them, 1, 3 classes" in said
    assert "parts: as the graph states them; 40 nodes without a part left out" in said
    assert "warning: no class has a node in val: nothing is measured on it" in said
    with Artefact(path, SPLIT) as made:
        assert json.loads(made.attribute("account"))["parts"] == "given"
    said = [
        x.strip()
        for x in show_account(
            split.run(context("split.tasks=by_size", "split.parts=drawn"), "shop").path
        )
    ]
    assert not any(x.startswith(("tasks:", "parts:", "warning:")) for x in said)


# --------------------------------------------------------------------------------------------------


def test_doctor_reports_as_json_and_as_text(here: Path) -> None:
    _imported.write(SHOP, graph(sizes=(30, 30, 30, 30, 30, 1)), {})
    drop = ("--set", "split.odd_class=drop")
    done = invoke("data", "doctor", "shop", *drop, "--json")
    assert done.exit_code == 0, done.output
    report = json.loads(done.stdout)
    assert (report["dataset"], report["from"], report["nodes"], report["ok"]) == (
        "shop",
        "data/shop.h5",
        151,
        True,
    )
    assert [t["classes"] for t in report["stream"]["tasks"]] == [
        ["kind 0", "kind 1"],
        ["kind 2", "kind 3"],
    ]
    priced = [(c["stage"], c["method"]) for c in report["estimates"]]
    assert priced[:2] == [("split", ""), ("precompute", "")]
    assert priced[2:5] == [(stage, "taam") for stage in ("train", "infer", "eval")]
    assert [f["level"] for f in report["findings"]][:2] == ["warning", "warning"]
    assert not Path("outputs").exists()
    text = invoke("data", "doctor", "shop", *drop).stdout
    assert "kind 5 (1)" in text and "set split.odd_class: merge_into_last" in text
    assert text.endswith("nothing stops a run\n")
    unasked = json.loads(invoke("data", "doctor", "shop", "--json").stdout)
    assert unasked["stream"]["tasks"][-1]["classes"] == ["kind 2", "kind 3", "kind 4"]


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("split.small_class=refuse", "classes with fewer than 2 nodes: kind 2 (1)"),
        ("split.class_order=time", "this graph has no times"),
    ],
)
def test_doctor_says_no_where_a_run_would_stop(here: Path, override: str, message: str) -> None:
    _imported.write(SHOP, graph(sizes=(30, 30, 1)), {})
    done = invoke("data", "doctor", "shop", "--set", override, "--json")
    assert done.exit_code == 1
    report = json.loads(done.stdout)
    first = report["findings"][0]
    assert (first["level"], report["stream"], report["ok"]) == ("stop", None, False)
    assert message in first["what"] and "set split." in first["mend"]


def test_doctor_takes_built_in_sets_too(here: Path, support: ModuleType) -> None:
    done = support.taamctl(here, "data", "doctor", "synthetic")
    assert done.code == 0, done.err
    assert "task 4" in done.out
