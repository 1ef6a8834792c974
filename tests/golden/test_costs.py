"""Counts that must hold to 4 digits for all eight data sets of the literature: pure arithmetic,
no data needed.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from taamctl.core import registry
from taamctl.core.types import CSR, NodeGraph, StreamInfo, TaskData
from taamctl.evaluation import cost
from taamctl.graph import canonical
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import TrainParams
from taamctl.report import published
from taamctl.stream.task_split import Facts, make_split

# F, tasks, classes in the stream (two classes per task, a trailing single class dropped)
SIZES = {
    "corafull": (8710, 35, 70),
    "arxiv": (128, 20, 40),
    "reddit": (602, 20, 40),
    "products": (100, 23, 46),
    "photo": (745, 4, 8),
    "wikics": (300, 5, 10),
    "computer": (767, 5, 10),
    "citeseer": (3703, 3, 6),
}
MILLIONS = {
    "corafull": (3.0861, 9.1812),
    "arxiv": (0.0374, 0.0875),
    "reddit": (0.1332, 0.3728),
    "products": (0.0365, 0.0812),
    "photo": (0.0336, 0.0930),
    "wikics": (0.0185, 0.0482),
    "computer": (0.0428, 0.1192),
    "citeseer": (0.1202, 0.3422),
}
CLASS_SIZES = {
    "citeseer": [264, 590, 668, 701, 596, 508],
    "photo": [369, 1686, 703, 915, 882, 823, 1941, 331],
    "computer": [436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291],
    "wikics": [295, 667, 2153, 1933, 2679, 780, 413, 865, 492, 1424],
}
TRAIN = TrainParams(
    epochs=1, lr=0.005, weight_decay=0.0, balance=True, node_batch=0, device="cpu", threads=1
)


def make(method: str, features: int, tasks: int, **changes: Any) -> Any:
    """Return a method object with the packaged parameters on a stream of two classes per task."""
    module = registry.load("taamctl.methods", method)
    faults: list[str] = []
    own = bind(module.Params, {**read(PACKAGED)["methods"][method], **changes}, method, faults)
    assert not faults
    return module.Method(
        own,
        StreamInfo(features, tuple((2 * k, 2 * k + 2) for k in range(tasks))),
        TRAIN,
        1,
        torch.device("cpu"),
    )


def taam_words(f: int, t: int, c: int) -> int:
    """TAAM's total for D_task 6, 2 heads, rank 4: T (10F + 64), the classifier with bias, and
    the LayerNorm's 2F.
    """
    return t * (10 * f + 64) + 257 * c + 2 * f


def taam_l_words(f: int, t: int, c: int) -> int:
    """The same without the factorisation."""
    return t * (30 * f + 8) + 257 * c + 2 * f


def rows_kept(class_sizes: np.ndarray, budget: int) -> int:
    """The sum of min(budget, N_c)."""
    return int(np.minimum(class_sizes, budget).sum())


@pytest.mark.parametrize("dataset", sorted(SIZES))
@pytest.mark.parametrize("method", ["taam", "taam_l"])
def test_the_method_object_holds_what_the_paper_counts(dataset: str, method: str) -> None:
    f, t, c = SIZES[dataset]
    counted = make(method, f, t).stored(np.ones(c, np.int64)).parameters
    assert round(counted / 1e6, 4) == MILLIONS[dataset][method == "taam_l"]
    assert counted == (taam_words if method == "taam" else taam_l_words)(f, t, c)


@pytest.mark.parametrize(("dataset", "millions"), [("corafull", 1.7949), ("wikics", 0.0098)])
def test_tpp(dataset: str, millions: float) -> None:
    f, t, c = SIZES[dataset]
    counted = make("tpp", f, t).stored(np.ones(c, np.int64)).parameters
    assert counted == (t - 1) * (2 * 3 * f + 3) + t * (256 * 2 + 2)
    assert round(counted / 1e6, 4) == millions


def test_one_modulator_is_counted_once_and_none_not_at_all() -> None:
    assert (
        make("taam_one_nsm", 745, 4).stored(np.ones(8, np.int64)).parameters
        == 10 * 745 + 64 + 257 * 8 + 2 * 745
    )
    assert make("taam_no_nsm", 745, 4).stored(np.ones(8, np.int64)).parameters == 257 * 8
    assert make("taam_own_heads", 745, 4).stored(np.ones(8, np.int64)).parameters == taam_words(
        745, 4, 8
    )


def train_sizes(dataset: str) -> np.ndarray:
    return np.array([max(1, int(n * (1 - 0.4))) for n in CLASS_SIZES[dataset]])


@pytest.mark.parametrize(
    ("dataset", "kept"),
    [
        ("photo", (480, 800, 2819, 4411)),
        ("computer", (600, 1000, 3236, 5574)),
        ("citeseer", (360, 600, 1973, 1993)),
        ("wikics", (600, 1000, 3519, 5960)),
    ],
)
def test_rows_of_replay_methods(dataset: str, kept: tuple[int, ...]) -> None:
    sizes = train_sizes(dataset)
    assert tuple(rows_kept(sizes, b) for b in (60, 100, 400, 1000)) == kept
    f, t, _ = SIZES[dataset]
    for method, budget, rows in zip(
        ("delome", "ssm", "pdgnns", "ergnn"), (60, 100, 400, 1000), kept, strict=True
    ):
        assert make(method, f, t).params.budget == budget, (
            "the packaged budget is the one that the cost table implies"
        )
        assert make(method, f, t).stored(sizes).rows == rows
    assert (
        make("cat", f, t).stored(sizes).rows == make("puma", f, t).stored(sizes).rows <= 60 * 2 * t
    )
    assert make("gem", f, t).stored(sizes).rows == 100 * t


@pytest.mark.parametrize(
    ("rows", "f", "millions"),
    [
        (5960, 300, 1.7999),
        (1000, 300, 0.3020),
        (3519, 300, 1.0627),
        (600, 300, 0.1812),
        (7017, 300, 2.1191),
        (136695, 602, 82.5638),
        (11849, 8710, 103.2285),
        (11511, 8710, 100.2838),
        (3949, 8710, 34.4037),
    ],
)
def test_cost_of_stored_rows(rows: int, f: int, millions: float) -> None:
    assert round(cost.paper(0, rows, f) / 1e6, 4) == millions


@pytest.fixture(scope="module")
def corafull_tasks(shared_data: Path) -> list[TaskData]:
    """CoraFull's training parts: its structure is at hand, its features are not, and what SSM draws
    does not depend on them.
    """
    with np.load(shared_data / "corafull_structure.npz", allow_pickle=False) as raw:
        labels = raw["labels"].astype(np.int64)
        shape = (len(labels), len(labels))
        stored = CSR(raw["adj_indptr"].astype(np.int64), raw["adj_indices"], None, shape)
    graph = NodeGraph(
        name="corafull",
        adjacency=canonical.symmetrise(stored),
        features=np.zeros((len(labels), 1), np.float32),
        labels=labels,
        class_names=tuple(map(str, range(70))),
    )
    drawn: SplitParams = bind(SplitParams, read(PACKAGED)["split"], "split", [])
    split = make_split(graph, Facts(False, None), drawn)
    edges = canonical.to_scipy(split.edges)
    found = []
    for task in split.stream.tasks:
        low, high = split.offset[3 * task.index : 3 * task.index + 2]
        n = high - low
        looped = (edges[low:high, low:high] + sp.identity(n)).tocsr()
        extras = {
            "indptr": looped.indptr,
            "indices": looped.indices,
            "x_indptr": np.zeros(n + 1, np.int64),
            "x_indices": np.zeros(0, np.int32),
            "x_data": np.zeros(0, np.float32),
        }
        zeros = torch.zeros(n, 1)
        y = torch.from_numpy(split.y[low:high])
        found.append(TaskData(task, zeros, y, zeros[:, 0], extras))
    return found


def rows_by_the_sampler(tasks: list[TaskData], seed: int, **changes: Any) -> int:
    """Return the rows that SSM keeps of all tasks."""
    method = make("ssm", 1, len(tasks), **changes)
    method.seed = seed
    return sum(len(method.select(data)["y"]) for data in tasks)


def test_ssm_keeps_the_printed_rows_of_corafull_where_context_is_drawn_per_task(
    corafull_tasks: list[TaskData],
) -> None:
    (row,) = (r for r in published.rows("params") if r.row == "SSM")
    words = row.cells["corafull", "cost"].value * 1e6
    rows = round(words / (8710 + 2))
    assert rows_by_the_sampler(corafull_tasks, 1) == 5910
    drawn = [
        rows_by_the_sampler(corafull_tasks, seed, neighbours=[1, 1], drawn_per="task")
        for seed in range(1, 6)
    ]
    assert min(drawn) <= rows <= max(drawn), drawn
    assert max(drawn) - min(drawn) <= 15
    per_class = rows_by_the_sampler(corafull_tasks, 1, neighbours=[1, 1], drawn_per="class")
    assert per_class > max(drawn), "per class, more context is kept than is printed"


def test_upper_references_store_every_training_row() -> None:
    sizes = train_sizes("wikics")
    for name in ("joint", "oracle", "joint_sign", "joint_sage"):
        assert round(cost.paper(0, make(name, 300, 5).stored(sizes).rows, 300) / 1e6, 4) == 2.1191


@pytest.mark.parametrize("method", ["lwf", "mas", "ewc", "twp"])
def test_what_regularisation_keeps_is_left_out_by_papers_and_counted_in_full(method: str) -> None:
    made = make(method, 745, 4).stored(np.ones(8, np.int64))
    net = 256 * 745 + 8 * 256
    assert (made.parameters, made.rows, made.net) == (0, 0, net)
    assert (
        made.uncounted == {"lwf": net, "mas": 2 * net + 2, "ewc": 2 * net, "twp": 2 * net}[method]
    )
    assert cost.paper(made.parameters, made.rows, 745) == 0
    assert cost.full(made.parameters, made.rows, 745, made.uncounted, 0) == made.uncounted
