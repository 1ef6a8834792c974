"""How a method follows a stream, by what it declares of itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import pairwise

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.types import StreamInfo
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.learning.contract.method_plugin import PACKAGE, method_class
from taamctl.params.train_params import RidgeParams, TrainParams
from taamctl.prequential.arrivals import Arrivals
from taamctl.prequential.by_experts import ByExperts
from taamctl.prequential.by_one_net import ByOneNet
from taamctl.prequential.by_sums import BySums
from taamctl.prequential.follower import Follower
from taamctl.prequential.stream_options import StreamOptions


@dataclass(frozen=True)
class Recipe:
    """All that decides a method in a replay beside the graph.

    Attributes:
        method: its name. params: its section, or None.
        router, temperature: of the regression that chooses a task, where the method needs one.
        hop: k of H = S^k X. retrain: whether models of tasks are learned again.
        now: whether the rows in sums are exchanged when edges come.
        device: `cpu` or `cuda`.
    """

    method: str
    params: object
    train: TrainParams
    router: RidgeParams
    temperature: float
    hop: int
    retrain: bool
    now: bool
    seed: int
    device: str


@dataclass(frozen=True)
class _Stream:
    """A recipe with the sizes of a stream."""

    recipe: Recipe
    arrivals: Arrivals
    num_features: int

    def maker(self, bounds: list[tuple[int, int]]) -> Callable[[], Method]:
        """Return what makes a new method of a stream whose stages have these classes."""
        recipe = self.recipe
        cls = method_class(recipe.method)
        info = StreamInfo(self.num_features, tuple(bounds), recipe.hop)
        device = devices.resolve(recipe.device)
        return lambda: cls(recipe.params, info, recipe.train, recipe.seed, device)

    def sums(self) -> Follower:
        """Return a closed form: of exact sums, whatever its `rank` keeps elsewhere."""
        recipe = self.recipe
        assert isinstance(recipe.params, RidgeParams)
        return BySums(recipe.params, self.num_features, recipe.seed, now=recipe.now)

    def experts(self) -> Follower:
        """Return models of tasks behind a router."""
        recipe = self.recipe
        tasks = self.arrivals.tasks().values()
        make = self.maker([(task.low, task.high) for task in tasks])
        router = BySums(recipe.router, self.num_features, recipe.seed, now=recipe.now)
        return ByExperts(make, router, recipe.temperature, recipe.hop, retrain=recipe.retrain)

    def one_net(self) -> Follower:
        """Return a net over all classes."""
        seen = [self.arrivals.seen(t) for t in range(-1, self.arrivals.count)]
        bounds = list(pairwise(seen))
        return ByOneNet(self.maker(bounds), self.recipe.hop)


# By the family that a method declares.
WAYS: Mapping[str, Callable[[_Stream], Follower]] = {
    "closed form": _Stream.sums,
    "probe": _Stream.experts,
    "modulation": _Stream.experts,
    "upper reference": _Stream.one_net,
    "lower reference": _Stream.one_net,
}


def can_follow(method: str) -> bool:
    """Tell whether a method can follow a stream: not one that is given task IDs."""
    facts = method_class(method).facts
    return facts.family in WAYS and facts.task_id != "given"


def has_experts(method: str) -> bool:
    """Tell whether a method has a model per task."""
    return WAYS.get(method_class(method).facts.family) is _Stream.experts


def has_sums(method: str) -> bool:
    """Tell whether a method decides by sums, alone or before the models of tasks."""
    way = WAYS.get(method_class(method).facts.family)
    return way in (_Stream.sums, _Stream.experts)


def learns_again(method: str, options: StreamOptions) -> bool:
    """Tell whether a method learns from nodes again that it was shown before."""
    if options.old_rows == "now" and has_sums(method):
        return True
    if options.experts == "retrain" and has_experts(method):
        return True
    return method_class(method).facts.sees == "all"


def require(method: str) -> None:
    """Refuse a method that cannot follow a stream.

    Raises:
        TaamctlError: it says which can.
    """
    if not can_follow(method):
        known = [name for name in registry.builtin(PACKAGE) if can_follow(name)]
        raise TaamctlError(
            f"{method} does not say how it learns nodes of classes that it knows already",
            f"a replay has: {', '.join(known)}",
        )


def follower(recipe: Recipe, arrivals: Arrivals, num_features: int) -> Follower:
    """Return a method that has learned nothing yet, on its device with its threads.

    Raises:
        TaamctlError: it cannot follow a stream.
    """
    require(recipe.method)
    devices.pin(devices.resolve(recipe.device), recipe.train.threads)
    family = method_class(recipe.method).facts.family
    return WAYS[family](_Stream(recipe, arrivals, num_features))
