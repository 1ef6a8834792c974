"""How well methods do where nobody tells the task: one graph that mixes all tasks' nodes, and a
decision for every node. Pure functions on the rows of the lens.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from taamctl.evaluation.record import Number
from taamctl.report import setting_names
from taamctl.report.lens_table import OWN, LensRow

UNROUTED = {"none": "no task ID", "given": "tasks given"}


@dataclass(frozen=True, kw_only=True)
class Leading:
    """A method with the routing that validation nodes are answered best by, on the test nodes.

    Attributes:
        by: how it gets task IDs, in words. low, high: 95 % interval that the nodes leave open.
        settings: digest of all parameters. sha256: of the lens files, in the order of `seeds`.
        told: the true tasks are given to it, so that it is no competitor.
        changes: how its parameters differ from the packaged ones. apart: those of them that tell it
            apart from others of its name.
    """

    dataset: str
    method: str
    title: str
    profile: str
    by: str
    aa: float
    std: Number
    low: Number
    high: Number
    seeds: list[int]
    settings: str
    told: bool
    class_recall: list[Number] = field(default_factory=list)
    confused: list[list[int]] = field(default_factory=list)
    sha256: list[str]
    changes: list[str] = field(default_factory=list)
    apart: str = ""

    @property
    def name(self) -> str:
        """The method, with its reading and the settings that tell it apart."""
        return setting_names.named(self.method, self.profile, self.apart)

    @property
    def label(self) -> str:
        """The same, as figures and papers name it."""
        return setting_names.named(self.title, self.profile, self.apart)


def of(units: Sequence[LensRow]) -> list[Leading]:
    """Return the methods of every data set, the best first; those that are told the tasks last.

    The routing is chosen on validation nodes, so that the test nodes choose nothing.
    """
    groups: dict[tuple[str, ...], list[LensRow]] = {}
    for row in units:
        if (row.protocol, row.unit) == ("mixed", "node") and row.aa is not None:
            groups.setdefault((row.dataset, row.method, row.profile, row.settings), []).append(row)
    found = [made for rows in groups.values() if (made := _chosen(rows)) is not None]
    ran = [setting_names.Ran(each.name, each.dataset, each.changes) for each in found]
    pairs = zip(found, setting_names.apart(ran), strict=True)
    found = [replace(each, apart=apart) for each, apart in pairs]
    return sorted(found, key=lambda each: (each.dataset, each.told, -each.aa))


def _chosen(rows: Sequence[LensRow]) -> Leading | None:
    known = {(row.router, row.mode): row.aa for row in rows if row.part == "val"}
    tests = [row for row in rows if row.part == "test"]
    if not tests:
        return None
    best = max(tests, key=lambda row: known.get((row.router, row.mode)) or -1.0)
    assert best.aa is not None
    return Leading(
        dataset=best.dataset,
        method=best.method,
        title=best.title,
        profile=best.profile,
        by=_words(best),
        aa=best.aa,
        std=best.aa_std,
        low=best.aa_low,
        high=best.aa_high,
        seeds=best.seeds,
        settings=best.settings,
        told=best.router == "given",
        class_recall=best.class_recall,
        confused=best.confused,
        sha256=best.sha256,
        changes=best.changes,
    )


def _words(row: LensRow) -> str:
    if row.router in UNROUTED:
        return UNROUTED[row.router]
    how = {"hard": ""}.get(row.mode, f", {row.mode}")
    return row.router.removeprefix(OWN) + how
