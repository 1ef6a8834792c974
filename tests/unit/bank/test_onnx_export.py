"""A bank as ONNX answers in onnxruntime as it answers here."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch

from taamctl.bank import add, onnx_export, store
from taamctl.bank.bank import Bank, asked_once, load_bank
from taamctl.bank.config import Config
from taamctl.bank.graph_source import Source, normalised
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.predictor import Predictor
from taamctl.bank.single_nodes import SingleNodes
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, to_scipy
from taamctl.propagation import powers
from taamctl.propagation.operator import build

CLOSE = 1e-5
KINDS = (
    ("taam", ()),
    ("taam", ("methods.taam.layer_norm=false", "methods.taam.residual=false")),
    ("taam_l", ("precompute.self_loops=reset",)),
    ("taam_no_nsm", ("bank.router.width=9", "precompute.feature_norm=row")),
    ("linear_probe", ("precompute.feature_norm=column", "split.symmetrize=never")),
)


def session(path: Path) -> object:
    runtime = pytest.importorskip("onnxruntime")
    pytest.importorskip("onnx")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    return runtime.InferenceSession(path, options, providers=["CPUExecutionProvider"])


def looped(graph: NodeGraph, seed: int) -> NodeGraph:
    """Return a graph with some loops and edges between all classes, both ways."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, graph.num_nodes, (2, 60))
    ends[1, :8] = ends[0, :8]
    both = np.concatenate([ends, ends[::-1]], 1)
    x = np.abs(graph.features)
    x[5] = 0
    return replace(graph, adjacency=adjacency_from_edges(*both, len(x), "g")[0], features=x)


def taught(folder: Path, made: Config, graph: Callable[..., NodeGraph]) -> Bank:
    store.create(folder, made)
    for seed, names in enumerate((("a", "b"), ("c", "d", "e"), ("f",))):
        add.add(folder, Source(looped(graph(names, seed=seed, width=0.5), seed)))
    return load_bank(folder)


@pytest.mark.parametrize(("method", "settings"), KINDS)
def test_onnxruntime_gives_the_banks_answers(tmp_path, graph, config, method, settings) -> None:
    pytest.importorskip("onnxruntime")
    bank = taught(tmp_path / "bank", config(method, "bank.unknown=0.2", *settings), graph)
    made = looped(graph(tuple("abcdef"), seed=9, width=0.5), 9)
    dense = to_scipy(made.adjacency, np.float32).toarray()
    given = {
        "x": made.features,
        "adjacency": dense,
        "degree": dense.sum(1) - dense.diagonal(),
    }
    operator = build(made.adjacency, bank.config.precompute.self_loops)
    norm = bank.shared.norm(bank.manifest.feature_norm)
    x = normalised(made.features, norm)
    hops = powers.hop_matrices(operator, x, range(3), "torch")
    for decide in ("router", "expert", "soft"):
        options = PredictOptions(decide, "ridge", unknown=0.2)
        whole = asked_once(Predictor(SingleNodes(bank), options), made)
        assert np.array_equal(whole.confidence, bank.predict(made, decide=decide).confidence)
        paths = onnx_export.export(bank, tmp_path / decide, decide)
        models = [session(path) for path in paths]
        rows = {
            each.name: hops[int(each.name.removeprefix("hop_"))] for each in models[1].get_inputs()
        }
        for model, call in zip(models, (given, rows), strict=True):
            names = [each.name for each in model.get_outputs()]
            found = dict(zip(names, model.run(names, call), strict=True))
            assert np.array_equal(found["class"], whole.label)
            assert np.array_equal(found["task"], whole.task)
            assert np.abs(found["confidence"] - whole.confidence).max() < CLOSE
            profile = bank.shared.lift.profile(
                {j: torch.from_numpy(h) for j, h in hops.items()},
                bank.config.bank.router.hops,
            )
            assert np.abs(found["scores"] - bank.router.scores(profile).numpy()).max() < CLOSE
        # around a node there is something to see in a graph only
        graph_model = models[0].run(["novelty", "unknown"], given)
        assert np.abs(graph_model[0] - whole.novelty).max() < 1e-3
        sure = np.abs(graph_model[0] - whole.novelty) < 1e-4
        assert np.array_equal(graph_model[1][sure], whole.unknown[sure])
        assert 0 < whole.unknown.sum() < len(whole.unknown)
    assert len(set(whole.label.tolist())) > 3


def test_a_part_of_a_graph_is_enough_with_the_degrees_of_all_of_it(bank, graph, tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    opened = load_bank(bank)
    made = looped(graph(tuple("abcd"), seed=3, width=0.5), 3)
    options = PredictOptions("expert", "ridge", unknown=0.05)
    whole = asked_once(Predictor(SingleNodes(opened), options), made)
    model = session(onnx_export.export(opened, tmp_path, "expert")[0])
    dense = to_scipy(made.adjacency, np.float32).toarray()
    degree = dense.sum(1) - dense.diagonal()
    confident = opened.predict(made, decide="expert").confidence
    for node in range(10):
        reached = np.eye(len(dense), dtype=np.float32)[node]
        for _ in range(3):
            reached = reached + dense @ reached
        near = np.flatnonzero(reached)
        assert len(near) < len(dense)
        call = {"x": made.features[near], "adjacency": dense[np.ix_(near, near)]}
        sure, novelty = model.run(["confidence", "novelty"], {**call, "degree": degree[near]})
        at = int(np.searchsorted(near, node))
        assert abs(sure[at] - confident[node]) < CLOSE
        assert abs(novelty[at] - whole.novelty[node]) < 1e-3


def test_models_say_what_they_are_and_are_the_same_bytes_again(bank, tmp_path) -> None:
    pytest.importorskip("onnxruntime")
    opened = load_bank(bank)
    paths = onnx_export.export(opened, tmp_path / "one", "soft")
    said = session(paths[0]).get_modelmeta().custom_metadata_map
    assert json.loads(said["classes"]) == ["a", "b", "c", "d"]
    assert json.loads(said["features"]) == [] and json.loads(said["hops"]) == [0, 2]
    assert (said["decide"], said["bank_digest"]) == ("soft", opened.manifest.digest)
    again = onnx_export.export(opened, tmp_path / "two", "soft")
    assert [p.read_bytes() for p in again] == [p.read_bytes() for p in paths]


def test_a_model_without_a_form_is_refused(bank, tmp_path, monkeypatch) -> None:
    pytest.importorskip("onnx")
    opened = load_bank(bank)
    monkeypatch.setattr(type(opened.expert(0)), "normalise", False)
    made = onnx_export._of_rows(opened, "expert", [0, 2])
    monkeypatch.undo()
    monkeypatch.setattr(onnx_export, "_of_rows", lambda *_: made)
    with pytest.raises(TaamctlError, match="answers would differ from the bank's") as caught:
        onnx_export.export(opened, tmp_path / "out", "expert")
    assert "--decide router" in caught.value.hint and not (tmp_path / "out").exists()


def test_without_onnx_it_says_how_to_get_it(bank, tmp_path, monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(TaamctlError, match="needs the package onnx") as caught:
        onnx_export.export(load_bank(bank), tmp_path / "out", "router")
    assert caught.value.hint == "pip install 'taamctl[onnx]'"


def test_models_are_not_put_into_a_bank(bank, tmp_path) -> None:
    pytest.importorskip("onnx")
    with pytest.raises(TaamctlError, match="a bank lies there"):
        onnx_export.export(load_bank(bank), bank, "router")
    assert all(finding.good for finding in verify(bank))
