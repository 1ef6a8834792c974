"""Options of how a bank answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli.shared_options import MaxMemory
from taamctl.cli.unknown_rate import unknown_rate
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.bank.config import Config
    from taamctl.bank.predict_options import PredictOptions


@dataclass(frozen=True)
class Answering:
    """How a bank answers; what is not given is as the bank was made."""

    decide: Annotated[
        str | None,
        Option("--decide", help="router, expert or soft. Default: as the bank was made."),
    ] = None
    router: Annotated[
        str,
        Option(
            "--router",
            help="What chooses a task: ridge, prototype, or auto: what validation is most sure of.",
        ),
    ] = "auto"
    unit: Annotated[
        str, Option("--unit", help="What one choice is made for: node, component or graph.")
    ] = "node"
    unknown: Annotated[
        str | None,
        Option(
            "--unknown",
            metavar="off|RATE",
            help="Share of nodes of known classes that may be called "
            "unknown. Default: as the bank was made.",
        ),
    ] = None
    sets: Annotated[
        float,
        Option(
            "--sets",
            help="Add sets of classes that hold the right one with this share, such as 0.9.",
        ),
    ] = 0.0
    explain: Annotated[
        str | None,
        Option("--explain", help="Print why this node is answered as it is, instead of all."),
    ] = None
    max_memory: MaxMemory = None
    scratch: Annotated[
        Path | None,
        Option("--scratch", help="Folder for that. Default: the system's for temporary files."),
    ] = None

    def options(self, fixed: Config, limit: int | None, scored: bool) -> PredictOptions:
        """Return the same for a bank that was made with `fixed`; all probabilities to score."""
        from taamctl.bank.predict_options import PredictOptions

        rate = fixed.bank.unknown
        if self.unknown is not None:
            rate = unknown_rate(self.unknown)
        decide = self.decide or fixed.bank.decide
        plain = scored and decide == "router" and self.unit == "node"
        return PredictOptions(
            *(decide, self.router, self.unit, rate, limit, self.scratch),
            *(self.sets, plain, self.explain),
        )

    def told(self) -> list[tuple[str, str]]:
        """Return the options that decide an answer and are not as they are where none is given."""
        plain = Answering()
        names = ("decide", "router", "unit", "unknown")
        given = ((name, getattr(self, name)) for name in names)
        return [(f"--{name}", str(v)) for name, v in given if v != getattr(plain, name)]

    def require_one(self, scored: bool) -> None:
        """Refuse two things to print."""
        if scored and self.explain is not None:
            raise TaamctlError(
                "--score and --explain both say what to print",
                "ask twice: once with --score, once with --explain",
            )
