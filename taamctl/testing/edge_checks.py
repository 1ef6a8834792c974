"""What a method does at the edges of what data can be: a defined result, or a refusal that says
what to do.
"""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import torch

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT
from taamctl.core.types import Array
from taamctl.learning.contract.learn_stages import train_stream
from taamctl.learning.contract.method import Method, State
from taamctl.testing.edge_streams import STREAMS, EdgeStream
from taamctl.testing.toy_stream import TOY_TRAIN, ToyStream

FAST = replace(TOY_TRAIN, epochs=2)


def a_result_or_a_refusal(toy: ToyStream, edge: str) -> str | None:
    """Hold a method to one of `STREAMS`: finite states, predictions among the classes that are
    seen, no warning; or a TaamctlError with a hint.

    Returns:
        The refusal; None where there is a result.

    Raises:
        AssertionError: neither.
    """
    stream = EdgeStream(toy.module, toy.values, STREAMS[edge]())
    return result_or_refusal(stream, edge)


def result_or_refusal(stream: EdgeStream, edge: str) -> str | None:
    """Do the same with a stream of one's own."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        try:
            _go_through(stream, edge)
        except TaamctlError as error:
            return _refusal(error, edge)
        except Warning as warning:
            raise AssertionError(f"{edge}: a warning: {warning}") from warning
    return None


def _go_through(stream: EdgeStream, edge: str) -> None:
    kept = _Kept()
    data = stream.tasks()
    train_stream(
        lambda: stream.make(train=FAST), data.__getitem__, stream.sizes(data), kept, SILENT
    )
    method = stream.make(train=FAST)
    states = [kept.states.get(k, {}) for k in range(len(data))]
    for k, state in enumerate(states):
        wrong = sorted(name for name, array in state.items() if not _finite(array))
        assert not wrong, f"{edge}: task index {k} leaves NaN or infinity in {', '.join(wrong)}"
    method.load(method.shared(), states)
    for k, group in enumerate(stream.groups):
        for rows in (np.arange(len(group.y)), np.arange(1), np.arange(0)):
            _ask(stream, method, k, rows, edge)


def _refusal(error: TaamctlError, edge: str) -> str:
    assert error.hint, f"{edge}: refused without a hint: {error.message}"
    return error.message


def _ask(stream: EdgeStream, method: Method, k: int, rows: Array, edge: str) -> None:
    low, high = stream.info.bounds[k]
    with torch.no_grad():
        logits = method.logits(stream.asked(k, rows), k)
    assert bool(torch.isfinite(logits).all()), f"{edge}: logits of task index {k} are not finite"
    labels = method.predict(stream.asked(k, rows), k).labels
    for scope, found in labels.items():
        assert found.shape == (len(rows),), f"{edge}: {len(rows)} nodes, {found.shape} predictions"
        first = low if scope == "task_only" else 0
        last = high if scope != "all_seen" else stream.info.num_classes
        inside = bool(((found >= first) & (found < last)).all())
        assert inside, f"{edge}: {scope} predicts a class outside {first}..{last - 1}"


def _finite(array: Array) -> bool:
    return array.dtype.kind != "f" or bool(np.isfinite(array).all())


class _Kept:
    """Finished stages, in memory."""

    def __init__(self) -> None:
        self.states: dict[int, State] = {}

    def load(self, stage: int) -> None:
        """Return nothing: every run is a new one."""

    def save(self, stage: int, state: State, training: State, losses: Array) -> None:
        self.states[stage] = dict(state)
