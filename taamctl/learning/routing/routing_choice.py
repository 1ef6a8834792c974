"""How the task of every query graph is decided: by the routing that is asked for, or by the one
that halves of the validation nodes are most sure of; and how sure that is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Protocol

import numpy as np

from taamctl.core.routings import LINEAR, PROTOTYPES, TRUSTED, name
from taamctl.core.types import PARTS, Array, QueryGraph, StreamInfo, TaskData
from taamctl.learning.routing import halves, node_profiles, task_id
from taamctl.learning.routing.halves import Shares
from taamctl.learning.routing.linear_routing import LinearRouters, RouterSettings
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.train_params import InferParams

NEEDS = ("x", "edges")
SURE = 0.99  # of every task's halves right: from here on `auto` looks at no regression
VAL = PARTS.index("val")


Load = Callable[[], node_profiles.Nodes] | None  # None for a task without validation nodes


class Features(Protocol):
    """The features of a stream, as `precompute` stores them."""

    info: StreamInfo

    def holds(self, needs: Sequence[str]) -> bool:
        """Tell whether the extra arrays are there."""

    def task(self, k: int, needs: Sequence[str] = ()) -> TaskData:
        """Return the training part of a task."""

    def query(self, k: int, part: str, needs: Sequence[str] = ()) -> QueryGraph:
        """Return a part of a task without labels."""

    def labels(self, part: str) -> list[Array]:
        """Return every task's labels in a part."""

    def means(self, part: str) -> task_id.Means:
        """Return every task's hop means and LS means in a part."""


@dataclass(frozen=True)
class Asked:
    """What a run asks for.

    Attributes:
        infer: the `infer` section. published: the method's own profile and metric.
        linear: of the routers that learn from sums.
        precompute: with which features were made.
        inferred: the method uses task IDs that are inferred; where not, nothing is looked at.
    """

    infer: InferParams
    published: tuple[str, str]
    linear: RouterSettings
    precompute: PrecomputeParams
    inferred: bool = True


@dataclass(frozen=True)
class Routing:
    """All decisions of a stream.

    Attributes:
        shares: of halves right, by every routing that was looked at, [stage, task] each.
        used: the routing of every stage.
        decisions: by part.
    """

    shares: Mapping[str, Array]
    used: tuple[str, ...]
    decisions: Mapping[str, task_id.Decisions]


def prototype_shares(
    prototypes: task_id.Means,
    nodes: Sequence[Load],
    labels: Sequence[Array],
    infer: InferParams,
    ls_hops: int,
) -> Shares:
    """Return how often halves of the validation nodes are routed right by every profile and metric.

    Stage t compares with the prototypes of tasks 0..t, so what it says is known by then.

    Args:
        prototypes: means of the training parts. labels: per task the classes of its validation
            nodes.
        nodes: per task what returns its validation nodes.
        ls_hops: smoothing steps of the LS profile.
    """
    table = {
        profile: task_id.profiles(prototypes, replace(infer, profile=profile))
        for profile in _stored_profiles(prototypes, infer)
    }
    found = Shares(len(prototypes))
    for j, load in enumerate(nodes):
        if load is None:
            continue
        graph = load()
        half = halves.drawn(labels[j], j)
        for profile, rows in table.items():
            kind = replace(infer, profile=profile)
            products = half @ node_profiles.products(graph, rows, kind, ls_hops)
            for metric in (m for p, m in PROTOTYPES if p == profile):
                for stage in range(j, len(rows)):
                    seen = slice(stage + 1)
                    scores = node_profiles.scores(products[:, seen], rows[seen], metric)
                    found.put(name((profile, metric)), stage, j, scores)
    return found


def _stored_profiles(prototypes: task_id.Means, infer: InferParams) -> list[str]:
    """Return the profiles that the stored hops allow."""
    hops = min((len(m[0]) for m in prototypes if m is not None), default=0)
    profiles = dict.fromkeys(profile for profile, _ in PROTOTYPES)
    return [p for p in profiles if p != "amp" or max(infer.hops) < hops]


def decide(features: Features, asked: Asked) -> Routing:
    """Decide the task of every query graph of `val` and `test`, and tell how sure that is.

    Where raw features or edges were not stored, nothing is known of halves, and `auto` is the
    published routing.
    """
    asked, shares = _known(features, asked)
    own = asked.infer.routed(asked.published)
    published = name((own.profile, own.metric))
    used, stages = _without_sums(shares, asked.infer, published)
    linear = _by_sums(features, asked, stages, shares)
    if asked.infer.router == "auto" and shares.by_name:
        for stage in stages:
            used[stage] = _best(shares, asked.infer, published, stage)
    decisions = {part: _joined(features, part, used, own, linear[part]) for part in ("val", "test")}
    return Routing(shares.by_name, tuple(used), decisions)


def unsure_stages(features: Features, asked: Asked) -> list[int]:
    """Return the stages at which `decide` looks at the routers that learn from sums."""
    asked, shares = _known(features, asked)
    own = asked.infer.routed(asked.published)
    return _without_sums(shares, asked.infer, name((own.profile, own.metric)))[1]


def _known(features: Features, asked: Asked) -> tuple[Asked, Shares]:
    """Return what is asked for, without a router that no method uses, and what halves say."""
    if not asked.inferred:
        asked = replace(asked, infer=replace(asked.infer, router="prototype"))
    if asked.inferred and features.holds(NEEDS):
        return asked, stored_shares(features, asked)
    return asked, Shares(features.info.num_tasks)


def _without_sums(
    shares: Shares, infer: InferParams, published: str
) -> tuple[list[str], list[int]]:
    """Return the routing of every stage as far as prototypes decide it, and the stages for which
    the routers that learn from sums are to be looked at.
    """
    stages = list(range(shares.num_tasks))
    if infer.router in LINEAR:
        return [infer.router for _ in stages], stages
    if infer.router != "auto" or not shares.by_name:
        return [published for _ in stages], []
    used = [_best(shares, infer, published, stage) for stage in stages]
    if not _is_open(LINEAR[0], infer):
        return used, []
    return used, [s for s in stages if shares.worst(used[s], s) < SURE]


def of_prototypes(shares: Shares, infer: InferParams, routing: tuple[str, str], stage: int) -> str:
    """Return the profile and metric that decide at a stage, as far as prototypes decide it.

    Args:
        routing: profile and metric of the method.
    """
    own = infer.routed(routing)
    published = name((own.profile, own.metric))
    if infer.router != "auto" or not shares.by_name:
        return published
    return _best(shares, infer, published, stage)


def _best(shares: Shares, infer: InferParams, published: str, stage: int) -> str:
    """Return what `auto` chooses at a stage of what was looked at: by halves of the tasks seen by
    then, the published one of equal ones.
    """
    names = [n for n in shares.by_name if n == published or _is_open(n, infer)]
    return shares.best(sorted(names, key=lambda n: n != published), stage)


def stored_shares(features: Features, asked: Asked) -> Shares:
    """Return `prototype_shares` of stored features."""

    def nodes(k: int) -> node_profiles.Nodes:
        extras = features.query(k, "val", NEEDS).extras
        group = k * len(PARTS) + VAL
        return node_profiles.nodes_of(extras, features.info.num_features, group, asked.precompute)

    labels = features.labels("val")
    loads = [partial(nodes, k) if len(y) else None for k, y in enumerate(labels)]
    return prototype_shares(
        features.means("train"), loads, labels, asked.infer, asked.precompute.ls_hops
    )


def _is_open(routing: str, infer: InferParams) -> bool:
    """Tell whether `auto` may choose a routing: a profile or metric that is set stays."""
    profile, _, metric = routing.partition("/")
    free = "as_published"
    if infer.profile == free and profile not in TRUSTED:
        return False
    if routing in LINEAR:
        return infer.profile == infer.metric == free
    return infer.profile in (free, profile) and infer.metric in (free, metric)


Similarities = dict[str, Array]  # router -> [stage, T, T] mean log posterior of a query graph


def _by_sums(
    features: Features, asked: Asked, stages: Sequence[int], shares: Shares
) -> dict[str, Similarities]:
    """Return part -> what the routers that learn from sums say of its query graphs at some stages,
    and put their shares of halves.
    """
    t = features.info.num_tasks
    found: dict[str, Similarities] = {
        part: {n: np.full((t, t, t), np.nan) for n in LINEAR} for part in ("val", "test")
    }
    if not stages:
        return found
    loads = [partial(features.task, k, NEEDS) for k in range(t)]
    solved = LinearRouters(loads, features.info, asked.linear, stages)
    for part, tables in found.items():
        for j, y in enumerate(features.labels(part)):
            if not len(y):
                continue
            half = halves.drawn(y, j) if part == "val" else None
            for (n, stage), values in solved.values(features.query(j, part, NEEDS)).items():
                if stage < j:
                    continue
                tables[n][stage, j, : stage + 1] = values.mean(0)
                if half is not None:
                    shares.put(n, stage, j, half @ values)
    return found


def _joined(
    features: Features,
    part: str,
    used: Sequence[str],
    infer: InferParams,
    linear: Similarities,
) -> task_id.Decisions:
    """Return the decisions of a part, every stage by its own routing.

    Args:
        infer: with profile and metric resolved.
    """
    made = task_id.Decisions.none(len(used))
    for routing in dict.fromkeys(used):
        if routing in LINEAR:
            by = task_id.from_similarity(linear[routing])
        else:
            profile, metric = routing.split("/")
            kind = replace(infer, profile=profile, metric=metric)
            queries, rows = (task_id.profiles(features.means(p), kind) for p in (part, "train"))
            by = task_id.decide(queries, rows, metric)
        for stage in (s for s, n in enumerate(used) if n == routing):
            made.choice[stage] = by.choice[stage]
            made.similarity[stage] = by.similarity[stage]
            made.margin[stage] = by.margin[stage]
    return made
