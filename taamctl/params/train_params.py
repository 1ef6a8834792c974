"""The `train`, `infer` and `lens` sections."""

from __future__ import annotations

from dataclasses import dataclass, replace

from taamctl.core.errors import TaamctlError
from taamctl.core.routings import LINEAR
from taamctl.core.spec import param


@dataclass(frozen=True)
class TrainParams:
    """What all methods share in training."""

    epochs: int = param("passes over a task's training nodes", ge=1)
    lr: float = param("Adam's learning rate", gt=0, le=1e6)
    weight_decay: float = param("L2 inside Adam", ge=0, le=1e6)
    balance: bool = param("weight the loss by 1 / class size")
    node_batch: int = param("training nodes per step; 0 = all at once", ge=0)
    device: str = param(
        "auto (a CUDA device where there is one), cpu or cuda", choices=("auto", "cpu", "cuda")
    )
    threads: int = param(
        "CPU threads; pinned, because a matrix product's last bits depend on them", ge=1, le=1024
    )


@dataclass(frozen=True)
class InferParams:
    """Task-ID inference."""

    profile: str = param(
        "amp: multi-hop profile; ls: Laplacian smoothing; mean: mean of the raw features; "
        "as_published: what the method was published with",
        choices=("as_published", "amp", "ls", "mean"),
    )
    hops: dict[int, float] = param(
        "AMP: hop -> weight of its block; the order is without meaning", ge=None
    )
    alpha: float = param("AMP: share of the raw features in every step", ge=0, le=1)
    metric: str = param(
        "cosine; euclid; centred: cosine after the mean of the prototypes is taken off; or "
        "as_published",
        choices=("as_published", "cosine", "euclid", "centred"),
    )
    ls_trailing_norm: bool = param("LS: keep its trailing D^-1/2")
    router: str = param(
        "prototype: the nearest, by profile and metric; gaussian, ridge, class: from sums over "
        "training nodes, as lens.router has them; auto: what validation is most sure of",
        choices=("prototype", "auto", *LINEAR),
    )

    def __post_init__(self) -> None:
        if not self.hops or min(self.hops) < 0:
            raise TaamctlError(
                f"hops {self.hops} must name at least one hop >= 0, such as {{0: 1, 2: 1}}",
                "write hop: weight, such as {0: 1, 2: 1}",
            )
        if any(w <= 0 for w in self.hops.values()):
            raise TaamctlError(
                f"hops {self.hops}: weights must be positive",
                "write hop: weight, such as {0: 1, 2: 1}",
            )

    def routed(self, routing: tuple[str, str]) -> InferParams:
        """Return these parameters with `as_published` resolved to a method's own profile and
        metric.
        """
        profile, metric = routing
        if self.profile != "as_published":
            profile = self.profile
        if self.metric != "as_published":
            metric = self.metric
        return replace(self, profile=profile, metric=metric)


@dataclass(frozen=True)
class RidgeParams:
    """Node profiles and their regression."""

    hops: dict[int, float] = param(
        "hop -> its weight in a node's profile, each hop's features scaled to length 1 first",
        ge=None,
    )
    width: int = param(
        "width of a profile: where F is smaller, random ReLU features of the profile fill it up",
        ge=1,
    )
    widest: int = param(
        "where F is larger than this, profiles are projected to this width at random", ge=1
    )
    views: bool = param("learn a node from every hop alone too")
    exponent: float = param(
        "penalise a feature by its mean square to this power; 0 = all alike", ge=0, le=1
    )
    ridge: float | None = param(
        "strength of the penalty, relative to the mean square of the features; null = by "
        "generalised cross-validation, from the sums alone",
        gt=0,
    )

    def __post_init__(self) -> None:
        if not self.hops or min(self.hops) < 0 or any(w <= 0 for w in self.hops.values()):
            raise TaamctlError(
                f"hops {self.hops} must name at least one hop >= 0 with a positive weight, such as "
                "{0: 1, 2: 1}",
                "write hop: weight, such as {0: 1, 2: 1}",
            )

    def profile_width(self, num_features: int) -> int:
        """Return P, the width of a profile of F features."""
        return min(max(num_features, self.width), max(self.widest, self.width))


@dataclass(frozen=True)
class LensParams:
    """What `taamctl eval --lens` looks at; it changes no other result."""

    batches: tuple[int, ...] = param("batch sizes B: one task-ID decision for every B nodes", ge=2)
    batch_seed: int = param(
        "seed of the order that nodes arrive in, before they are cut into batches", ge=0
    )
    temperature: float = param(
        "by which a regression's outputs are multiplied before they become a posterior", gt=0
    )
    top: int = param("tasks that soft routing asks", ge=1)
    router: RidgeParams = param(
        "node profiles of the class, Gaussian and ridge routers; as for methods.analytic"
    )

    def __post_init__(self) -> None:
        if list(self.batches) != sorted(set(self.batches)):
            raise TaamctlError(
                f"batches {list(self.batches)} must increase", "sort them, each once"
            )
