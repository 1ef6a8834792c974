"""The steps of an answer as nodes of ONNX, written one by one: what stands here is what the other
program computes.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from taamctl.core.types import Array
from taamctl.features.raw_features import Norm
from taamctl.learning.kernels.ridge import Lift
from taamctl.models.layer import LN_EPS

if TYPE_CHECKING:
    from onnx import NodeProto, TensorProto

OPSET = 18
LEAST = np.float32(1e-12)  # shorter rows than that are not scaled to length 1
ALONG = np.array([1])  # the axis of the numbers of one node


class Builder:
    """Nodes and constants of a model; every method returns the name of a result."""

    def __init__(self) -> None:
        self.nodes: list[NodeProto] = []
        self.constants: list[TensorProto] = []

    def constant(self, value: ArrayLike) -> str:
        """Keep an array; numbers with a point become float32, whole ones int64."""
        from onnx import numpy_helper

        array = np.asarray(value)
        kind = np.float32 if array.dtype.kind == "f" else np.int64
        name = f"constant_{len(self.constants)}"
        kept = np.ascontiguousarray(array, kind)
        self.constants.append(numpy_helper.from_array(kept.reshape(array.shape), name))
        return name

    def add(
        self, operation: str, *inputs: str | ArrayLike, to: str = "", **settings: float | int
    ) -> str:
        """Add a node; inputs are results or arrays.

        Args:
            to: name of the result; empty: one of its own.
        """
        from onnx import helper

        given = [each if isinstance(each, str) else self.constant(each) for each in inputs]
        name = to or f"{operation}_{len(self.nodes)}"
        self.nodes.append(helper.make_node(operation, given, [name], **settings))
        return name

    def largest(self, of: str, keep: int = 0) -> str:
        """Return the largest number of every row."""
        return self.add("ReduceMax", of, ALONG, keepdims=keep)

    def where_largest(self, of: str, keep: int = 0) -> str:
        """Return the column of the largest number of every row."""
        return self.add("ArgMax", of, axis=1, keepdims=keep)

    def unit(self, rows: str) -> str:
        """Return rows scaled to length 1."""
        length = self.add("ReduceL2", rows, ALONG, keepdims=1)
        return self.add("Div", rows, self.add("Max", length, LEAST))


def profile(b: Builder, hops: Mapping[int, str], weights: Mapping[int, float], lift: Lift) -> str:
    """Return node profiles, as `Lift.profile` does."""
    parts = [b.add("Mul", b.unit(hops[j]), float(w)) for j, w in sorted(weights.items())]
    z = b.unit(b.add("Sum", *parts))
    if not lift.matrix.shape[1]:
        return z
    turned = b.add("MatMul", z, lift.matrix.numpy())
    if lift.projects:
        return b.unit(turned)
    return b.add("Concat", z, b.unit(b.add("Relu", turned)), axis=1)


def normalised_rows(b: Builder, h: str) -> str:
    """Return LN(h), without scale and shift."""
    apart = b.add("Sub", h, b.add("ReduceMean", h, ALONG, keepdims=1))
    variance = b.add("ReduceMean", b.add("Mul", apart, apart), ALONG, keepdims=1)
    return b.add("Div", apart, b.add("Sqrt", b.add("Add", variance, float(LN_EPS))))


def modulated(b: Builder, h: str, n: str, terms: Sequence[Array], *, residual: bool) -> str:
    """Return h' = (a gamma) n + a beta + h with a = softmax(W_att h + b_att).

    Args:
        n: LN(h), or h. terms: gamma, beta, W_att, b_att as `models.layer.Terms` has them.
    """
    gamma, beta, watt, bias = terms
    a = b.add("Softmax", b.add("Add", b.add("MatMul", h, watt.T), bias), axis=1)
    scaled = b.add("Mul", b.add("MatMul", a, gamma), n)
    moved = b.add("Add", scaled, b.add("MatMul", a, beta))
    return b.add("Add", moved, h) if residual else moved


def operator(b: Builder, adjacency: str, degree: str, self_loops: str) -> str:
    """Return S = D^-1/2 A D^-1/2 of a dense adjacency, its self-loops set by the rule.

    Args:
        degree: how many other nodes each receives from in the whole graph.
    """
    eye = b.add("EyeLike", adjacency)
    kept = adjacency
    if self_loops == "reset":
        kept = b.add("Sub", adjacency, b.add("Mul", adjacency, eye))
    looped = b.add("Add", kept, eye)
    own = b.add("ReduceSum", b.add("Mul", looped, eye), ALONG, keepdims=0)
    root = b.add("Reciprocal", b.add("Sqrt", b.add("Add", degree, own)))
    received = b.add("Mul", looped, b.add("Unsqueeze", root, np.array([1])))
    return b.add("Mul", received, b.add("Unsqueeze", root, np.array([0])))


def input_rows(b: Builder, x: str, norm: Norm) -> str:
    """Return raw features normalised as the bank does."""
    if not isinstance(norm, str):
        return b.add("Div", x, norm)
    if norm == "none":
        return x
    total = b.add("ReduceSum", x, ALONG, keepdims=1)
    empty = b.add("Equal", total, 0.0)
    return b.add("Where", empty, 0.0, b.add("Div", x, total))


def around(b: Builder, values: str, s: str) -> str:
    """Return the mean of a node's value and of those that it receives."""
    column = b.add("Unsqueeze", values, np.array([1]))
    received = b.add("Squeeze", b.add("MatMul", s, column), np.array([1]))
    mean = b.add("Div", received, b.add("ReduceSum", s, ALONG, keepdims=0))
    return b.add("Div", b.add("Add", values, mean), 2.0)
