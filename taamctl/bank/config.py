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
from taamctl.params import binding
from taamctl.params.bank_params import BankParams
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.params.train_params import InferParams, TrainParams

if TYPE_CHECKING:
    import torch

METHODS = "taamctl.methods"
P = TypeVar("P")


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

    def plain(self) -> dict[str, Plain]:
        """Return it JSON-ready."""
        made: dict[str, Plain] = canonical(self)
        return made

    def make(
        self, num_features: int, bounds: tuple[tuple[int, int], ...], device: torch.device
    ) -> Method:
        """Return a new object of the method."""
        made: Method = registry.load(METHODS, self.method).Method(
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
    own = checked.plugin("methods", method, registry.load(METHODS, method).Params)
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
    if made.split.val <= 0:
        raise TaamctlError(
            "split.val is 0, but a bank learns on validation nodes when to say unknown",
            "set split.val to 0.2",
        )
    return made


def from_plain(values: Mapping[str, Plain], source: str) -> Config:
    """Return the configuration that a manifest holds; every fault is named."""
    faults: list[str] = []
    cls = registry.load(METHODS, values["method"]).Params
    own = None if cls is None else binding.bind(cls, values["own"], "own", faults)

    def section(name: str, kind: type[P]) -> P:
        made = binding.bind(kind, values.get(name), name, faults)
        return cast(P, made)  # None where there are faults, which are raised below

    split = section("split", SplitParams)
    precompute = section("precompute", PrecomputeParams)
    train = section("train", TrainParams)
    infer = section("infer", InferParams)
    bank = section("bank", BankParams)
    binding.raise_faults(source, faults)
    method = str(values["method"])
    return Config(method, own, int(values["seed"]), split, precompute, train, infer, bank)


def unfit(config: Config) -> str:
    """Return why a bank cannot keep a method; empty where it can: its tasks must be independent,
    and H all that it needs.
    """
    import torch

    facts = registry.load(METHODS, config.method).Method.facts
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
        own = checked.plugin("methods", name, registry.load(METHODS, name).Params)
    except TaamctlError:
        return False
    return not unfit(replace(like, method=name, own=own))
