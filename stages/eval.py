"""eval: accuracy matrices, AA, BWT, AF, task-ID accuracy and cost -> eval.json, metrics.json and
two plot tables.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from taamctl.core.plain_values import canonical
from taamctl.core.types import SCOPES
from taamctl.evaluation import summary
from taamctl.params.eval_params import EvalParams
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.store import artefacts, atomic_files

CODE = ("core", "params", "runtime", "store", "evaluation", "stages/eval.py")
ARRAYS = ("y", "task", "decision", "similarity", "margin", "legacy", "grid", *SCOPES)


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Evaluate one (data set, method, seed)."""
    params = context.params.section(EvalParams)
    split_at, infer_at = (
        context.layout.file("split", dataset),
        context.layout.file("infer", dataset, method, seed),
    )
    inputs = (
        (split_at, context.layout.command("split", dataset)),
        (infer_at, context.layout.command("infer", dataset, method, seed)),
    )
    outputs = context.layout.files("eval", dataset, method, seed)

    def compute() -> None:
        with artefacts.Artefact(infer_at, "infer", inputs[1][1]) as inferred:
            facts = json.loads(inferred.attribute("facts"))
            bounds, names = inferred.read("stream/bounds"), inferred.read("classes/name").tolist()
            parts = {
                part: {name: inferred.read(f"{part}/{name}") for name in ARRAYS}
                for part in ("val", "test")
            }
            infer_params = inferred.params
        with artefacts.Artefact(split_at, "split", inputs[0][1]) as split:
            made_with, account = split.params, json.loads(split.attribute("account"))
        result: dict[str, Any] = {
            "dataset": dataset,
            "method": method,
            "seed": seed,
            "title": facts["title"],
            "family": facts["family"],
            "source": facts["source"],
            "profile": facts["variant"],
            "scope": facts["scope"],
            "averaging": params.averaging,
            "unit": "graph",
            "protocol": "grouped",
            "split": summary.split_policy(made_with["split"], account),
            "task_id_kind": facts["task_id"],
            "routed": facts["routed"],
            "settings": {**made_with, "infer": infer_params, **facts["settings"]},
            "classes": names,
            "bounds": bounds,
            "flags": summary.flags(parts["test"]["y"], bounds, names, account["dropped"]),
            "one_class_tasks": summary.one_class_tasks(parts["test"]["y"], bounds),
            "parameters": summary.costs(
                facts["stored"],
                facts["num_features"],
                len(bounds),
                facts["prototype_width"],
                facts["task_id"],
            ),
            "parts": {
                part: summary.part_summary(arrays, bounds, facts["task_id"], facts["routed"][1])
                for part, arrays in parts.items()
            },
        }
        _write(outputs, result)

    return execute(
        context,
        Job(
            "eval",
            f"{dataset}/{method}/seed-{seed}",
            canonical(params),
            inputs,
            outputs,
            CODE,
            {"eval": params},
        ),
        compute,
    )


def _write(outputs: tuple[Path, ...], result: dict[str, Any]) -> None:
    full, metrics, curve, decisions = outputs
    atomic_files.write_json(full, result)
    atomic_files.write_json(metrics, summary.flat(result))
    atomic_files.write_text(curve, summary.curve_table(result))
    atomic_files.write_text(decisions, summary.decision_table(result))
