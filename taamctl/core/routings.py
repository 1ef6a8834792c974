"""The ways to infer a task ID, by name: a profile and a metric, or a regression over classes."""

from __future__ import annotations

PROFILES = ("amp", "mean", "ls")
METRICS = ("euclid", "centred", "cosine")
# Nearest prototype, in the order in which ties are broken after the published one.
PROTOTYPES = tuple((profile, metric) for profile in PROFILES for metric in METRICS)
# Learned from sums over training nodes; every node gives a log posterior, a graph their mean.
LINEAR = ("gaussian", "ridge", "class")
# What validation may choose from, and what is advised: of more, some would be right by luck alone.
TRUSTED = ("amp", "gaussian", "ridge")
# Those whose share of right task IDs every `infer` artefact holds, in the stored order.
GRID = (("amp", "cosine"), ("amp", "euclid"), ("ls", "cosine"), ("ls", "euclid"))


def name(routing: tuple[str, ...]) -> str:
    """Return the name of a routing, such as `amp/cosine` or `gaussian`."""
    return "/".join(routing)


def settings(routing: str) -> tuple[str, ...]:
    """Return the parameters that choose a routing, as `section.key=value`."""
    if routing in LINEAR:
        return (f"infer.router={routing}",)
    profile, metric = routing.split("/")
    return f"infer.profile={profile}", f"infer.metric={metric}"
