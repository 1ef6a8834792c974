"""How a graph is to be answered."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.params.bank_params import DECISIONS, ROUTERS, UNITS


@dataclass(frozen=True)
class PredictOptions:
    """How a graph is to be answered.

    Attributes:
        decide, router, unit: see `Bank.predict`. unknown: rate of false alarms; 0: never say
            unknown.
        limit: bytes that the process may use; None: no limit. scratch: where temporary files go
            then.
        sets: share of the sets of classes that are to hold the right one; 0: no sets.
        probabilities: return those of all classes too. explain: name of a node whose answer is
            wanted with its reasons.
    """

    decide: str
    router: str = "auto"
    unit: str = "node"
    unknown: float = 0.0
    limit: int | None = None
    scratch: Path | None = None
    sets: float = 0.0
    probabilities: bool = False
    explain: str | None = None

    def __post_init__(self) -> None:
        for what, value, choices in (
            ("decide", self.decide, DECISIONS),
            ("router", self.router, ROUTERS),
            ("unit", self.unit, UNITS),
        ):
            if value not in choices:
                raise TaamctlError(
                    f"--{what} {value}: not one of {', '.join(choices)}",
                    f"choose one of {', '.join(choices)}",
                )
        if self.router == "prototype" and self.decide == "router":
            raise TaamctlError(
                "prototypes choose a task, not a class",
                "use --decide expert or soft with --router prototype",
            )
        if not 0 <= self.unknown < 1:
            raise TaamctlError(
                f"--unknown {self.unknown}: a rate lies between 0 and 1",
                "0.05 calls about 5 % of the known nodes unknown",
            )
        if not 0 <= self.sets < 1:
            raise TaamctlError(
                f"--sets {self.sets}: a share lies between 0 and 1",
                "--sets 0.9 makes sets that hold the right class 9 times in 10",
            )
        if self.sets and (self.decide != "router" or self.unit != "node"):
            raise TaamctlError(
                "sets (--sets) come from the regression's answer for every node",
                "use --decide router and --unit node with --sets",
            )
