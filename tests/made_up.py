"""Evaluations and lens files that no training made, for reports: numbers drawn at random, in the
shape of the real ones.

Test modules get this module as the fixture `made_up`.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.evaluation import summary
from taamctl.evaluation.record import Evaluation
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files

OWN = ("all_seen", "up_to_task", "task_only")
SHARES = ("accuracy", "held_accuracy", "unknown_found", "false_alarms")
FACTS = {"family": "f", "source": "s", "num_features": 8, "prototype_width": 8}


@dataclass(frozen=True)
class Study:
    """What is made up: every method on every data set with every seed.

    Attributes:
        right: method -> share of right answers among all classes seen.
    """

    datasets: tuple[str, ...] = ("shop",)
    right: dict[str, float] = field(default_factory=lambda: {"good": 0.9, "bad": 0.4})
    seeds: tuple[int, ...] = (1, 2)
    tasks: int = 3
    nodes: int = 40  # of a class
    names: tuple[str, ...] = ()

    @property
    def bounds(self) -> np.ndarray[Any, Any]:
        """Two classes a task."""
        return np.array([[2 * t, 2 * t + 2] for t in range(self.tasks)])

    @property
    def classes(self) -> list[str]:
        """Names of the classes."""
        return [*self.names, *(f"class {c}" for c in range(len(self.names), 2 * self.tasks))]


def answers(study: Study, share: float, rng: np.random.Generator) -> dict[str, Any]:
    """Return the arrays of one part: a share of the nodes right, the others anywhere."""
    t, c = study.tasks, 2 * study.tasks
    y = np.repeat(np.arange(c), study.nodes)
    task = y // 2
    same = np.broadcast_to(y, (t, len(y)))
    seen = 2 * np.arange(1, t + 1)[:, None]
    right = rng.random((t, len(y))) < share
    anywhere = (rng.random((t, len(y))) * seen).astype(int)
    all_seen = np.where(right & (same < seen), same, anywhere)
    within = np.where(right, same, 2 * task + 1 - same % 2)
    similarity = np.where(np.eye(t) > 0, 0.9, 0.5) + 0.05 * rng.random((t, t, t))
    decision = np.where(np.arange(t) <= np.arange(t)[:, None], np.arange(t), -1)
    return {
        "y": y,
        "task": task,
        "decision": decision,
        "similarity": similarity,
        "margin": np.full((t, t), 0.4),
        "legacy": all_seen,
        "grid": np.ones(4),
        "all_seen": all_seen,
        "up_to_task": all_seen,
        "task_only": within,
    }


def evaluation(study: Study, dataset: str, method: str, seed: int) -> Evaluation:
    """Return one evaluation, made as the stage makes it."""
    rng = np.random.default_rng([seed, len(method), len(dataset)])
    at = list(study.right).index(method)
    facts = {
        **FACTS,
        "title": method.title(),
        "variant": "",
        "scope": OWN[at % len(OWN)],
        "task_id": "inferred",
        "routed": ["amp", "cosine"],
        "settings": {"train": {"train": {"lr": 0.1}, "seed": seed}},
        "stored": {"parameters": 1000 * (at + 1), "rows": 0, "uncounted": 0},
    }
    cut = {"edges_stored": 900, "edges_used": 1800, "dropped": []}
    split = {
        **{"class_order": "natural", "node_order": "file", "seed": 42, "order_seed": 0},
        **{"train": 0.6, "val": 0.2, "test": 0.2},
    }
    table = np.tile([2 * study.nodes, 100, 0, 5], (3 * study.tasks, 1))
    parts = {part: answers(study, study.right[method], rng) for part in ("val", "test")}
    inputs = summary.Inputs(
        facts=json.dumps(facts),
        account=json.dumps(cut),
        split={"split": split},
        infer={},
        classes=study.classes,
        bounds=study.bounds,
        parts=parts,
        predictions=parts,
        counts={"account/table": table},
    )
    return summary.evaluate(dataset, method, seed, "balanced", inputs)


def write(root: Path, study: Study) -> list[Path]:
    """Write all evaluations below `root`, and return their paths."""
    import msgspec

    found = []
    for dataset in study.datasets:
        for method in study.right:
            for seed in study.seeds:
                path = Layout(root).file("eval", dataset, method, seed)
                path.parent.mkdir(parents=True, exist_ok=True)
                made = evaluation(study, dataset, method, seed)
                atomic_files.write_json(path, msgspec.to_builtins(made))
                found.append(path)
    return found


def replay(root: Path, dataset: str, methods: tuple[str, ...], snapshots: int = 4) -> Path:
    """Write a summary of replays that nobody made, in the shape of the real ones, and what says
    that they lie there; return its path.
    """
    rng = np.random.default_rng(len(dataset))
    runs = []
    for method in methods:
        lies = Layout(root).file("stream", dataset, method, 1)
        lies.parent.mkdir(parents=True, exist_ok=True)
        digest = f"{method}-".ljust(64, "0")
        made = {name: {} for name in ("key", "asked", "raw", "cost")}
        made["outputs"] = {lies.name: {"sha256": digest}}
        lies.write_bytes(b"")
        atomic_files.write_json(lies.with_name(f"{lies.name}.provenance.json"), made)
        matrix = np.tril(rng.random((snapshots, snapshots)))
        matrix[np.triu_indices(snapshots, 1)] = np.nan
        shares = dict(zip(SHARES, rng.random(len(SHARES)), strict=True))
        lost = float((matrix.diagonal() - matrix[-1])[:-1].mean())
        parts = [
            {
                **dict(zip(SHARES, rng.random(len(SHARES)), strict=True)),
                **{"snapshot": t + 1, "nodes": 100, "new_classes": ["new"], "cpu_s": 0.1 * t},
            }
            for t in range(snapshots)
        ]
        parts[0]["accuracy"] = None
        own = {"method": method, "seed": 1, "sha256": digest, "cpu_s": 1.5, "forgetting": lost}
        runs.append({**own, **shares, "held_matrix": matrix, "snapshots": parts})
    path = root / "stream" / dataset / "stream.json"
    said = {"dataset": dataset, "protocol": "prequential", "conditions": ["made up"]}
    atomic_files.write_json(path, {**said, "runs": runs})
    return path


def report(root: Path, *, pictures: bool = True) -> Path:
    """Report everything below `root`, and return the page's path."""
    import yaml
    from taamctl.stages import report as stage

    from taamctl.params import params_file, sections
    from taamctl.runtime.job import Context

    tree = yaml.safe_load(params_file.PACKAGED.read_text(encoding="utf-8"))
    tree["report"]["pictures"] = pictures
    context = Context(sections.Params("params.yaml", tree), Layout(root))
    return stage.run(context, everything=True).path.with_name("report.html")
