"""How a method's task IDs are told apart, as far as a plan has to know."""

from __future__ import annotations

from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.learning.contract.method import Facts
from taamctl.learning.routing.linear_routing import RouterSettings
from taamctl.learning.routing.routing_choice import NEEDS, Asked, unsure_stages
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.train_params import InferParams, LensParams
from taamctl.planning.costs import Counts
from taamctl.planning.drawn_stream import CELLS
from taamctl.planning.routing_rehearsal import RoutingRehearsal
from taamctl.runtime import stage_jobs
from taamctl.runtime.execute import is_current
from taamctl.runtime.job import Context
from taamctl.store.feature_store import FeatureStore

MOST = 4 * CELLS  # values of validation nodes that are looked at for a plan


def of_method(
    context: Context, facts: Facts, counts: Counts, dataset: str | None
) -> RoutingRehearsal:
    """Return how the task IDs of a method are to be rehearsed.

    `infer.router: auto` looks at regressions at the stages where prototypes are not sure. Which
    these are is seen where features are there; else all are priced at which there is a choice.

    Args:
        dataset: whose features may be there; None for a graph in numbers.
    """
    infer, lens = context.params.section(InferParams), context.params.section(LensParams)
    made = context.params.section(PrecomputeParams)
    linear = RouterSettings(lens.router, lens.temperature)
    asked = Asked(infer, facts.routing, linear, made, facts.task_id == "inferred")
    stages = None
    if dataset is not None and asked.inferred and infer.router == "auto":
        stages = _seen(context, asked, counts, dataset)
    stored = {"x": made.store_x, "edges": made.store_edges}
    halves = all(stored[need] for need in NEEDS)
    return RoutingRehearsal(counts, made.hops, asked, stages, halves)


def _seen(context: Context, asked: Asked, counts: Counts, dataset: str) -> list[int] | None:
    """Return the stages at which regressions are looked at; None where features are not there, or
    are too many to look at for a plan.
    """
    if counts.val * counts.features * counts.filled > MOST:
        return None
    job = stage_jobs.precompute(context, data_set(dataset))
    try:
        if not all(path.is_file() for path, _ in job.inputs) or not is_current(context, job):
            return None
        made_by = context.layout.command("precompute", dataset)
        with FeatureStore(job.outputs[0], made_by) as features:
            return unsure_stages(features, asked)
    except (TaamctlError, OSError):
        return None
