"""A bank as two models in ONNX, for programs without this package: one that takes a small graph,
one that takes features which are propagated already.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.bank import manifest as manifests
from taamctl.bank import onnx_nodes
from taamctl.bank.onnx_answer import add_answer
from taamctl.bank.onnx_nodes import Builder
from taamctl.bank.open_bank import OpenBank
from taamctl.bank.predict_options import PredictOptions
from taamctl.bank.predictor import Predictor
from taamctl.bank.single_nodes import SingleNodes
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.propagation.powers import powers
from taamctl.store.atomic_files import atomic

if TYPE_CHECKING:
    from onnx import ModelProto

GRAPH = "graph.onnx"
ROWS = "rows.onnx"
IR = 9  # the format of the file: as old as the operations allow, so that older programs read it
# of confidences, where the written model is held to the bank on rows of length sqrt(F): such rows
# make logits large, and their last digits with them
CLOSE = 1e-3
OUTPUTS = {
    "scores": ("float", ("N", "C")),
    "class": ("int64", ("N",)),
    "task": ("int64", ("N",)),
    "confidence": ("float", ("N",)),
    "novelty": ("float", ("N",)),
    "unknown": ("bool", ("N",)),
}


def export(opened: OpenBank, folder: Path, decide: str) -> list[Path]:
    """Write `graph.onnx` and `rows.onnx`, each whole or not at all, and return their paths.

    Before that the answers of the second for the bank's 64 random rows are held to the bank's own.

    Args:
        decide: `router`, `expert` or `soft`.

    Raises:
        TaamctlError: onnx is missing, the bank is empty, or its models have no form in ONNX.
    """
    _require_onnx()
    if (folder / manifests.NAME).exists():
        raise TaamctlError(
            f"--into {folder}: a bank lies there, in which no other file may lie",
            "name a folder of its own for the models",
        )
    bank = SingleNodes(opened)
    options = PredictOptions(decide, "ridge", unknown=bank.config.bank.unknown)
    predictor = Predictor(bank, options)
    hops = sorted(predictor.hops_wanted())
    made = {
        GRAPH: _of_graphs(bank, decide, hops),
        ROWS: _of_rows(bank, decide, hops),
    }
    _require_equal(bank, predictor, made[ROWS], hops)
    for name, model in made.items():
        with atomic(folder / name) as temporary:
            temporary.write_bytes(model.SerializeToString(deterministic=True))
    return [folder / name for name in made]


def _require_onnx() -> None:
    try:
        import onnx  # noqa: F401
    except ImportError:
        raise TaamctlError(
            "taamctl bank onnx needs the package onnx, which is not installed",
            "pip install 'taamctl[onnx]'",
        ) from None


def _of_graphs(bank: OpenBank, decide: str, hops: Sequence[int]) -> ModelProto:
    """Return the model of a whole small graph."""
    b = Builder()
    config = bank.config
    assert bank.manifest.feature_norm is not None
    s = onnx_nodes.operator(b, "adjacency", "degree", config.precompute.self_loops)
    x = onnx_nodes.input_rows(b, "x", bank.shared.norm(bank.manifest.feature_norm))
    found = dict(enumerate(powers(lambda z: b.add("MatMul", s, z), x, max(hops))))
    limit = add_answer(b, bank, found, decide)
    novelty = onnx_nodes.around(b, "own_novelty", s)
    _finish(b, novelty, limit)
    inputs = {"x": ("N", bank.manifest.num_features), "adjacency": ("N", "N"), "degree": ("N",)}
    return _model(b, inputs, _about(bank, decide, hops))


def _of_rows(bank: OpenBank, decide: str, hops: Sequence[int]) -> ModelProto:
    """Return the model of features that are propagated already."""
    b = Builder()
    inputs = {f"hop_{j}": ("N", bank.manifest.num_features) for j in hops}
    limit = add_answer(b, bank, {j: f"hop_{j}" for j in hops}, decide)
    _finish(b, "own_novelty", limit)
    return _model(b, inputs, _about(bank, decide, hops))


def _finish(b: Builder, novelty: str, limit: str) -> None:
    b.add("Identity", novelty, to="novelty")
    b.add("Greater", novelty, limit, to="unknown")


def _model(
    b: Builder, inputs: Mapping[str, tuple[str | int | None, ...]], about: Mapping[str, str]
) -> ModelProto:
    from onnx import TensorProto, checker, helper

    kinds = {"float": TensorProto.FLOAT, "int64": TensorProto.INT64, "bool": TensorProto.BOOL}
    graph = helper.make_graph(
        b.nodes,
        "taamctl",
        [helper.make_tensor_value_info(n, TensorProto.FLOAT, s) for n, s in inputs.items()],
        [helper.make_tensor_value_info(n, kinds[k], s) for n, (k, s) in OUTPUTS.items()],
        b.constants,
    )
    model = helper.make_model(
        graph, opset_imports=[helper.make_opsetid("", onnx_nodes.OPSET)], producer_name="taamctl"
    )
    model.ir_version = IR
    helper.set_model_props(model, dict(about))
    checker.check_model(model)
    return model


def _about(bank: OpenBank, decide: str, hops: Sequence[int]) -> dict[str, str]:
    """Return what a user of a model has to know, as text; lists are JSON."""
    config, now = bank.config, bank.manifest
    return {
        "classes": json.dumps(now.classes),
        "features": json.dumps(bank.shared.feature_names),
        "hops": json.dumps(hops),
        "decide": decide,
        "method": config.method,
        "unknown_rate": str(config.bank.unknown),
        "feature_norm": str(now.feature_norm),
        "symmetrize": config.split.symmetrize,
        "self_loops": config.precompute.self_loops,
        "taamctl": metadata.version("taamctl"),
        "bank_generation": str(now.generation),
        "bank_digest": now.digest,
    }


def _require_equal(
    bank: OpenBank, predictor: Predictor, model: ModelProto, hops: Sequence[int]
) -> None:
    """Refuse a model that answers the bank's random rows in another way than the bank.

    A node whose two likeliest classes are equal to rounding may get either.
    """
    from onnx.reference import ReferenceEvaluator

    rows = bank.shared.probe.numpy()
    routed = predictor.node_by_node(_Same(rows), len(rows))
    label, confidence = predictor.decide(_Same(rows), np.ones(len(rows)), routed)
    given = {f"hop_{j}": rows for j in hops}
    found, sure = ReferenceEvaluator(model).run(["class", "confidence"], given)
    off = np.abs(sure - confidence)
    wrong = (off > CLOSE) | ((found != label) & (off > CLOSE / 100))
    if wrong.any():
        raise TaamctlError(
            f"the models of {bank.config.method} cannot be written as ONNX: {int(wrong.sum())} of "
            f"{len(rows)} answers would differ from the bank's",
            "use --decide router: the regression over all classes can",
        )


class _Same:
    """Rows that stand for the features of every hop."""

    def __init__(self, x: Array) -> None:
        self._x = x

    def rows(self, hop: int, low: int, high: int) -> Array:
        """Return some rows."""
        return self._x[low:high]
