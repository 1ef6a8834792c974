"""The baselines against independent references: plain autograd, explicit sums, closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from torch.nn import functional

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT
from taamctl.core.types import QueryGraph, StreamInfo, Task, TaskData
from taamctl.learning.contract import replay_buffer
from taamctl.learning.families import penalty
from taamctl.learning.families.penalty import Accumulator
from taamctl.learning.kernels import condense, grace
from taamctl.learning.kernels.loop import ALL
from taamctl.models.backbones import FrozenBackbone
from taamctl.models.net_input import NetInput
from taamctl.params.binding import bind
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.train_params import TrainParams
from taamctl.propagation import group_graph

F, N = 12, 30
INFO = StreamInfo(F, ((0, 2), (2, 4), (4, 6)))
TRAIN = TrainParams(
    epochs=3, lr=0.01, weight_decay=0.0, balance=True, node_batch=0, device="cpu", threads=1
)


def task(k: int = 0, n: int = N, seed: int = 0, loners: int = 3) -> TaskData:
    """Return a task on a random symmetric graph with self-loops; the last `loners` nodes have no
    other edge.
    """
    rng = np.random.default_rng(seed + 100 * k)
    a = sp.random(n, n, 0.15, random_state=rng, data_rvs=np.ones).tolil()
    a[n - loners :], a[:, n - loners :] = 0, 0
    a = sp.csr_matrix((a + a.T) > 0).astype(float).tolil()
    a.setdiag(1)
    a = a.tocsr()
    a.sort_indices()
    x = sp.csr_matrix((rng.random((n, F)) < 0.4) * rng.random((n, F)), dtype=np.float32)
    h = group_graph.propagate_rows(a, torch.from_numpy(x.toarray()), 2)
    y = torch.from_numpy(rng.integers(2 * k, 2 * k + 2, n))
    y[:2] = torch.tensor([2 * k, 2 * k + 1])
    extras = {
        "x_indptr": x.indptr.astype(np.int64),
        "x_indices": x.indices.astype(np.int32),
        "x_data": x.data,
        "indptr": a.indptr.astype(np.int64),
        "indices": a.indices.astype(np.int32),
    }
    return TaskData(
        Task(k, 2 * k, 2 * k + 2),
        h,
        y,
        torch.from_numpy(np.asarray(a.sum(1)).ravel().astype(np.float32)),
        extras,
    )


def dense_x(data: TaskData) -> torch.Tensor:
    return group_graph.raw_rows(data.extras, torch.arange(len(data.y)), F)


def make(name: str, train: TrainParams = TRAIN, **changes: Any) -> Any:
    module = registry.load("taamctl.methods", name)
    faults: list[str] = []
    own = bind(module.Params, {**read(PACKAGED)["methods"][name], **changes}, name, faults)
    assert not faults
    return module.Method(own, INFO, train, 1, torch.device("cpu"))


# Replay: what is kept, and how it weighs


def test_ergnn_replay_weighs_less_the_larger_the_buffer() -> None:
    data = [task(0), task(1, n=10)]
    for budget in (2, 5, 1000):
        method = make("ergnn", budget=budget, sampler="random")
        for k in range(2):
            method.seen = data[k].task.high
            method.begin(data[k])
        objective, _ = method.objective(data[1])
        x, y = method.replayed()
        new, old = (
            method.cross_entropy(data[1].h, data[1].y)(ALL),
            method.cross_entropy(x, y)(ALL),
        )
        weight = len(data[1].y) / (len(data[1].y) + len(y))  # N / (N + |B|), of the replayed part
        assert torch.allclose(objective(ALL), (1 - weight) * new + weight * old)
    assert weight == 10 / (10 + 40)


@pytest.mark.parametrize(("beta", "of_new"), [("swapped", 10 / 18), ("none", 1.0)])
def test_ergnn_other_weights(beta: str, of_new: float) -> None:
    data, method = [task(0), task(1, n=10)], make("ergnn", budget=2, sampler="random", beta=beta)
    for k in range(2):
        method.seen = data[k].task.high
        method.begin(data[k])
    new = method.cross_entropy(data[1].h, data[1].y)(ALL)
    old = method.cross_entropy(*method.replayed())(ALL)
    of_old = 1.0 if beta == "none" else 1 - of_new
    assert torch.allclose(method.objective(data[1])[0](ALL), of_new * new + of_old * old)


def test_ergnn_isolated_rows_are_raw_features_and_views_differ() -> None:
    data = task()
    views = {
        v: make("ergnn", budget=1000, view=v).select(data)["x"]
        for v in ("isolated", "induced", "cached_h")
    }
    rows = torch.cat([torch.nonzero(data.y == c).flatten() for c in (0, 1)])
    assert torch.equal(views["isolated"], dense_x(data)[rows])
    assert torch.equal(views["cached_h"], data.h[rows])
    assert torch.allclose(views["induced"], data.h[rows], atol=1e-6), (
        "all nodes are kept, so all edges are"
    )
    few = make("ergnn", budget=3, view="induced").select(data)["x"]
    assert few.shape == (6, F)


def test_ssm_with_all_nodes_stored_holds_h() -> None:
    data = task()
    kept = make("ssm", budget=1000).select(data)
    assert torch.allclose(kept["x"], data.h, atol=1e-6)
    assert torch.equal(kept["y"], data.y)
    assert kept["centre"].all()


def test_ssm_context_is_stored_but_not_trained_on() -> None:
    data = task(n=60)
    for sampler in ("uniform", "degree"):
        kept = make("ssm", budget=3, neighbours=[4, 2], sampler=sampler).select(data)
        assert int(kept["centre"].sum()) == 6
        assert 6 < len(kept["y"]) <= 6 + 2 * 6
    method = make("ssm", budget=3, neighbours=[4, 2])
    for k, d in enumerate((data, task(1))):
        method.seen = 2 * k + 2
        method.begin(d)
    _, rows = method.objective(task(1))
    assert rows == N + 6


def test_ssm_without_self_loops_zeroes_isolated_nodes() -> None:
    data = task(loners=N)
    assert not make("ssm", budget=5, self_loops=False).select(data)["x"].any()
    assert make("ssm", budget=5).select(data)["x"].any()


def test_ssm_accumulates_only_when_told() -> None:
    data = [task(0), task(1)]

    def losses(accumulate: bool) -> list[float]:
        method = make("ssm", budget=5, accumulate=accumulate)
        for k in range(2):
            method.seen = data[k].task.high
            method.begin(data[k])
        objective, _ = method.objective(data[1])
        return [float(objective(ALL).detach()) for _ in range(3)]

    once, growing = losses(False), losses(True)
    assert once[0] == once[1] == once[2]
    assert growing[0] == pytest.approx(once[0])
    assert len(set(growing)) == 3


def test_pdgnns_with_every_row_kept_replays_all_of_h() -> None:
    data = [task(0), task(1)]
    method = make("pdgnns", budget=10_000, include_current=False)
    for k in range(2):
        method.seen = data[k].task.high
        method.begin(data[k])
    everything = method.cross_entropy(
        torch.cat([d.h for d in data]), torch.cat([d.y for d in data])
    )(ALL)
    assert torch.allclose(method.objective(data[1])[0](ALL), everything, rtol=1e-5)


def test_pdgnns_coverage_counts_nodes_within_two_hops() -> None:
    data = task()
    reach = (np.linalg.matrix_power(group_graph.adjacency(data.extras).toarray(), 2) > 0).sum(1)
    assert make("pdgnns", sampler="coverage")._coverage(data).tolist() == reach.tolist()


def test_weighted_picks_follow_their_weights() -> None:
    generator, rows = torch.Generator().manual_seed(0), torch.arange(4)
    weights = torch.tensor([1.0, 1.0, 1.0, 7.0])
    first = [int(replay_buffer.pick_random(rows, 1, generator, weights)) for _ in range(2000)]
    assert np.mean(np.array(first) == 3) == pytest.approx(0.7, abs=0.05)
    assert replay_buffer.pick_random(rows, 4, generator, weights).tolist() == [0, 1, 2, 3]


def test_coverage_maximisation_prefers_nodes_far_from_other_classes() -> None:
    x = torch.tensor([[0.0], [1.0], [5.0], [0.1], [0.2]])
    generator = torch.Generator().manual_seed(0)
    rows, others = torch.tensor([0, 1, 2]), torch.tensor([3, 4])
    assert replay_buffer.pick_by_coverage(x, rows, others, 1, 1.5, generator).tolist() == [2]
    assert replay_buffer.pick_by_coverage(x, rows, others, 2, 0.01, generator).tolist() == [0, 1], (
        "no distance is that small: the first rows"
    )
    assert replay_buffer.pick_by_mean(torch.tensor([[0.0], [1.0], [5.0]]), rows, 1).tolist() == [1]


@pytest.mark.parametrize(
    ("sizes", "budget", "even", "proportional"),
    [
        ([10, 10], 6, [3, 3], [3, 3]),
        ([2, 10], 8, [2, 6], [2, 6]),
        ([5], 9, [5], [5]),
        ([1, 1, 9], 5, [1, 1, 3], [1, 1, 3]),
        ([3, 3], 100, [3, 3], [3, 3]),
    ],
)
def test_budgets_are_shared_and_spent(
    sizes: list[int], budget: int, even: list[int], proportional: list[int]
) -> None:
    assert replay_buffer.evenly(sizes, budget) == even
    assert replay_buffer.proportionally(sizes, budget) == proportional


# DeLoMe, CaT


@pytest.mark.parametrize("kind", ["ce", "raw_nll"])
def test_condensing_gradients_equal_autograd(kind: str) -> None:
    g = torch.Generator().manual_seed(0)
    w1, w2 = (
        torch.randn((7, F), generator=g).requires_grad_(),
        torch.randn((5, 7), generator=g).requires_grad_(),
    )
    x = torch.randn((9, F), generator=g)
    logits = functional.relu(x @ w1.T) @ w2.T
    target = torch.full((9,), 3)
    value = (
        functional.cross_entropy(logits, target)
        if kind == "ce"
        else functional.nll_loss(logits, target)
    )
    wanted = torch.autograd.grad(value, [w1, w2])
    for given in (x, NetInput.of(x)):
        made = condense.net_gradients((w1.detach(), w2.detach()), given, 3, kind)
        assert torch.allclose(made.left.T @ x, wanted[0], atol=1e-6)
        assert torch.allclose(made.second, wanted[1], atol=1e-6)


@pytest.mark.parametrize("kind", ["ce", "raw_nll"])
@pytest.mark.parametrize("zeros", [0.0, 0.9])
def test_a_distance_moves_rows_as_the_difference_of_the_gradients_does(
    kind: str, zeros: float
) -> None:
    g = torch.Generator().manual_seed(0)
    net = torch.randn((7, F), generator=g), torch.randn((5, 7), generator=g)
    real = torch.randn((30, F), generator=g) * (torch.rand((30, F), generator=g) >= zeros)
    inputs = NetInput.of(real)
    assert (inputs.entries is not None) == (zeros > 0.5)
    made = torch.randn((6, F), generator=g).requires_grad_()
    wanted = condense.net_gradients(net, real, 3, kind)
    moved = []
    for plain in (True, False):
        found = condense.net_gradients(net, made, 3, kind)
        if plain:
            first = found.left.T @ made - wanted.left.T @ real
            value = (first**2).sum() + ((found.second - wanted.second) ** 2).sum()
        else:
            value = condense.gradient_distance(made, found, inputs, wanted)
        moved.append(torch.autograd.grad(value, made)[0])
    assert torch.allclose(*moved, rtol=1e-4, atol=1e-5 * float(moved[0].abs().max()))


def test_matching_brings_gradients_and_means_closer() -> None:
    g = torch.Generator().manual_seed(1)
    real = [torch.rand((40, F), generator=g) + c for c in range(2)]
    for match in ("gradients", "means"):
        made = [torch.rand((4, F), generator=torch.Generator().manual_seed(2)) for _ in range(2)]
        before = sum(float((m.mean(0) - r.mean(0)).norm()) for m, r in zip(made, real, strict=True))
        if match == "gradients":
            condense.match_gradients(
                real,
                made,
                [0, 1],
                num_classes=2,
                hidden=16,
                kind="ce",
                iterations=200,
                lr=0.02,
                generator=g,
                progress=SILENT,
            )
        else:
            condense.match_means(
                real,
                made,
                width=32,
                encoders=200,
                updates=1,
                lr=0.02,
                fresh_adam=False,
                generator=np.random.default_rng(1),
                progress=SILENT,
            )
        after = sum(float((m.mean(0) - r.mean(0)).norm()) for m, r in zip(made, real, strict=True))
        assert after < before, match


def test_class_means_of_normalised_codes() -> None:
    g = torch.Generator().manual_seed(0)
    w, h = torch.randn((16, F), generator=g), torch.rand((10, F), generator=g)
    wanted = functional.normalize(functional.relu(h @ w.T), dim=1)
    fused = condense._class_means(w, h, [4, 6])
    assert torch.allclose(fused[0], wanted[:4].mean(0), atol=1e-6)
    assert torch.allclose(fused[1], wanted[4:].mean(0), atol=1e-6)


def test_delome_rows_carry_the_class_they_stand_for() -> None:
    data = task()
    y = data.y.clone()
    y[0], y[1] = 1, 0  # the first node is of the second class
    data = TaskData(data.task, data.h, y, data.deg, data.extras)
    raw = {tuple(row.tolist()): int(c) for row, c in zip(dense_x(data), y, strict=True)}
    right = make("delome", iterations=1, condense_lr=1e-9, budget=3).select(data)
    assert all(
        raw[tuple(np.round(row.tolist(), 6))] == int(c)
        if tuple(np.round(row.tolist(), 6)) in raw
        else True
        for row, c in zip(right["x"], right["y"], strict=True)
    )
    nearest = [int(y[(dense_x(data) - row).norm(dim=1).argmin()]) for row in right["x"]]
    assert nearest == right["y"].tolist()
    mixed = make(
        "delome", iterations=1, condense_lr=1e-9, budget=3, labels="first_appearance"
    ).select(data)
    assert [1 - c for c in mixed["y"].tolist()] == nearest


def test_delome_adjusts_logits_by_the_shares_of_the_classes() -> None:
    data = [task(0), task(1)]
    method = make("delome", iterations=1, budget=4, tau=1.0)
    for k in range(2):
        method.seen = data[k].task.high
        method.begin(data[k])
    counts = torch.tensor([4.0, 4.0, float((data[1].y == 2).sum()), float((data[1].y == 3).sum())])
    shift = (counts / counts.sum()).log()
    old = method.memory[0]
    wanted = sum(
        functional.cross_entropy(method.net.logits(x, 4) + shift, y)
        for x, y in ((data[1].h, data[1].y), (old["x"], old["y"]))
    )
    assert torch.allclose(method.objective(data[1])[0](ALL), wanted)


def test_cat_trains_on_the_memory_only() -> None:
    data, method = task(), make("cat", encoders=2, width=8, epochs=2)
    method.seen = 2
    method.begin(data)
    changed = TaskData(data.task, data.h + 100, data.y, data.deg, data.extras)
    assert torch.equal(method.objective(data)[0](ALL), method.objective(changed)[0](ALL))


# Penalties


def test_the_accumulator_equals_the_sum_over_tasks_in_gradient() -> None:
    g = torch.Generator().manual_seed(0)
    weights = [
        torch.randn((4, 3), generator=g).requires_grad_(),
        torch.randn(5, generator=g).requires_grad_(),
    ]
    pull, terms = Accumulator(weights), []
    for _ in range(3):
        importances = [torch.rand(w.shape, generator=g) for w in weights]
        anchors = [torch.randn(w.shape, generator=g) for w in weights]
        pull.add(importances, anchors)
        terms.append((importances, anchors))
    explicit = sum(
        (f * (w - a) ** 2).sum()
        for fs, anchors in terms
        for f, w, a in zip(fs, weights, anchors, strict=True)
    )
    for made, wanted in zip(
        torch.autograd.grad(pull(weights), weights),
        torch.autograd.grad(explicit, weights),
        strict=True,
    ):
        assert torch.allclose(made, wanted, atol=1e-5)


def test_per_sample_importances_equal_a_loop_over_nodes() -> None:
    data = task()
    mas, ewc = make("mas", importance="per_sample_abs"), make("ewc", fisher="sample")
    for method in (mas, ewc):
        method.seen = 2
    by_hand = [torch.zeros_like(p) for p in mas.net.parameters()]
    for h in data.h:
        value = (mas.net.logits(h[None], 2) ** 2).sum()
        by_hand = [
            b + g.abs() / N
            for b, g in zip(by_hand, torch.autograd.grad(value, mas.net.parameters()), strict=True)
        ]
    assert all(
        torch.allclose(a, b, atol=1e-6)
        for a, b in zip(mas._per_sample(data.h), by_hand, strict=True)
    )
    by_hand = [torch.zeros_like(p) for p in ewc.net.parameters()]
    for h, y in zip(data.h, data.y, strict=True):
        value = functional.cross_entropy(ewc.net.logits(h[None], 2), y[None])
        by_hand = [
            b + g**2 / N
            for b, g in zip(by_hand, torch.autograd.grad(value, ewc.net.parameters()), strict=True)
        ]
    assert all(
        torch.allclose(a, b, atol=1e-6) for a, b in zip(ewc._per_sample(data), by_hand, strict=True)
    )


def test_mas_averages_importances_by_nodes() -> None:
    method = make("mas")
    for k, n in ((0, 30), (1, 10)):
        method.seen = 2 * k + 2
        method.end(task(k, n=n))
    parts = []
    for k, n in ((0, 30), (1, 10)):
        method.seen = 2 * k + 2
        parts.append((n, method._batch(task(k, n=n).h)))
    for i, omega in enumerate(method._omega):
        assert torch.allclose(omega, sum(n * p[i] for n, p in parts) / 40)


def test_twp_attention_is_a_softmax_over_incoming_edges() -> None:
    data, method = task(), make("twp")
    method.seen = 2
    e = method.attention(data)
    receiver, sender = group_graph.in_edges(data.extras)
    z = method.net.logits(data.h, 6)
    for v in (0, 5, N - 1):
        at = np.flatnonzero(receiver == v)
        scores = torch.stack(
            [functional.leaky_relu(z[sender[i]] @ torch.tanh(z[v]), 0.2) for i in at]
        )
        assert torch.allclose(e[at], torch.softmax(scores, 0), atol=1e-6)


def test_twp_release_counts_the_cross_entropy_twice_and_text_adds_the_norm() -> None:
    data = task()
    ce = make("twp")
    ce.seen = 2
    plain = ce.cross_entropy(data.h, data.y)(ALL)
    assert torch.allclose(ce.objective(data)[0](ALL), 2 * plain)
    text = make("twp", profile="text", beta=0.5)
    text.seen = 2
    norm = sum(
        g.abs().sum()
        for g in torch.autograd.grad(text.cross_entropy(data.h, data.y)(ALL), text.net.parameters())
    )
    assert torch.allclose(text.objective(data)[0](ALL), plain + 0.5 * norm, rtol=1e-5)


def test_lwf_distils_with_a_gradient_over_the_old_range() -> None:
    data, method = task(1), make("lwf", strength=3.0, temperature=2.0)
    method.seen = 4
    objective, _ = method.objective(data)
    old = method.net.logits(data.h, 2).detach()
    with torch.no_grad():
        method.net.w2.add_(
            torch.randn(method.net.w2.shape, generator=torch.Generator().manual_seed(0))
        )
    student = method.net.logits(data.h, 2)
    distilled = -(torch.softmax(old / 2, 1) * torch.log_softmax(student / 2, 1)).sum(1).mean()
    plain = method.cross_entropy(data.h, data.y)(ALL)
    assert torch.allclose(objective(ALL), plain + 3 * distilled, rtol=1e-5)
    (with_term,) = torch.autograd.grad(objective(ALL), [method.net.w2])
    (without,) = torch.autograd.grad(method.cross_entropy(data.h, data.y)(ALL), [method.net.w2])
    assert not torch.allclose(with_term, without)


# GEM


def test_gem_projects_onto_what_opposes_no_memory() -> None:
    from taamctl.methods.gem import project

    g = torch.Generator().manual_seed(0)
    for _ in range(50):
        gradient, memories = torch.randn(20, generator=g), torch.randn((4, 20), generator=g)
        projected = project(gradient, memories, 0.0)
        assert (memories @ projected >= -0.05).all()
        if (memories @ gradient >= 0).all():
            assert torch.equal(projected, gradient)
    agreeing = torch.eye(3)
    assert torch.equal(project(torch.ones(3), agreeing, 0.5), torch.ones(3)), (
        "no violation, no change"
    )
    opposed = project(torch.tensor([-1.0, 1.0, 0.0]), agreeing[:1], 0.0)
    assert torch.allclose(opposed, torch.tensor([0.0, 1.0, 0.0]), atol=2e-3)
    assert project(torch.tensor([-1.0, 1.0, 0.0]), agreeing[:1], 3.0)[0] > 1, (
        "the margin pushes towards the memory"
    )


# Prompts and pre-training


def test_contrastive_loss_closed_form_chunks_and_definition() -> None:
    g = torch.Generator().manual_seed(0)
    assert float(
        grace.contrastive_loss(torch.randn((1, 8), generator=g), torch.randn((1, 8), generator=g))
    ) == pytest.approx(0, abs=1e-6)
    u, v = (
        torch.randn((11, 8), generator=g).requires_grad_(),
        torch.randn((11, 8), generator=g).requires_grad_(),
    )
    whole, chunked = grace.contrastive_loss(u, v), grace.contrastive_loss(u, v, chunk=4)
    assert torch.allclose(whole, chunked, atol=1e-5)
    assert all(
        torch.allclose(a, b, atol=1e-5)
        for a, b in zip(
            torch.autograd.grad(whole, [u, v]), torch.autograd.grad(chunked, [u, v]), strict=True
        )
    )
    a, b = functional.normalize(u, dim=1), functional.normalize(v, dim=1)
    total = 0.0
    for x, z in ((a, b), (b, a)):
        for i in range(11):
            down = sum(torch.exp(x[i] @ x[j] / 0.5) for j in range(11) if j != i) + sum(
                torch.exp(x[i] @ z[j] / 0.5) for j in range(11)
            )
            total += -torch.log(torch.exp(x[i] @ z[i] / 0.5) / down) / 22
    assert torch.allclose(whole, total, atol=1e-5)


def test_similarities_are_made_in_blocks_that_fit() -> None:
    for nodes in (0, 1, 2_000, 32_000, 33_600, 100_001, 1 << 30):
        rows = grace.rows_at_once(nodes)
        assert 1 <= rows <= grace.CHUNK
        assert rows == 1 or rows * 2 * nodes <= grace.HELD
    assert grace.rows_at_once(33_000) == grace.CHUNK > grace.rows_at_once(34_000)


@pytest.mark.parametrize("name", ["tpp", "gpf"])
def test_pretraining_on_too_many_nodes_is_refused_before_it_begins(name: str) -> None:
    make(name, pretrain="grace", pretrain_epochs=1, pretrain_nodes=N).learn((task(0),))
    begun = make(name, pretrain="grace", pretrain_nodes=N - 1)
    with pytest.raises(
        TaamctlError, match=rf"the {N} training nodes of the first task .* is {N - 1}$"
    ):
        begun.learn((task(0),))


def test_a_pair_stored_twice_adds_to_its_weight_and_the_stored_arrays_stay() -> None:
    extras = {"indptr": np.array([0, 3, 4]), "indices": np.array([0, 1, 0, 1], np.int32)}
    before = {k: v.copy() for k, v in extras.items()}
    assert group_graph.adjacency(extras).toarray().tolist() == [[2, 1], [0, 1]]
    assert all(np.array_equal(extras[k], before[k]) for k in extras)


def test_dropped_edges_spare_self_loops() -> None:
    edges = group_graph.adjacency(task(n=80).extras)
    kept = grace.drop_edges(edges, 0.5, torch.Generator().manual_seed(0))
    assert (kept.diagonal() == edges.diagonal()).all()
    others = edges.nnz - 80
    assert (kept.nnz - 80) / others == pytest.approx(0.5, abs=0.1)


def test_pretraining_lowers_the_contrastive_loss() -> None:
    data = task(n=40)
    start = FrozenBackbone.draw(F, 1)
    options: dict[str, Any] = {"drop_edge": 0.2, "drop_feature": 0.3, "progress": SILENT}
    made = grace.pretrain(
        start,
        data.h,
        dense_x(data),
        group_graph.adjacency(data.extras),
        2,
        epochs=30,
        generator=torch.Generator().manual_seed(0),
        **options,
    )
    again = grace.pretrain(
        start,
        data.h,
        dense_x(data),
        group_graph.adjacency(data.extras),
        2,
        epochs=30,
        generator=torch.Generator().manual_seed(0),
        **options,
    )
    assert torch.equal(made.w1, again.w1)
    assert not torch.equal(made.w1, start.w1)


@pytest.mark.parametrize("prompts", [1, 3])
@pytest.mark.parametrize("position", ["pre", "post"])
def test_a_prompt_before_propagation_equals_propagating_prompted_features(
    prompts: int, position: str
) -> None:
    data = task(1)
    method = make("gpf", prompts=prompts, position=position)
    g = torch.Generator().manual_seed(0)
    prompt = {n: torch.randn(t.shape, generator=g) for n, t in method._draw_prompt(1, g).items()}
    made = method._prompted(data.h, data.extras)(prompt)
    x = dense_x(data) if position == "pre" else data.h
    if prompts == 1:
        prompted = x + prompt["prompt/tokens"]
    else:
        prompted = (
            x
            + torch.softmax(x @ prompt["prompt/weight"].T + prompt["prompt/bias"], 1)
            @ prompt["prompt/tokens"]
        )
    if position == "pre":
        prompted = group_graph.propagate_rows(group_graph.adjacency(data.extras), prompted, 2)
    assert torch.allclose(made, prompted @ method._backbone.w1.T, atol=1e-4)


def test_propagation_is_differentiable_on_a_directed_graph() -> None:
    s = group_graph.normalised(sp.csr_matrix(np.array([[1.0, 1, 0], [0, 1, 1], [0, 0, 1]])))
    z = torch.randn((3, 2), generator=torch.Generator().manual_seed(0)).requires_grad_()
    dense = torch.from_numpy(s.toarray()).float()
    made = group_graph.Propagation(s, 2, torch.device("cpu"))(z)
    assert torch.allclose(made, dense @ dense @ z, atol=1e-6)
    (grad,) = torch.autograd.grad((made**2).sum(), [z])
    (wanted,) = torch.autograd.grad(((dense @ dense @ z) ** 2).sum(), [z])
    assert torch.allclose(grad, wanted, atol=1e-6)


def test_tpp_first_task_has_no_prompt_and_keeps_the_pretrained_backbone() -> None:
    method = make("tpp", pretrain_epochs=2)
    method.learn((task(0),))
    first = method.state()
    assert not any(n.startswith("prompt/") for n in first)
    fresh = make("tpp", pretrain_epochs=2)
    fresh.load(fresh.shared(), [first])
    assert np.array_equal(fresh._backbone.w1.numpy(), first["backbone/w1"])
    query = QueryGraph(task(0).h, task(0).deg, task(0).extras)
    assert fresh.logits(query, 0).shape == (N, 2)


def test_a_penalty_and_its_gradient_are_those_of_its_equation() -> None:
    g = torch.Generator().manual_seed(0)
    weights = [torch.randn(s, generator=g).requires_grad_() for s in ((4, 3), (2, 4))]
    tasks = [
        (
            [torch.rand(w.shape, generator=g) for w in weights],
            [torch.randn_like(w) for w in weights],
        )
        for _ in range(3)
    ]
    pull = penalty.Accumulator(weights)
    for importances, anchors in tasks:
        pull.add(importances, anchors)
    wanted = sum(
        (f * (w - a) ** 2).sum()
        for importances, anchors in tasks
        for f, w, a in zip(importances, weights, anchors, strict=True)
    )
    constant = sum(
        (f * a**2).sum() for fs, anchors in tasks for f, a in zip(fs, anchors, strict=True)
    )
    assert torch.allclose(pull(weights) + constant, wanted, rtol=1e-5)
    ours = torch.autograd.grad(3 * pull(weights), weights)
    theirs = torch.autograd.grad(3 * wanted, weights)
    (importances, anchors), *_ = tasks
    one = [(f * (w - a) ** 2).sum() for f, w, a in zip(importances, weights, anchors, strict=True)]
    assert torch.allclose(penalty.pulled(importances, weights, anchors), sum(one))
    for a, b in zip(ours, theirs, strict=True):
        assert torch.allclose(a, b, rtol=1e-4, atol=1e-5)
