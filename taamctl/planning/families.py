"""Which formulas price the training and the answers of a method, by its family."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

from taamctl.learning.contract.method import Method
from taamctl.learning.families.jointly import JointParams
from taamctl.learning.kernels import squeezed
from taamctl.params.train_params import RidgeParams
from taamctl.planning import costs, ridge_costs
from taamctl.planning.costs import Cost, Counts, Rates, Workload


@dataclass(frozen=True)
class Formula:
    """How a family is priced; `own` are a method's parameters.

    Attributes:
        train: the cost of a run. answer: float operations of an answer for one row.
        rough: what the family does beside that training is not in the price.
        params: the class of parameters that the formula reads.
    """

    train: Callable[[object, Counts, Workload, Rates], Cost]
    answer: Callable[[object, Counts], float]
    rough: bool = False
    params: type = object


def _ridge(own: object, c: Counts, w: Workload, r: Rates) -> Cost:
    assert isinstance(own, RidgeParams)
    width, views = own.profile_width(c.features), 1 + len(own.hops) * own.views
    rank = squeezed.kept_rank(width, getattr(own, "rank", None), c.tasks)
    if rank is None:
        return ridge_costs.train_ridge(c, r, width, views)
    return ridge_costs.train_squeezed(c, r, width, views, rank)


def _ridge_answer(own: object, c: Counts) -> float:
    assert isinstance(own, RidgeParams)
    return 2.0 * own.profile_width(c.features) * (c.features + c.classes)


def _wide(own: object, c: Counts) -> Counts:
    """Return the counts of a graph whose rows are as wide as what the method's net reads."""
    assert isinstance(own, JointParams)
    return replace(c, features=own.net_width(c.features))


def _strong(own: object, c: Counts, w: Workload, r: Rates) -> Cost:
    """Price a strong reference: what it reads of all nodes is held, whatever a batch is."""
    assert isinstance(own, JointParams)
    cost = costs.train_net(_wide(own, c), replace(w, node_batch=0), r, own.stages)
    return replace(cost, memory=cost.memory + 4.0 * c.train * c.features)


MODULATED = Formula(
    train=lambda own, c, w, r: costs.train_modulated(c, w, r),
    answer=lambda own, c: costs.modulated_answer(c),
)
NET = Formula(
    train=lambda own, c, w, r: costs.train_net(c, w, r), answer=lambda own, c: costs.net_answer(c)
)
REFERENCE_NET = replace(
    NET, train=lambda own, c, w, r: costs.train_net(c, w, r, getattr(own, "stages", ""))
)
PROBE = Formula(
    train=lambda own, c, w, r: costs.train_probe(c, r),
    answer=lambda own, c: 2.0 * c.features * c.classes,
)
# Products over edges are not in the price.
STRONG = Formula(
    _strong, lambda own, c: costs.net_answer(_wide(own, c)), rough=True, params=JointParams
)
RIDGE = Formula(_ridge, _ridge_answer, params=RidgeParams)
FORMULAS = {
    "modulation": MODULATED,
    "ablation": replace(MODULATED, rough=True),
    "lower reference": REFERENCE_NET,
    "upper reference": REFERENCE_NET,
    "strong reference": STRONG,
    "probe": PROBE,
    "closed form": RIDGE,
}
OTHER = replace(NET, rough=True)


def formula_of(family: str, own: object) -> Formula:
    """Return a family's formula; a trainable net's where none fits the family or its parameters."""
    formula = FORMULAS.get(family, OTHER)
    return formula if isinstance(own, formula.params) else OTHER


def training(family: str, own: object, c: Counts, w: Workload, r: Rates) -> Cost:
    """Price training by the method's family and its parameters."""
    if getattr(own, "precision", "") == "bfloat16":
        r = replace(r, dense=r.dense_bf16)
    formula = formula_of(family, own)
    return replace(formula.train(own, c, w, r), rough=formula.rough)


def answering(method: Method, c: Counts, w: Workload, r: Rates) -> Cost:
    """Price `infer` by what an answer takes, and by how task IDs are inferred where they are; a
    method that propagates its queries (it needs their edges) is marked rough.
    """
    answer = formula_of(method.facts.family, method.params).answer(method.params, c)
    cost = costs.infer(c, r, answer, once=method.cumulative)
    if isinstance(method.params, RidgeParams):
        cost = ridge_costs.with_sums(cost, c, method.params)
    if method.facts.task_id == "inferred":
        cost = ridge_costs.with_routers(cost, c, w, r)
    return replace(cost, rough="edges" in method.facts.query_needs)
