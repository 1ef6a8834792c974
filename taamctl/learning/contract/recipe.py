"""What a stream of tasks is learned by: a method with its parameters, a seed and a device.

Small, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from taamctl.core.types import Array, StreamInfo, TaskData
from taamctl.learning.contract import device as devices
from taamctl.learning.contract.method import Method
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params.train_params import TrainParams


class Features(Protocol):
    """The cached features of a data set."""

    info: StreamInfo

    def task(self, k: int, needs: Sequence[str]) -> TaskData:
        """Return the training part of a task."""

    def class_sizes(self) -> Array:
        """Return [C] training nodes per class."""

    def require(self, needs: Sequence[str]) -> None:
        """Refuse features that lack what a method needs."""


@dataclass(frozen=True)
class Recipe:
    """All that decides a training run beside the features.

    Attributes:
        method: the method's name.
        params: its section of the parameters; None for a method without.
        device: `cpu` or `cuda`, with `auto` already resolved.
    """

    method: str
    params: object
    train: TrainParams
    seed: int
    device: str

    def begin(
        self, features: Features
    ) -> tuple[Callable[[], Method], Callable[[int], TaskData], Array]:
        """Pin device and threads; return what makes a new method, what loads a task, and [C]
        training nodes per class.

        Raises:
            TaamctlError: the device is not there, or the features lack what the method needs.
        """
        device = devices.resolve(self.device)
        devices.pin(device, self.train.threads)
        cls = method_class(self.method)
        features.require((*cls.facts.needs, *cls.facts.query_needs))

        def make() -> Method:
            return cls(self.params, features.info, self.train, self.seed, device)

        return make, lambda k: features.task(k, cls.facts.needs), features.class_sizes()


def declared(method: Method, class_sizes: Array) -> dict[str, object]:
    """Return what a method says about itself, for tables and later stages; JSON.

    Args:
        class_sizes: [C] training nodes per class.
    """
    return {
        **asdict(method.facts),
        "scope": method.scope,
        "variant": method.variant,
        "stored": asdict(method.stored(class_sizes)),
    }
