"""What there is to say about a graph's edges and features, and what may help. Pure functions."""

from __future__ import annotations

from collections.abc import Iterator

from taamctl.core.types import NodeGraph
from taamctl.doctor.graph_stats import GraphFacts
from taamctl.graph import feature_sizes, telling_features
from taamctl.params.split_params import SplitParams
from taamctl.planning.finding import NOTE, WARN, Finding

LISTED_ONCE = 0.9  # share of edges without a reverse from which on a list holds each edge once
COLUMN, ROW = "precompute.feature_norm=column", "precompute.feature_norm=row"


def _edges(facts: GraphFacts, joined: bool) -> Iterator[Finding]:
    edges = facts["edges"]
    one_way = edges["one_way_share"]
    if joined and one_way > 0.01:
        # a list that holds every undirected edge once has no direction to keep
        once = one_way >= LISTED_ONCE
        yield Finding(
            NOTE,
            f"{100 * one_way:.1f} % of the edges have no reverse; all are used both ways: "
            f"{edges['stored']:,} become {edges['symmetrised']:,}",
            tries=() if once else ("split.symmetrize=never",),
        )
    if not edges["stored"]:
        what = "there is no edge: every node has its own features only"
        yield Finding(WARN, what, "check the edge list")


def _features(facts: GraphFacts, joined: bool) -> Iterator[Finding]:
    x = facts["features"]
    if x["empty_rows"]:
        yield Finding(NOTE, f"{x['empty_rows']:,} nodes have no feature other than 0")
    if x["empty_columns"]:
        what = f"{x['empty_columns']:,} of {x['count']:,} features are 0 for every node"
        yield Finding(NOTE, what, "drop them in the source")
    large = max(abs(x["low"]), abs(x["high"])) > 100
    if large and not x["outlying_columns"]:
        yield Finding(
            WARN,
            f"features run from {x['low']:.4g} to {x['high']:.4g}: training steps are made for "
            "values near 1",
            tries=_scalings(facts),
        )


def _scalings(facts: GraphFacts) -> tuple[str, ...]:
    """Return the normalisations that may help; row sums need several values of one sign."""
    x = facts["features"]
    return (COLUMN, ROW) if x["low"] >= 0 and x["count"] > 1 else (COLUMN,)


def _neighbours(facts: GraphFacts, joined: bool) -> Iterator[Finding]:
    twins = facts["features"]["duplicates_of_two_classes"]
    if twins:
        yield Finding(NOTE, f"{twins:,} nodes have the features of a node of another class")
    adjusted = facts["homophily"]["adjusted"]
    if adjusted is not None and adjusted < 0.1:
        yield Finding(
            NOTE,
            f"neighbours say little about a node's class (adjusted homophily {adjusted:.2f})",
            tries=("precompute.hops=0",),
        )


def graph_findings(facts: GraphFacts, params: SplitParams, directed: bool) -> list[Finding]:
    """Return what there is to say about edges and features.

    Args:
        directed: the edges are used as directed where `symmetrize` is `as_released`.
    """
    joined = params.symmetrize == "always" or (params.symmetrize == "as_released" and not directed)
    return [f for find in (_edges, _features, _neighbours) for f in find(facts, joined)]


def feature_findings(graph: NodeGraph, facts: GraphFacts) -> list[Finding]:
    """Return the features that tell the class, or are none, or outweigh the others."""
    names = graph.feature_names
    out = [
        Finding(
            NOTE if found.kind == "constant" else WARN,
            telling_features.sentence(found, names),
            telling_features.mend(found, names),
        )
        for found in telling_features.telling(graph)
    ]
    apart = feature_sizes.outlying(graph.features)
    if apart is not None:
        out.append(Finding(WARN, feature_sizes.sentence(apart, names), tries=_scalings(facts)))
    return out
