"""Gather evaluations from one or more output trees into rows: one per run, and one per (data
set, method) over seeds.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Collection, Iterable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.evaluation import routing
from taamctl.runtime import provenance
from taamctl.runtime.layout import STAGES, Layout
from taamctl.store import atomic_files

METRICS = ("aa", "af", "bwt", "task_id_accuracy", "legacy_af")


def evaluations(
    layout: Layout,
    datasets: Collection[str] | None = None,
    methods: Collection[str] | None = None,
    seeds: Collection[int] | None = None,
) -> list[Path]:
    """Return the eval.json files of an output tree, sorted; a filter that is None admits
    everything.
    """
    found = []
    for path in sorted((layout.root / "eval").glob("*/*/seed-*/eval.json")):
        dataset, method, seed = path.parts[-4], path.parts[-3], path.parts[-2].removeprefix("seed-")
        wanted = (
            (datasets, dataset),
            (methods, method),
            (seeds, int(seed) if seed.isdecimal() else None),
        )
        if seed.isdecimal() and all(
            admitted is None or value in admitted for admitted, value in wanted
        ):
            found.append(path)
    return found


def run_row(path: Path, part: str = "test") -> dict[str, Any]:
    """Return one run's row: what a program needs, accuracies as fractions.

    Args:
        path: an eval.json.
        part: `test`, or `val` (reported, never used to select anything).
    """
    made = atomic_files.read_json(path, "taamctl eval")
    try:
        return _row(made, part, provenance.sha256(path))
    except (KeyError, TypeError):
        raise TaamctlError(
            f"{path} is no evaluation that this taamctl can read",
            "make it again with: taamctl eval --force",
        ) from None


def _row(made: Mapping[str, Any], part: str, sha256: str) -> dict[str, Any]:
    scope, averaging, chosen = made["scope"], made["averaging"], made["parts"][part]
    headline = chosen["scopes"][scope][averaging]
    return {
        "dataset": made["dataset"],
        "method": made["method"],
        "title": made["title"],
        "profile": made["profile"],
        "seed": made["seed"],
        "part": part,
        "scope": scope,
        "averaging": averaging,
        "unit": made["unit"],
        "protocol": made["protocol"],
        "split": made["split"],
        "aa": headline["aa"],
        "af": headline["af"],
        "bwt": headline["bwt"],
        "legacy_af": chosen["legacy_af"][averaging],
        "aa_curve": headline["aa_curve"],
        "matrix": headline["matrix"],
        "aa_by_scope": {s: chosen["scopes"][s][averaging]["aa"] for s in chosen["scopes"]},
        "af_by_scope": {s: chosen["scopes"][s][averaging]["af"] for s in chosen["scopes"]},
        "task_id_kind": made["task_id_kind"],
        "task_id_accuracy": chosen["task_id"]["accuracy"]
        if made["task_id_kind"] == "inferred"
        else None,
        "task_id": "/".join(made["routed"])
        if made["task_id_kind"] == "inferred"
        else made["task_id_kind"],
        "task_id_grid": chosen["task_id"]["grid"],
        "one_class_tasks": made.get("one_class_tasks", []),
        "doubts": _doubts(made),
        "parameters": made["parameters"],
        "flags": made["flags"],
        "sha256": sha256,
        "settings": {
            **made["settings"],
            "train": {k: v for k, v in made["settings"]["train"].items() if k != "seed"},
        },
    }


def _doubts(made: Mapping[str, Any]) -> list[str]:
    """Say why the inferred task IDs of a run should not be trusted: always from validation,
    whatever part a row is about.
    """
    said = made["parts"]["val"]["task_id"]
    if made["task_id_kind"] != "inferred":
        return []
    return routing.doubts(
        said["accuracy"], said.get("nearness"), said["grid"], "/".join(made["routed"])
    )


def costs(layout: Layout, dataset: str, method: str, seed: int) -> dict[str, Any]:
    """Return seconds per stage and the peak memory over them, from the sidecars: they differ
    from run to run.
    """
    seconds, peak = {}, 0.0
    for stage in STAGES[:-1]:
        sidecar = provenance.sidecar_of(layout.file(stage, dataset, method, seed))
        if sidecar.is_file():
            cost = atomic_files.read_json(sidecar)["cost"]
            seconds[stage] = cost["wall_s"]
            peak = max(
                peak, cost["peak_memory_mib"]
            )  # of the process: what ran before in it counts too
    return {"seconds": seconds, "peak_memory_mib": peak}


def training_seconds(path: Path) -> float | None:
    """Return the wall seconds of the training behind an eval.json, from its sidecar; None where
    there is no such record.
    """
    dataset, method, seed = (
        path.parts[-4],
        path.parts[-3],
        int(path.parts[-2].removeprefix("seed-")),
    )
    try:
        return float(costs(Layout(path.parents[4]), dataset, method, seed)["seconds"]["train"])
    except (
        TaamctlError,
        KeyError,
        TypeError,
        ValueError,
    ):  # a report does not fail for want of a time
        return None


def verdict_files(layout: Layout) -> list[Path]:
    """Return the files that compare results with printed numbers, sorted; there may be none."""
    return sorted(
        p
        for p in (layout.root / "reproduce").glob("*.json")
        if not p.name.endswith(".provenance.json")
    )


def verdicts(path: Path) -> dict[str, Any]:
    """Return a comparison with printed numbers: target, rows and conditions; one that cannot be
    read says so in its conditions.
    """
    try:
        made = atomic_files.read_json(path)
        rows, conditions = (
            [dict(row) for row in made["rows"]],
            [str(line) for line in made.get("conditions", [])],
        )
        return {
            "target": str(made.get("target", path.stem)),
            "rows": rows,
            "conditions": conditions,
        }
    except (TaamctlError, OSError, AttributeError, KeyError, TypeError, ValueError):
        return {
            "target": path.stem,
            "rows": [],
            "conditions": [f"{path.name} cannot be read as a comparison with printed numbers."],
        }


def over_seeds(rows: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return one row per (data set, method, settings), metrics as mean and population standard
    deviation over seeds.

    Settings are all parameters behind a run but its seed: runs that differ in any are never
    averaged.

    Raises:
        TaamctlError: two different results of one seed under the same settings.
    """
    same = (
        "dataset",
        "method",
        "title",
        "profile",
        "part",
        "scope",
        "averaging",
        "unit",
        "protocol",
        "split",
        "task_id",
        "task_id_kind",
        "settings",
    )
    groups: dict[str, dict[int, Mapping[str, Any]]] = {}
    for row in rows:
        known = groups.setdefault(json.dumps([row[k] for k in same], sort_keys=True), {})
        if known.setdefault(row["seed"], row)["sha256"] != row["sha256"]:
            raise TaamctlError(
                f"two different results of {row['dataset']} {row['method']} seed {row['seed']} "
                "with the same settings",
                "report them apart, without --also",
            )
    out = []
    for seeds in groups.values():
        members = [seeds[s] for s in sorted(seeds)]
        row = {k: members[0][k] for k in same}
        row["seeds"] = sorted(seeds)
        for name in METRICS:
            row[name], row[f"{name}_std"] = mean_std([m[name] for m in members])
        for scope in members[0]["aa_by_scope"]:
            row[f"aa_{scope}"], row[f"aa_{scope}_std"] = mean_std(
                [m["aa_by_scope"][scope] for m in members]
            )
        row["parameters"] = members[0]["parameters"]
        row["task_id_grid"] = members[0]["task_id_grid"]  # of the features: the same for all seeds
        row["flags"], row["one_class_tasks"] = (
            members[0]["flags"],
            members[0].get("one_class_tasks", []),
        )
        row["doubts"] = list(dict.fromkeys(line for m in members for line in m.get("doubts", [])))
        row["matrix"] = _mean_matrix([m["matrix"] for m in members])
        row["sha256"] = [m["sha256"] for m in members]
        out.append(row)
    return out


def mean_std(values: list[float | None]) -> tuple[float | None, float | None]:
    """Return the mean and the population standard deviation; None for both where a value is
    missing.
    """
    there = [v for v in values if v is not None]
    if len(there) < len(values) or not there:
        return None, None
    return float(np.mean(there)), float(np.std(there))


def _mean_matrix(matrices: list[list[list[float | None]]]) -> list[list[float | None]]:
    stacked = np.array(
        [[[np.nan if v is None else v for v in row] for row in m] for m in matrices], np.float64
    )
    mean: list[list[float | None]] = atomic_files.strict(stacked.mean(axis=0))
    return mean


def missing(
    paths: Iterable[Path], datasets: Iterable[str], methods: Iterable[str], seeds: Iterable[int]
) -> list[str]:
    """Name the (data set, method, seed) that were asked for and have no evaluation."""
    there = {(p.parts[-4], p.parts[-3], p.parts[-2]) for p in paths}
    return [
        f"{d} {m} seed {s}"
        for d, m, s in itertools.product(datasets, methods, seeds)
        if (d, m, f"seed-{s}") not in there
    ]


def require(paths: list[Path], layout: Layout) -> None:
    """Refuse an empty report.

    Raises:
        TaamctlError: nothing is there to report.
    """
    if not paths:
        other = sorted({f"{p.parts[-4]} {p.parts[-3]}" for p in evaluations(layout)})
        asked = "of what the run section and the options ask for " if other else ""
        hint = (
            f"there are: {', '.join(other)}; --all reports them"
            if other
            else "make one with: taamctl run, or: taamctl eval"
        )
        raise TaamctlError(f"no evaluation {asked}below {layout.root / 'eval'}", hint)
