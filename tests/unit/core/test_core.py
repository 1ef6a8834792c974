from __future__ import annotations

import mmap
import pickle
import resource
from types import SimpleNamespace

import numpy as np
import pytest

from taamctl.core import memory, registry
from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import derive, torch_generator
from taamctl.core.types import CSR, NodeGraph, Prediction, Task, TaskStream
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.ways import Unclear


def test_registry_lists_files_and_suggests_the_nearest() -> None:
    assert {"taam", "taam_l", "finetune", "joint", "oracle", "linear_probe"} <= set(
        registry.names("taamctl.methods")
    )
    with pytest.raises(TaamctlError, match="no method called 'tam'; there are: .*taam") as caught:
        registry.load("taamctl.methods", "tam")
    assert caught.value.hint == "did you mean 'taam'?"


def test_seeds_differ_by_purpose_and_task_and_repeat() -> None:
    seen = {derive(s, p, t) for s in range(3) for p in ("backbone", "head") for t in range(-1, 3)}
    assert len(seen) == 3 * 2 * 4
    assert torch_generator(1, "head", 2).initial_seed() == derive(1, "head", 2)


@pytest.mark.parametrize(("platform", "size"), [("linux", 5 << 10), ("darwin", 5)])
def test_the_peak_is_bytes_whatever_the_system_counts_in(
    monkeypatch: pytest.MonkeyPatch, platform: str, size: int
) -> None:
    monkeypatch.setattr(memory.sys, "platform", platform)
    monkeypatch.setattr(resource, "getrusage", lambda _: SimpleNamespace(ru_maxrss=5))
    assert memory.peak() == size


def test_memory_in_use_grows_with_what_is_held() -> None:
    before = memory.used()
    size = 64 << 20
    with mmap.mmap(-1, size) as held:  # of the system itself: an allocator might have some left
        held.write(bytes(size))
        assert memory.used() - before > size // 2
    assert memory.peak() >= size


def _graph(features: np.ndarray, labels: list[int] | None = None) -> NodeGraph:
    adjacency = CSR(np.array([0, 1, 2]), np.array([1, 0], np.int32), None, (2, 2))
    return NodeGraph("g", adjacency, features, np.array(labels or [0, 1]), ("a", "b"))


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
def test_non_finite_features_are_refused_naming_row_and_column(value: float) -> None:
    x = np.zeros((2, 3), np.float32)
    x[1, 2] = value
    with pytest.raises(TaamctlError, match="row 1, column 2"):
        _graph(x)


def test_graphs_check_shapes_and_labels() -> None:
    with pytest.raises(TaamctlError, match="3 feature rows for 2 nodes"):
        _graph(np.zeros((3, 1), np.float32))
    with pytest.raises(TaamctlError, match=r"labels lie outside -1\.\.1"):
        _graph(np.zeros((2, 1), np.float32), [0, 2])
    with pytest.raises(TaamctlError, match="features are float64"):
        _graph(np.zeros((2, 1)))
    with pytest.raises(TaamctlError, match="column ids lie outside"):
        CSR(np.array([0, 1]), np.array([4], np.int32), None, (1, 2))
    with pytest.raises(TaamctlError, match="row pointer ends at 2"):
        CSR(np.array([0, 2]), np.array([0], np.int32), None, (1, 2))


def test_task_streams_are_contiguous() -> None:
    TaskStream((Task(0, 0, 2), Task(1, 2, 3)), (4, 5, 6), ("a", "b", "c"))
    with pytest.raises(TaamctlError, match="should start at 2"):
        TaskStream((Task(0, 0, 2), Task(1, 3, 4)), (4, 5, 6, 7), tuple("abcd"))


def test_predictions_need_every_scope() -> None:
    with pytest.raises(TaamctlError, match="needs the scopes all_seen, up_to_task, task_only"):
        Prediction({})


@pytest.mark.parametrize(
    "error",
    [
        TaamctlError("what", "how"),
        BadRows("what", "how", [3, 1]),
        Unclear("what", "how", ["--header yes"], "one"),
    ],
)
def test_an_error_goes_to_another_process_as_it_is(error: TaamctlError) -> None:
    made = pickle.loads(pickle.dumps(error))
    assert type(made) is type(error)
    assert (str(made), made.args, vars(made)) == (str(error), error.args, vars(error))
