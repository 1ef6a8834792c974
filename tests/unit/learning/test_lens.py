"""Query units and routers: laws, and scikit-learn as an independent reference."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
import torch
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis

from taamctl.learning.kernels import ridge
from taamctl.learning.routing import query_units, routers, task_id
from taamctl.params.train_params import InferParams, RidgeParams

PARAMS = RidgeParams(hops={0: 1.0}, width=1, widest=4096, views=False, exponent=0.0, ridge=1e-6)
EDGES = sp.csr_matrix(
    np.array([[1, 1, 0, 0, 0], [0, 1, 0, 0, 0], [0, 0, 1, 1, 0], [0, 0, 1, 1, 0], [0, 0, 0, 0, 1]])
)


@pytest.mark.parametrize(
    ("unit", "sizes"),
    [
        (query_units.Unit("graph"), [5]),
        (query_units.Unit("component"), [1, 2, 2]),
        (query_units.Unit("node"), [1] * 5),
        (query_units.Unit("batch", 2), [1, 2, 2]),
        (query_units.Unit("batch", 9), [5]),
    ],
)
def test_units_partition_the_nodes(unit: query_units.Unit, sizes: list[int]) -> None:
    of_node = query_units.assign(unit, EDGES, seed=3)
    assert sorted(np.bincount(of_node).tolist()) == sizes
    assert (of_node == query_units.assign(unit, EDGES, seed=3)).all()


def test_components_follow_edges_of_either_direction() -> None:
    of_node = query_units.assign(query_units.Unit("component"), EDGES, 0)
    assert of_node[0] == of_node[1] != of_node[2] == of_node[3] != of_node[4]


def test_batches_are_drawn_from_all_over_a_graph() -> None:
    """A graph's own order sorts nodes by task; the order of arrival does not."""
    of_node = query_units.assign(query_units.Unit("batch", 10), sp.identity(100, format="csr"), 0)
    assert len(set(of_node[:10])) > 3
    assert (
        of_node
        != query_units.assign(query_units.Unit("batch", 10), sp.identity(100, format="csr"), 1)
    ).any()


def test_unit_means_are_means() -> None:
    values, unit = np.arange(12.0).reshape(6, 2), np.array([1, 0, 1, 2, 0, 1])
    assert np.allclose(
        query_units.means(values, unit), [values[unit == u].mean(0) for u in range(3)]
    )


def test_the_mean_of_node_profiles_is_the_graph_profile() -> None:
    infer = InferParams(
        profile="amp",
        hops={0: 1.0, 2: 0.5},
        alpha=0.1,
        metric="cosine",
        ls_trailing_norm=True,
        router="prototype",
    )
    hops = {j: torch.randn(7, 4, generator=torch.Generator().manual_seed(j)) for j in range(3)}
    whole = task_id.profile(
        np.stack([hops[j].numpy().mean(0) for j in range(3)]), np.zeros((2, 4)), infer
    )
    assert np.abs(routers.amp_profiles(hops, infer).mean(0) - whole).max() < 1e-6


def test_the_gaussian_router_is_linear_discriminant_analysis_with_equal_priors() -> None:
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(4), [40, 25, 60, 30])
    x = torch.from_numpy(
        (
            2 * np.eye(4, 6)[y] + rng.standard_normal((len(y), 6)) @ rng.standard_normal((6, 6)) / 2
        ).astype(np.float32)
    )
    lift = ridge.Lift.draw(6, PARAMS, 0)
    sums = ridge.collect({0: x}, torch.from_numpy(y), 4, lift, PARAMS)
    weight, bias = routers.linear_scores(sums, PARAMS, 1.0)["gaussian"]
    phi = lift.profile({0: x}, PARAMS.hops)
    # scikit-learn pools the classes by their priors: equal ones here, as every class weighs the
    # same
    reference = LinearDiscriminantAnalysis(solver="lsqr", priors=[0.25] * 4).fit(
        phi.double().numpy(), y
    )
    ours = torch.log_softmax(phi @ weight + bias, 1).numpy()
    assert np.abs(ours - reference.predict_log_proba(phi.double().numpy())).max() < 0.02


def test_a_task_gets_the_probability_of_its_classes() -> None:
    scores = torch.log(torch.tensor([[0.1, 0.2, 0.4, 0.3]]))
    assert routers.task_log_posterior(scores, [(0, 1), (1, 4)]).exp().numpy() == pytest.approx(
        np.array([[0.1, 0.9]])
    )


def test_nearest_prototype_is_by_angle_and_skips_what_is_not_there() -> None:
    prototypes = np.array([[1.0, 0.0], [np.nan, np.nan], [0.0, 3.0]])
    assert routers.nearest_prototype(
        np.array([[5.0, 1.0], [0.1, 0.2], [0.0, 0.0]]), prototypes
    ).tolist() == [0, 2, 0]


def test_soft_choice_takes_the_best_product_of_the_tasks_that_were_asked() -> None:
    posterior = np.log(np.array([[0.5, 0.4, 0.1], [0.1, 0.2, 0.7]]))
    asked = routers.top_tasks(posterior, 2)
    assert {k: v.tolist() for k, v in asked.items()} == {0: [0], 1: [0, 1], 2: [1]}
    experts = {
        0: (asked[0], np.log([[0.5, 0.5]])),
        1: (asked[1], np.log([[0.9, 0.1], [0.9, 0.1]])),
        2: (asked[2], np.log([[0.6, 0.4]])),
    }
    # node 0: 0.25 by task 0, 0.36 by task 1's first class; node 1: 0.18 by task 1, 0.42 by task 2's
    # first class
    assert routers.soft_choice(posterior, experts, [(0, 2), (2, 4), (4, 6)]).tolist() == [2, 4]


def test_smoothing_averages_with_what_a_node_receives() -> None:
    posterior = np.log(np.array([[0.9, 0.1], [0.1, 0.9], [0.5, 0.5], [0.5, 0.5], [0.2, 0.8]]))
    made = np.exp(routers.smoothed(posterior, EDGES))
    assert made[0] == pytest.approx([(0.9 + (0.9 + 0.1) / 2) / 2, (0.1 + (0.1 + 0.9) / 2) / 2])
    assert made[4] == pytest.approx([0.2, 0.8])
