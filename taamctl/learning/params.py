"""The `train` and `infer` sections."""

from __future__ import annotations

from dataclasses import dataclass, replace

from taamctl.core.errors import TaamctlError
from taamctl.core.spec import param


@dataclass(frozen=True)
class TrainParams:
    """What all methods share in training."""

    epochs: int = param("passes over a task's training nodes", ge=1)
    lr: float = param("Adam's learning rate", gt=0, le=1e6)
    weight_decay: float = param("L2 inside Adam", ge=0, le=1e6)
    balance: bool = param("weight the loss by 1 / class size")
    node_batch: int = param("training nodes per step; 0 = all at once", ge=0)
    device: str = param("auto (a CUDA device where there is one), cpu or cuda", choices=("auto", "cpu", "cuda"))
    threads: int = param("CPU threads; pinned, because a matrix product's last bits depend on them", ge=1, le=1024)


@dataclass(frozen=True)
class InferParams:
    """Task-ID inference."""

    profile: str = param("amp: multi-hop profile; ls: Laplacian smoothing; mean: mean of the raw features; "
                         "as_published: what the method was published with", choices=("as_published", "amp", "ls", "mean"))
    hops: dict[int, float] = param("AMP: hop -> weight of its block; the order is without meaning", ge=None)
    alpha: float = param("AMP: share of the raw features in every step", ge=0, le=1)
    metric: str = param("cosine, euclid, or as_published", choices=("as_published", "cosine", "euclid"))
    ls_trailing_norm: bool = param("LS: keep its trailing D^-1/2")

    def __post_init__(self) -> None:
        if not self.hops or min(self.hops) < 0:
            raise TaamctlError(f"hops {self.hops} must name at least one hop >= 0, such as {{0: 1, 2: 1}}")
        if any(w <= 0 for w in self.hops.values()):
            raise TaamctlError(f"hops {self.hops}: weights must be positive")

    def routed(self, routing: tuple[str, str]) -> InferParams:
        """Return these parameters with `as_published` resolved to a method's own profile and metric."""
        profile = routing[0] if self.profile == "as_published" else self.profile
        return replace(self, profile=profile, metric=routing[1] if self.metric == "as_published" else self.metric)
