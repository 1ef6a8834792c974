"""Counts that must hold to 4 digits for all eight data sets of the literature: pure arithmetic, no data needed."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from taamctl.core import registry
from taamctl.core.types import StreamInfo
from taamctl.evaluation import cost
from taamctl.learning.params import TrainParams

# F, tasks, classes in the stream (two classes per task, a trailing single class dropped)
SIZES = {"corafull": (8710, 35, 70), "arxiv": (128, 20, 40), "reddit": (602, 20, 40), "products": (100, 23, 46), "photo": (745, 4, 8),
         "wikics": (300, 5, 10), "computer": (767, 5, 10), "citeseer": (3703, 3, 6)}
MILLIONS = {"corafull": (3.0861, 9.1812), "arxiv": (0.0374, 0.0875), "reddit": (0.1332, 0.3728), "products": (0.0365, 0.0812),
            "photo": (0.0336, 0.0930), "wikics": (0.0185, 0.0482), "computer": (0.0428, 0.1192), "citeseer": (0.1202, 0.3422)}
CLASS_SIZES = {"citeseer": [264, 590, 668, 701, 596, 508], "photo": [369, 1686, 703, 915, 882, 823, 1941, 331],
               "computer": [436, 2142, 1414, 542, 5158, 308, 487, 818, 2156, 291],
               "wikics": [295, 667, 2153, 1933, 2679, 780, 413, 865, 492, 1424]}
TRAIN = TrainParams(epochs=1, lr=0.005, weight_decay=0.0, balance=True, node_batch=0, device="cpu", threads=1)
OWN = {"taam": {"profile": "release", "d_task": 6, "heads": 2, "rank": 4}, "taam_l": {"profile": "release", "d_task": 6, "heads": 2}}


@pytest.mark.parametrize("dataset", sorted(SIZES))
@pytest.mark.parametrize("method", ["taam", "taam_l"])
def test_the_method_object_holds_what_the_paper_counts(dataset: str, method: str) -> None:
    f, t, c = SIZES[dataset]
    module = registry.load("taamctl.methods", method)
    info = StreamInfo(f, tuple((2 * k, 2 * k + 2) for k in range(t)))
    made = module.Method(module.Params(**OWN[method]), info, TRAIN, 1, torch.device("cpu"))
    counted = made.stored(np.ones(c, np.int64)).parameters
    assert round(counted / 1e6, 4) == MILLIONS[dataset][method == "taam_l"]
    closed = cost.taam_parameters if method == "taam" else cost.taam_l_parameters
    assert counted == closed(f, t, c)


def test_closed_forms_per_task() -> None:
    assert cost.taam_parameters(745, 1, 2) - cost.taam_parameters(745, 0, 2) == 10 * 745 + 64
    assert cost.taam_l_parameters(745, 1, 2) - cost.taam_l_parameters(745, 0, 2) == 30 * 745 + 8


@pytest.mark.parametrize(("dataset", "millions"), [("corafull", 1.7949), ("wikics", 0.0098)])
def test_tpp(dataset: str, millions: float) -> None:
    f, t, _ = SIZES[dataset]
    assert round(cost.tpp_parameters(f, t) / 1e6, 4) == millions


def train_sizes(dataset: str) -> np.ndarray:
    return np.array([max(1, int(n * (1 - 0.4))) for n in CLASS_SIZES[dataset]])


@pytest.mark.parametrize(("dataset", "kept"), [("photo", (480, 800, 2819, 4411)), ("computer", (600, 1000, 3236, 5574)),
                                               ("citeseer", (360, 600, 1973, 1993)), ("wikics", (600, 1000, 3519, 5960))])
def test_rows_of_replay_methods(dataset: str, kept: tuple[int, ...]) -> None:
    assert tuple(cost.rows_kept(train_sizes(dataset), b) for b in (60, 100, 400, 1000)) == kept


@pytest.mark.parametrize(("rows", "f", "millions"), [(5960, 300, 1.7999), (1000, 300, 0.3020), (3519, 300, 1.0627), (600, 300, 0.1812),
                                                     (7017, 300, 2.1191), (136695, 602, 82.5638), (11849, 8710, 103.2285),
                                                     (5924, 8710, 51.6099), (11511, 8710, 100.2838), (3949, 8710, 34.4037)])
def test_cost_of_stored_rows(rows: int, f: int, millions: float) -> None:
    assert round(cost.paper(0, rows, f) / 1e6, 4) == millions


def test_joint_and_oracle_store_every_training_row() -> None:
    sizes = train_sizes("wikics")
    info = StreamInfo(300, tuple((2 * k, 2 * k + 2) for k in range(5)))
    for name in ("joint", "oracle"):
        module = registry.load("taamctl.methods", name)
        made = module.Method(module.Params(stages="last"), info, TRAIN, 1, torch.device("cpu"))
        assert round(cost.paper(0, made.stored(sizes).rows, 300) / 1e6, 4) == 2.1191
