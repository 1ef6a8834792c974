"""The numbers that papers print, the entries that account for differences, and the verdict on a
cell.
"""

from __future__ import annotations

import math
import re
import tomllib
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from taamctl.core.errors import TaamctlError

TARGETS = ("main", "ablation", "readings", "params", "taskid", "sweeps", "tried")
PLAIN = ("theory", "datasets", "lens")  # tables without verdicts
ALL = (  # in the order in which all are made: what is asked for most comes first
    *("main", "lens", "ablation", "readings", "tried", "taskid", "params", "theory", "datasets"),
    "sweeps",
)
HERE = Path(__file__).parent
ERRORS = 3.0  # standard errors of the difference within which two means count as the same
RUNS = 5  # behind a printed mean: the paper gives no number, fewer would make the tolerance wider
CLOSE = 2.0  # points of accuracy that count as close, though no spread explains them
WIDEST = 5.0  # however large the deviations are, no more points than these count as the same
CELL = re.compile(r"(?P<value>[\d.]+)(±(?P<std>[\d.]+))?(/(?P<af>[\d.]+)(±(?P<af_std>[\d.]+))?)?")


@dataclass(frozen=True)
class Printed:
    """One printed number: accuracy or AF in per cent, or a cost in millions; with its deviation
    and its decimals.

    Attributes:
        assumed: the deviation is not on file: that of the accuracy in the same cell stands in.
    """

    value: float
    std: float = 0.0
    decimals: int = 1
    assumed: bool = False


@dataclass(frozen=True)
class PublishedRow:
    """One row of a printed table, and which run of ours stands for it.

    Attributes:
        table, row: where it is printed; rows of ours without printed numbers have no cells.
        method, sets: our method and the parameters that differ from the parameter file.
        cells: (data set, metric) -> the printed number; metrics are `aa`, `af`, `cost`, `id`.
        explain: metric or `metric.dataset` -> number of an entry of the register.
        tried: the same, for cells that nothing explains: the entry says what was tried in vain.
        only: the data sets that have this row; empty: all.
    """

    table: str
    row: str
    method: str
    sets: tuple[str, ...] = ()
    cells: dict[tuple[str, str], Printed] = field(default_factory=dict)
    explain: dict[str, int] = field(default_factory=dict)
    tried: dict[str, int] = field(default_factory=dict)
    only: tuple[str, ...] = ()

    def concerns(self, dataset: str) -> bool:
        """Tell whether a data set has this row."""
        return not self.only or dataset in self.only

    def explanation(self, dataset: str, metric: str) -> int | None:
        """Return the register's number for a cell, the more specific one first."""
        return self.explain.get(f"{metric}.{dataset}", self.explain.get(metric))

    def trials(self, dataset: str, metric: str) -> int | None:
        """Return the register's number of what was tried in vain for a cell."""
        return self.tried.get(f"{metric}.{dataset}", self.tried.get(metric))


@dataclass(frozen=True)
class LensLine:
    """One row of the lens table: which router decides for which unit."""

    row: str
    method: str
    router: str
    unit: str


@cache
def _published() -> dict[str, Any]:
    return tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))


@cache
def _discrepancies() -> dict[str, Any]:
    return tomllib.loads((HERE / "discrepancies.toml").read_text(encoding="utf-8"))


def readings(methods: Iterable[str], *, routed: bool) -> dict[int, str]:
    """Return the entries of the register that the numbers of some methods depend on.

    Args:
        methods: by name. routed: some of them infer task IDs.

    Returns:
        Number -> sentence; nothing where no method follows a paper, such as `analytic`.
    """
    of = _discrepancies()["readings"]
    methods = set(methods)
    if methods.isdisjoint(of):
        return {}
    groups = ["every", *methods, *(["routed"] if routed else [])]
    numbers = {number for group in groups for number in of.get(group, [])}
    return {number: text for number, text in register().items() if number in numbers}


@cache
def register() -> dict[int, str]:
    """Return the register of discrepancies, number -> sentence."""
    return {int(number): str(text) for number, text in _discrepancies()["entries"].items()}


def datasets() -> tuple[str, ...]:
    """Return the data sets of the printed tables, in their order."""
    return tuple(_published()["datasets"])


def title(target: str) -> str:
    """Return what a table shows."""
    return str(_published()["tables"][target])


def sizes(dataset: str) -> tuple[int, tuple[int, ...]] | None:
    """Return (F, nodes per class) of a data set whose cost is printed, or None."""
    found = _published()["sizes"].get(dataset)
    return None if found is None else (int(found["features"]), tuple(found["classes"]))


def statistics() -> dict[str, dict[str, int]]:
    """Return data set -> what is counted -> the printed count, as far as it is on file."""
    return {
        name: {what: int(count) for what, count in counts.items()}
        for name, counts in _published()["statistics"].items()
    }


def rows(target: str) -> list[PublishedRow]:
    """Return the rows of a table.

    Raises:
        TaamctlError: there is no such table.
    """
    if target not in TARGETS:
        raise TaamctlError(
            f"no table {target!r} to reproduce",
            f"there are: {', '.join([*TARGETS, *PLAIN])}, and all for all of them",
        )
    metrics = {"params": ("cost", ""), "taskid": ("id", "")}.get(target, ("aa", "af"))
    out = []
    for entry in _published()[target]:
        cells: dict[tuple[str, str], Printed] = {}
        for dataset, text in entry["cells"].items():
            for metric, printed in zip(metrics, _parse(text), strict=True):
                if printed is not None:
                    cells[dataset, metric] = printed
        out.append(
            PublishedRow(
                target,
                entry["row"],
                entry["method"],
                tuple(entry.get("set", ())),
                cells,
                {str(k): int(v) for k, v in entry.get("explain", {}).items()},
                {str(k): int(v) for k, v in entry.get("tried", {}).items()},
                tuple(entry.get("only", ())),
            )
        )
    return out


def lens_rows() -> list[LensLine]:
    """Return the rows of the lens table."""
    return [LensLine(**entry) for entry in _published()["lens"]]


def _parse(text: str) -> tuple[Printed | None, Printed | None]:
    found = CELL.fullmatch(text)
    if found is None:
        raise TaamctlError(
            f"published.toml: {text!r} is no cell", "write AA±std/AF±std, or one number"
        )
    std = float(found["std"] or 0)
    first = Printed(float(found["value"]), std, _decimals(found["value"]))
    if found["af"] is None:
        return first, None
    own = found["af_std"]
    return first, Printed(
        float(found["af"]), float(own or std), _decimals(found["af"]), own is None and std > 0
    )


def _decimals(number: str) -> int:
    return len(number.partition(".")[2])


def verdict(
    printed: Printed | None,
    ours: float | None,
    std: float,
    runs: int,
    metric: str,
    entry: int | None,
) -> str:
    """Return `reproduced`, `explained`, `close`, `not reproduced`, `not printed` or `not defined`.

    An accuracy is reproduced within three standard errors of the difference of both means, as both
    deviations and numbers of runs give it, and half a printed digit; five points at most. A cost
    is reproduced where it rounds to the printed digits. What differs is explained where an entry
    of the register accounts for it; close is what differs by two points at most without one.

    Args:
        ours, std: in the unit of the printed number; the deviation over `runs` seeds.
    """
    if ours is None or math.isnan(ours):
        return "not defined"
    if printed is None:
        return "not printed"
    gap = abs(ours - printed.value) - 1e-9
    if gap <= _slack(printed, std, runs, metric):
        return "reproduced"
    if entry is not None:
        return "explained"
    return "close" if metric != "cost" and gap <= CLOSE else "not reproduced"


def _slack(printed: Printed, std: float, runs: int, metric: str) -> float:
    """Return what a number may differ by and still be the printed one."""
    digit = 10.0**-printed.decimals
    if metric == "cost":
        return 0.51 * digit
    error = math.hypot(printed.std / math.sqrt(RUNS), std / math.sqrt(runs))
    return min(ERRORS * error + digit / 2, WIDEST)
