"""The numbers that papers print, the entries that account for differences, and the verdict on a
cell.
"""

from __future__ import annotations

import math
import re
import tomllib
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from taamctl.core.errors import TaamctlError

TARGETS = ("main", "ablation", "params", "taskid", "sweeps")
HERE = Path(__file__).parent
TOLERANCE = 2.0  # points of accuracy that count as the same
WIDEST = 5.0  # and however large the deviations are, no more than these
CELL = re.compile(r"(?P<value>[\d.]+)(±(?P<std>[\d.]+))?(/(?P<af>[\d.]+))?")


@dataclass(frozen=True)
class Printed:
    """One printed number: accuracy or AF in per cent, or a cost in millions; with its deviation
    and its decimals.
    """

    value: float
    std: float = 0.0
    decimals: int = 1


@dataclass(frozen=True)
class PublishedRow:
    """One row of a printed table, and which run of ours stands for it.

    Attributes:
        table, row: where it is printed; rows of ours without printed numbers have no cells.
        method, sets: our method and the parameters that differ from the parameter file.
        cells: (data set, metric) -> the printed number; metrics are `aa`, `af`, `cost`, `id`.
        explain: metric or `metric.dataset` -> number of an entry of the register.
    """

    table: str
    row: str
    method: str
    sets: tuple[str, ...] = ()
    cells: dict[tuple[str, str], Printed] = field(default_factory=dict)
    explain: dict[str, int] = field(default_factory=dict)

    def explanation(self, dataset: str, metric: str) -> int | None:
        """Return the register's number for a cell, the more specific one first."""
        return self.explain.get(f"{metric}.{dataset}", self.explain.get(metric))


@cache
def _published() -> dict[str, Any]:
    return tomllib.loads((HERE / "published.toml").read_text(encoding="utf-8"))


@cache
def register() -> dict[int, str]:
    """Return the register of discrepancies, number -> sentence."""
    entries = tomllib.loads((HERE / "discrepancies.toml").read_text(encoding="utf-8"))["entries"]
    return {int(number): str(text) for number, text in entries.items()}


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


def rows(target: str) -> list[PublishedRow]:
    """Return the rows of a table.

    Raises:
        TaamctlError: there is no such table.
    """
    if target not in TARGETS:
        raise TaamctlError(f"no table {target!r} to reproduce", f"there are: {', '.join(TARGETS)}")
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
            )
        )
    return out


def _parse(text: str) -> tuple[Printed | None, Printed | None]:
    found = CELL.fullmatch(text)
    if found is None:
        raise TaamctlError(f"published.toml: {text!r} is no cell", "write AA±std/AF, or one number")
    decimals = len(found["value"].partition(".")[2])
    first = Printed(float(found["value"]), float(found["std"] or 0), decimals)
    return first, None if found["af"] is None else Printed(float(found["af"]))


def verdict(
    printed: Printed | None, ours: float | None, std: float, metric: str, entry: int | None
) -> str:
    """Return `reproduced`, `explained`, `not reproduced`, `not printed` or `not defined`.

    An accuracy is reproduced within two points, or within two deviations of both sides together,
    five points at most; a cost where it rounds to the printed digits. What differs is explained
    only where an entry of the register accounts for it.

    Args:
        ours, std: in the unit of the printed number.
    """
    if ours is None or math.isnan(ours):
        return "not defined"
    if printed is None:
        return "not printed"
    slack = (
        0.51 * 10**-printed.decimals
        if metric == "cost"
        else min(max(TOLERANCE, 2 * math.hypot(printed.std, std)), WIDEST)
    )
    if abs(ours - printed.value) <= slack + 1e-9:
        return "reproduced"
    return "explained" if entry is not None else "not reproduced"
