"""Rows of a report: one per run, and one per (data set, method, settings) over seeds.

Accuracies are fractions; None where a value is not defined.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

import msgspec
import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.json_kinds import EVALUATION, REPORT
from taamctl.evaluation import routing
from taamctl.evaluation.node_sampling import ThinClass
from taamctl.evaluation.record import Cost, Evaluation, Number, numbers, read
from taamctl.evaluation.routing import Evidence
from taamctl.params.recorded_params import settings_in_full
from taamctl.report import setting_names
from taamctl.report.over_runs import mean_std
from taamctl.runtime import provenance
from taamctl.store import atomic_files

METRICS = ("aa", "af", "bwt", "task_id_accuracy", "legacy_af")


@dataclass(frozen=True, kw_only=True)
class Condition:
    """What was run and how it was measured; only what agrees in all of it is averaged.

    Attributes:
        scope: the logit scope that its numbers are in. own_scope: that of the method.
        task_id: profile and metric of the inference, or the kind where none is inferred.
        settings: all parameters behind a run but its seed.
        apart: the settings that tell it apart from other rows of its method.
    """

    dataset: str
    method: str
    title: str
    profile: str
    part: str
    scope: str
    averaging: str
    unit: str
    protocol: str
    split: str
    task_id: str
    task_id_kind: str
    settings: dict[str, Any]
    own_scope: str = ""
    apart: str = ""

    @property
    def name(self) -> str:
        """The method, with its reading and the settings that tell it apart."""
        return setting_names.named(self.method, self.profile, self.apart)

    @property
    def label(self) -> str:
        """The same, as figures and papers name it."""
        return setting_names.named(self.title, self.profile, self.apart)


@dataclass(frozen=True, kw_only=True)
class RunRow(Condition):
    """One run.

    Attributes:
        aa_low, aa_high: the 95 % interval of AA that the test nodes leave open.
        aa_defined: no test graph holds one class only.
        doubts: why its task IDs should not be trusted.
        instead: which parameters choose a routing that validation trusts.
    """

    seed: int
    aa: Number
    aa_low: Number = None
    aa_high: Number = None
    aa_defined: bool = True
    af: Number
    bwt: Number
    legacy_af: Number
    aa_curve: list[Number]
    matrix: list[list[Number]]
    aa_by_scope: dict[str, Number]
    af_by_scope: dict[str, Number]
    task_id_accuracy: Number
    task_id_grid: dict[str, Number]
    one_class_tasks: list[int] = field(default_factory=list)
    thin_classes: list[ThinClass] = field(default_factory=list)
    doubts: list[str] = field(default_factory=list)
    instead: list[str] = field(default_factory=list)
    parameters: Cost
    flags: list[str]
    sha256: str


@dataclass(frozen=True, kw_only=True)
class SeedsRow(Condition):
    """Mean and population standard deviation over seeds; `sha256` in the order of `seeds`.

    Attributes:
        aa_low, aa_high: the ends of the runs' intervals, averaged: all seeds have the same test
            nodes, so more of them leave no less open.
        aa_defined: no test graph holds one class only.
        aa_mixed, aa_mixed_std: AA of one graph that holds all tasks' nodes, where AA is not
            defined and a lens has it. mixed_by: its router and query unit.
    """

    seeds: list[int]
    aa: Number
    aa_std: Number
    aa_low: Number = None
    aa_high: Number = None
    aa_defined: bool = True
    aa_mixed: Number = None
    aa_mixed_std: Number = None
    mixed_by: str = ""
    af: Number
    af_std: Number
    bwt: Number
    bwt_std: Number
    task_id_accuracy: Number
    task_id_accuracy_std: Number
    legacy_af: Number
    legacy_af_std: Number
    aa_all_seen: Number
    aa_all_seen_std: Number
    aa_task_only: Number
    aa_task_only_std: Number
    aa_up_to_task: Number
    aa_up_to_task_std: Number
    parameters: Cost
    task_id_grid: dict[str, Number]
    flags: list[str]
    one_class_tasks: list[int]
    thin_classes: list[ThinClass] = field(default_factory=list)
    doubts: list[str]
    instead: list[str] = field(default_factory=list)
    matrix: list[list[Number]]
    sha256: list[str]

    @property
    def own_aa(self) -> str:
        """The name of the field with AA in the method's own scope."""
        return f"aa_{self.own_scope or self.scope}"

    def spread(self, metric: str) -> tuple[Number, Number]:
        """Return a metric's mean, and its deviation where there are several seeds."""
        std = getattr(self, f"{metric}_std") if len(self.seeds) > 1 else None
        return getattr(self, metric), std


def run_row(path: Path, part: str = "test") -> RunRow:
    """Return one run's row.

    Args:
        path: an eval.json.
        part: `test`, or `val` (reported, never used to select anything).
    """
    return row_of(read_evaluation(path), provenance.sha256(path), part)


def read_evaluation(path: Path) -> Evaluation:
    """Return what an eval.json says.

    Raises:
        TaamctlError: it cannot be read, or lacks what a report needs.
    """
    made = read(atomic_files.read_json(path, "taamctl eval"), str(path))
    try:
        for part in ("test", "val"):
            row_of(made, "", part)
    except KeyError:
        raise EVALUATION.unreadable(str(path)) from None
    return made


def row_of(made: Evaluation, sha256: str, part: str = "test", scope: str = "") -> RunRow:
    """Return the row of an evaluation.

    Args:
        sha256: of its file. part: `test` or `val`.
        scope: the logit scope of its numbers; empty: the method's own.
    """
    scope = scope or made.scope
    chosen = made.parts[part]
    by_scope = {name: found[made.averaging] for name, found in chosen.scopes.items()}
    headline = by_scope[scope]
    inferred = made.task_id_kind == "inferred"
    routed = "/".join(made.routed)
    evidence = _evidence(made, routed)
    return RunRow(
        dataset=made.dataset,
        method=made.method,
        title=made.title,
        profile=made.profile,
        part=part,
        scope=scope,
        own_scope=made.scope,
        averaging=made.averaging,
        unit=made.unit,
        protocol=made.protocol,
        split=made.split,
        task_id=routed if inferred else made.task_id_kind,
        task_id_kind=made.task_id_kind,
        settings=without_seed(settings_in_full(made.settings, made.method)),
        seed=made.seed,
        aa=headline.aa,
        aa_low=headline.aa_low,
        aa_high=headline.aa_high,
        aa_defined=not made.one_class_tasks,
        af=headline.af,
        bwt=headline.bwt,
        legacy_af=chosen.legacy_af[made.averaging],
        aa_curve=headline.aa_curve,
        matrix=headline.matrix,
        aa_by_scope={scope: found.aa for scope, found in by_scope.items()},
        af_by_scope={scope: found.af for scope, found in by_scope.items()},
        task_id_accuracy=chosen.task_id.accuracy if inferred else None,
        task_id_grid=chosen.task_id.grid,
        one_class_tasks=made.one_class_tasks,
        thin_classes=made.thin_classes,
        doubts=routing.doubts(evidence),
        instead=list(routing.instead(evidence)),
        parameters=made.parameters,
        flags=made.flags,
        sha256=sha256,
    )


def without_seed(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a run without the seed of its training."""
    train = {key: value for key, value in settings["train"].items() if key != "seed"}
    return {**settings, "train": train}


def _evidence(made: Evaluation, routed: str) -> Evidence:
    """Return what there is to say of task IDs: always from validation, whatever part a row is of;
    nothing of a method that infers none.
    """
    if made.task_id_kind != "inferred":
        return Evidence(routed)
    found = made.parts["val"].task_id
    asked = made.settings.get("infer") or {}
    return Evidence(
        by=routed,
        accuracy=found.accuracy,
        nearness=found.nearness,
        grid=found.grid,
        halves=found.halves,
        surest=found.surest,
        chosen=asked.get("router") == "auto",
    )


def over_seeds(rows: Iterable[RunRow]) -> list[SeedsRow]:
    """Return one row per (data set, method, settings), over seeds.

    Raises:
        TaamctlError: two different results of one seed under the same settings.
    """
    groups: dict[str, dict[int, RunRow]] = {}
    for row in rows:
        condition = [getattr(row, each.name) for each in fields(Condition)]
        known = groups.setdefault(json.dumps(condition, sort_keys=True), {})
        if known.setdefault(row.seed, row).sha256 != row.sha256:
            raise TaamctlError(
                f"two different results of {row.dataset} {row.method} seed {row.seed} "
                "with the same settings",
                "report them apart, without --also",
            )
    found = [_merged([seeds[s] for s in sorted(seeds)]) for seeds in groups.values()]
    ran = [
        setting_names.Ran(
            row.name,
            row.dataset,
            setting_names.changes(row.settings, row.dataset, row.method),
        )
        for row in found
    ]
    pairs = zip(found, setting_names.apart(ran), strict=True)
    return [replace(row, apart=apart) for row, apart in pairs]


def _means(members: Sequence[RunRow]) -> dict[str, Any]:
    """Return the condition that runs share, and mean and deviation of every number, by name."""
    first = members[0]
    values: dict[str, Any] = {each.name: getattr(first, each.name) for each in fields(Condition)}
    for name in METRICS:
        mean, std = mean_std([getattr(run, name) for run in members])
        values |= {name: mean, f"{name}_std": std}
    for scope in first.aa_by_scope:
        mean, std = mean_std([run.aa_by_scope[scope] for run in members])
        values |= {f"aa_{scope}": mean, f"aa_{scope}_std": std}
    return values


def _merged(members: Sequence[RunRow]) -> SeedsRow:
    first = members[0]
    values = _means(members)
    stacked = np.array([run.matrix for run in members], np.float64)  # None becomes NaN
    return SeedsRow(
        **values,
        seeds=[run.seed for run in members],
        parameters=first.parameters,
        task_id_grid=first.task_id_grid,  # of the features: the same for all seeds
        flags=first.flags,
        aa_low=mean_std([run.aa_low for run in members])[0],
        aa_high=mean_std([run.aa_high for run in members])[0],
        aa_defined=all(run.aa_defined for run in members),
        one_class_tasks=first.one_class_tasks,
        thin_classes=first.thin_classes,
        doubts=list(dict.fromkeys(line for run in members for line in run.doubts)),
        instead=next((run.instead for run in members if run.instead), []),
        matrix=[numbers(row) for row in stacked.mean(axis=0)],
        sha256=[run.sha256 for run in members],
    )


def read_rows(path: Path) -> list[SeedsRow]:
    """Return the rows over seeds of a report.json.

    Raises:
        TaamctlError: missing, or no report that can be read.
    """
    made = REPORT.read(atomic_files.read_json(path, "taamctl report"), str(path))
    try:
        return msgspec.convert(made.get("rows"), list[SeedsRow])
    except msgspec.ValidationError:
        raise REPORT.unreadable(str(path)) from None
