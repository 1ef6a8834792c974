"""`joint_sign` and `joint_sage` against dense products, and what they drop."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn.functional import normalize

from taamctl.core import registry
from taamctl.core.seeding import torch_generator
from taamctl.learning.families import strong_reference
from taamctl.learning.kernels import loop
from taamctl.learning.kernels.running_mean import RunningMean
from taamctl.methods import joint_sage
from taamctl.models.dropout import Dropout
from taamctl.propagation import group_graph
from taamctl.testing.edge_streams import EdgeStream, Nodes
from taamctl.testing.toy_stream import TOY_TRAIN, ToyStream

STRONG = ("joint_sign", "joint_sage")
NOTHING = {"drop_edge": 0.0, "drop_feature": 0.0, "dropout": 0.0}


def toy(name: str, **values: Any) -> ToyStream:
    return ToyStream(registry.load("taamctl.methods", name), values)


def dense(group: Any) -> tuple[torch.Tensor, torch.Tensor]:
    """Return raw features and edges with self-loops in float64."""
    x = group_graph.raw_rows(group.extras, torch.arange(len(group.h)), group.h.shape[1])
    edges = group_graph.adjacency(group.extras).toarray()
    return x.double(), torch.from_numpy(edges)


def test_sage_is_own_features_and_means_twice() -> None:
    method, _ = toy("joint_sage").loaded()
    query = toy("joint_sage").query(1)
    x, edges = dense(query)
    others = edges - torch.diag(edges.diag())
    mean = others / others.sum(1, keepdim=True).clamp(min=1)
    own1, mean1, own2, mean2 = (w.detach().double() for w in method.net.parameters())  # type: ignore[attr-defined]
    x = normalize(x, dim=1)
    z = torch.relu(x @ own1.T + mean @ x @ mean1.T)
    expected = z @ own2.T + mean @ z @ mean2.T
    assert torch.allclose(method.logits(query, 0).double(), expected, atol=1e-4)


def test_sign_is_the_net_of_joint_over_hops_side_by_side() -> None:
    method, _ = toy("joint_sign", hops=3).loaded()
    query = toy("joint_sign").query(1)
    x, edges = dense(query)
    root = edges.sum(1).rsqrt()
    s = root[:, None] * edges * root
    w1, w2 = (w.detach().double() for w in method.net.parameters())  # type: ignore[attr-defined]
    hops = [x, s @ x, s @ s @ x, s @ s @ s @ x]
    expected = torch.relu(torch.cat([normalize(h, dim=1) for h in hops], 1) @ w1.T) @ w2.T
    assert torch.allclose(method.logits(query, 0).double(), expected, atol=1e-4)


@pytest.mark.parametrize("name", STRONG)
def test_training_reads_every_task_by_itself(name: str) -> None:
    """Where nothing is dropped, a training node's logits are those of its task as a query."""
    stream = toy(name, **NOTHING)
    method, _ = stream.loaded()
    together = method.training_logits(stream.tasks())(loop.ALL)  # type: ignore[attr-defined]
    alone = torch.cat([method.logits(stream.query(k), 0) for k in range(3)])
    assert torch.allclose(together, alone, atol=1e-4)


@pytest.mark.parametrize("name", STRONG)
def test_other_edges_are_left_out_after_some_steps(name: str) -> None:
    stream = toy(name, **NOTHING | {"drop_edge": 0.5})
    method, _ = stream.loaded()
    logits_of = method.training_logits(stream.tasks())  # type: ignore[attr-defined]
    first, *same, other = [logits_of(loop.ALL) for _ in range(strong_reference.STEPS + 1)]
    assert all(torch.equal(first, found) for found in same)
    assert not torch.allclose(first, other, atol=1e-3)


@pytest.mark.parametrize("name", STRONG)
@pytest.mark.parametrize("lr", [0.001, 0.1])
def test_a_step_is_as_long_as_the_method_says(name: str, lr: float) -> None:
    """Adam's first step is lr."""
    stream = toy(name, lr=lr, weight_decay=0.0)
    made = stream.make(train=replace(TOY_TRAIN, epochs=1, lr=7.0))
    before = made.draw(2).parameters()  # type: ignore[attr-defined]
    made.learn(stream.tasks())
    after = made.net.parameters()  # type: ignore[attr-defined]
    moved = max((a - b).abs().max().item() for a, b in zip(after, before, strict=True))
    assert moved == pytest.approx(lr, rel=0.01)


def test_the_mean_over_neighbours_leaves_out_the_node_itself() -> None:
    rng = np.random.default_rng(0)
    linked = np.triu(rng.random((30, 30)) < 0.1, 1)
    linked[:, 7] = linked[7] = False
    edges = sp.csr_matrix(linked + linked.T + np.diag(1.0 + (np.arange(30) % 2)))
    mean = joint_sage.neighbour_mean(edges).toarray()
    assert not mean.diagonal().any()
    assert not mean[7].any()
    has = (linked + linked.T).any(1)
    assert np.allclose(mean.sum(1)[has], 1)
    assert ((mean > 0) == (linked + linked.T)).all()


@pytest.mark.parametrize("name", STRONG)
def test_a_node_unlike_its_neighbour_is_told_from_it(name: str) -> None:
    """Pairs of one node of either class: H is the same for both, raw features are not."""
    y = np.arange(40, dtype=np.int64) % 2
    x = np.eye(2, dtype=np.float32)[y]
    pairs = Nodes(x, y, sp.kron(sp.identity(20), np.ones((2, 2)), format="csr"))
    train = replace(TOY_TRAIN, epochs=60, lr=0.02)
    right = {}
    for method in ("joint", name):
        plain = toy(method)
        stream = EdgeStream(plain.module, plain.values, [pairs])
        made = stream.make(train=train)
        made.learn(stream.tasks())
        found = made.predict(stream.asked(0, np.arange(40)), 0).labels["all_seen"].numpy()
        right[method] = (found == y).mean()
    assert right == {"joint": 0.5, name: 1.0}


def test_dropout_keeps_the_mean_and_draws_the_same_on_any_threads() -> None:
    drawn = []
    threads = torch.get_num_threads()
    for count in (1, 2):
        torch.set_num_threads(count)
        drop = Dropout(0.25, 0.5, torch_generator(3, "dropout"))
        drawn.append((drop.hidden(torch.ones(400, 300)), drop.weight(torch.ones(3, 8, 2_000))))
    torch.set_num_threads(threads)
    (hidden, weight), again = drawn
    assert torch.equal(hidden, again[0]) and torch.equal(weight, again[1])
    assert abs(hidden.mean() - 1) < 0.01 and set(hidden.unique().tolist()) == {0, np.float32(4 / 3)}
    assert (weight == weight[0, 0]).all(), "columns of all rows and hops alike"
    assert abs(weight.mean() - 1) < 0.1


def test_the_running_mean_is_the_plain_mean_at_first_and_forgets_later() -> None:
    values = torch.randn(9, 4, generator=torch.Generator().manual_seed(1))
    weight = torch.zeros(4, requires_grad=True)
    kept = RunningMean([weight], 5)
    for value in values[:5]:
        weight.data = value.clone()
        kept.add()
    assert torch.allclose(kept.mean[0], values[:5].mean(0))
    expected = values[:5].mean(0)
    for value in values[5:]:
        weight.data = value.clone()
        kept.add()
        expected = 0.8 * expected + 0.2 * value
    kept.install()
    assert torch.allclose(weight, expected)
    assert weight.requires_grad


@pytest.mark.parametrize("name", STRONG)
def test_the_mean_is_of_the_weights_after_every_step(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Seen(RunningMean):
        """Keeps what comes in, and replaces nothing."""

        def add(self) -> None:
            seen.append([w.detach().clone() for w in self.weights])

        def install(self) -> None:
            pass

    seen: list[list[torch.Tensor]] = []
    monkeypatch.setattr(strong_reference, "RunningMean", Seen)
    stream = toy(name)
    made = stream.make(train=replace(TOY_TRAIN, epochs=3))
    drawn = made.draw(2).parameters()  # type: ignore[attr-defined]
    made.learn(stream.tasks())
    last = made.net.parameters()  # type: ignore[attr-defined]
    assert len(seen) == 3
    assert all(torch.equal(a, b) for a, b in zip(seen[-1], last, strict=True))
    assert not any(torch.equal(a, b) for a, b in zip(seen[0], drawn, strict=True))
