"""What a bank is made with, written once into its manifest: every later command reads it from
there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, TypeVar, cast

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain, canonical
from taamctl.core.types import StreamInfo
from taamctl.learning.contract.method import Method
from taamctl.learning.contract.method_plugin import method_class
from taamctl.params import recorded_params
from taamctl.params.bank_params import BankParams
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams, TrainParams

if TYPE_CHECKING:
    import torch

METHODS = "taamctl.methods"
NOT_KEPT = ("gaussian", "class")  # routers that would need other sums than a bank keeps
ALONE = "analytic"  # as a bank's method: the regression over all classes, and no model per task
P = TypeVar("P")
Recorded = Mapping[str, Plain]  # the parameters that a manifest holds, by section


@dataclass(frozen=True)
class Config:
    """A bank's parameters.

    Attributes:
        method: the method's name. own: its section. seed: the base seed of all draws.
        split, precompute, train, infer, bank: sections of params.yaml as they were when the bank
            was made.
    """

    method: str
    own: object
    seed: int
    split: SplitParams
    precompute: PrecomputeParams
    train: TrainParams
    infer: InferParams
    bank: BankParams

    @property
    def has_experts(self) -> bool:
        """Tell whether every task has a model of its own."""
        return self.method != ALONE

    def require_experts(self, decide: str) -> None:
        """Refuse a decision that a bank without models of tasks cannot make."""
        if decide != "router" and not self.has_experts:
            raise TaamctlError(
                f"a bank of {self.method} has no models of tasks that could decide ({decide})",
                "let the regression decide: --decide router; in a new bank bank.decide=router",
            )

    def plain(self) -> dict[str, Plain]:
        """Return it JSON-ready."""
        made: dict[str, Plain] = canonical(self)
        return made

    def make(
        self, num_features: int, bounds: tuple[tuple[int, int], ...], device: torch.device
    ) -> Method:
        """Return a new object of the method."""
        made = method_class(self.method)(
            self.own,
            StreamInfo(num_features, bounds, self.precompute.hops),
            self.train,
            self.seed,
            device,
        )
        return made


def from_params(checked: Params, method: str, seed: int) -> Config:
    """Return the configuration of a new bank from a checked parameter file.

    Raises:
        TaamctlError: no such method, or one that a bank cannot keep.
    """
    own = checked.plugin("methods", method, registry.method_params(method))
    made = Config(
        method,
        own,
        seed,
        checked.section(SplitParams),
        checked.section(PrecomputeParams),
        checked.section(TrainParams),
        checked.section(InferParams),
        checked.section(BankParams),
    )
    reason = unfit(made)
    if reason:
        usable = [name for name in registry.builtin(METHODS) if _fits(checked, made, name)]
        raise TaamctlError(
            f"a bank cannot keep {method}: {reason}", f"choose one of {', '.join(usable)}"
        )
    made.require_experts(made.bank.decide)
    if made.infer.router in NOT_KEPT:
        raise TaamctlError(
            f"infer.router: a bank cannot route by {made.infer.router}: it keeps what a regression "
            "and prototypes need",
            "add --set infer.router=auto; taamctl predict --router auto, ridge or prototype "
            "chooses later",
        )
    if made.split.val <= 0:
        raise TaamctlError(
            "split.val is 0, but a bank learns on validation nodes when to say unknown",
            "set split.val to 0.2",
        )
    if made.bank.sums == "class" and made.split.parts == "time":
        raise TaamctlError(
            "bank.sums is class and split.parts is time: which nodes are the newest would change "
            "with every update",
            "add --set split.parts=as_given or drawn",
        )
    return made


def from_plain(values: Recorded, source: str) -> Config:
    """Return the configuration that a manifest holds.

    A parameter that it lacks means what it meant when the bank was made; one too many is told and
    left aside.

    Args:
        source: the manifest, for messages.

    Raises:
        TaamctlError: a parameter is missing of which it is not known what it meant, or has an
            impossible value; every fault is named.
    """
    faults: list[str] = []

    def section(name: str, kind: type[P]) -> P:
        made = recorded_params.bind(kind, values.get(name), name, source, faults)
        return cast(P, made)  # None where there are faults, which are raised below

    own = recorded_params.bind(_own_params(values), values.get("own"), "own", source, faults)
    split = section("split", SplitParams)
    precompute = section("precompute", PrecomputeParams)
    train = section("train", TrainParams)
    infer = section("infer", InferParams)
    bank = section("bank", BankParams)
    seed = values.get("seed")
    if type(seed) is not int:
        faults.append(f"seed: {str(seed)[:60]} is no whole number")
    if faults:
        raise TaamctlError(
            "\n  ".join([f"{source} records parameters that cannot be read:", *faults]),
            "use the taamctl that made the bank, or teach a new one: taamctl bank create",
        )
    method = str(values["method"])
    return Config(method, own, int(str(seed)), split, precompute, train, infer, bank)


def completed(values: Recorded) -> dict[str, Plain]:
    """Return what a manifest holds with the parameters that it lacks; none is taken away."""
    classes = {
        "split": SplitParams,
        "precompute": PrecomputeParams,
        "train": TrainParams,
        "infer": InferParams,
        "bank": BankParams,
        "own": _own_params(values),
    }
    filled = {
        name: recorded_params.completed(cls, values.get(name) or {})
        for name, cls in classes.items()
        if cls is not None
    }
    return {**values, **filled}


def _own_params(values: Recorded) -> type[object] | None:
    """Return the class of the method's own parameters; None where it has none."""
    name = values.get("method")
    if not isinstance(name, str):
        raise TaamctlError(
            f"a bank's parameters name the method {name!r}, which is no name",
            "restore the bank from a copy",
        )
    cls = registry.method_params(name)
    return cls


def unfit(config: Config) -> str:
    """Return why a bank cannot keep a method; empty where it can: its tasks must be independent,
    and H all that it needs.
    """
    import torch

    if not config.has_experts:
        return ""
    facts = method_class(config.method).facts
    if facts.sees != "current":
        return "it is trained on the data of all tasks"
    if facts.task_id == "given":
        return "it has to be told the task"
    if facts.needs or facts.query_needs:
        return (
            "it needs more than propagated features: "
            f"{', '.join(dict.fromkeys((*facts.needs, *facts.query_needs)))}"
        )
    if not config.make(1, ((0, 1),), torch.device("cpu")).independent:
        return "what it learns of a task depends on earlier tasks"
    return ""


def _fits(checked: Params, like: Config, name: str) -> bool:
    try:
        own = checked.plugin("methods", name, registry.method_params(name))
    except TaamctlError:
        return False
    return not unfit(replace(like, method=name, own=own))
