"""eval: accuracy matrices, AA, BWT, AF, task-ID accuracy and cost -> eval.json, metrics.json and two plot tables."""

from __future__ import annotations

import json
from typing import Any

from taamctl.core.types import SCOPES
from taamctl.evaluation import summary
from taamctl.runtime import artefacts
from taamctl.runtime.job import Context, Job, Outcome, execute
from taamctl.runtime.layout import command
from taamctl.runtime.params import canonical, canonical_json

CODE = ("core", "runtime", "evaluation", "stages/eval.py")
ARRAYS = ("y", "task", "decision", "margin", *SCOPES)


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Evaluate one (data set, method, seed)."""
    params = context.params.section("eval")
    split_at, infer_at = context.layout.file("split", dataset), context.layout.file("infer", dataset, method, seed)
    inputs = ((split_at, command("split", dataset)), (infer_at, command("infer", dataset, method, seed)))
    outputs = context.layout.files("eval", dataset, method, seed)

    def compute() -> None:
        with artefacts.Artefact(infer_at, "infer", inputs[1][1]) as inferred:
            facts = json.loads(inferred.attribute("facts"))
            bounds, names = inferred.read("stream/bounds"), inferred.read("classes/name").tolist()
            parts = {part: {name: inferred.read(f"{part}/{name}") for name in ARRAYS} for part in ("val", "test")}
            infer_params = inferred.params
        with artefacts.Artefact(split_at, "split", inputs[0][1]) as split:
            policy = summary.split_policy(split.params["split"])
        result: dict[str, Any] = {
            "dataset": dataset, "method": method, "seed": seed, "title": facts["title"], "family": facts["family"],
            "source": facts["source"], "profile": facts["variant"], "scope": facts["scope"], "averaging": params.averaging,
            "unit": "graph", "protocol": "grouped", "split": policy, "task_id_kind": facts["task_id"], "infer": infer_params,
            "classes": names, "bounds": bounds, "flags": summary.flags(parts["test"]["y"], bounds, names),
            "parameters": summary.costs(facts["stored"], facts["num_features"], len(bounds), facts["prototype_width"], facts["task_id"]),
            "parts": {part: summary.part_summary(arrays, bounds, facts["task_id"]) for part, arrays in parts.items()},
        }
        _write(outputs, result)

    return execute(context, Job("eval", f"{dataset}/{method}/seed-{seed}", json.loads(canonical_json(canonical(params))), inputs,
                                outputs, CODE), compute)


def _write(outputs: tuple[Any, ...], result: dict[str, Any]) -> None:
    test = result["parts"]["test"]
    headline = test["scopes"][result["scope"]][result["averaging"]]
    flat = {"aa": headline["aa"], "af": headline["af"], "bwt": headline["bwt"], "task_id_accuracy": test["task_id"]["accuracy"],
            "extra_paper": result["parameters"]["extra_paper"], "extra_full": result["parameters"]["extra_full"]}
    flat |= {f"aa_{scope}": test["scopes"][scope][result["averaging"]]["aa"] for scope in SCOPES}
    curve = ["stage,aa", *(f"{t + 1},{'' if a != a else repr(float(a))}" for t, a in enumerate(headline["aa_curve"]))]
    decisions = ["task,decision", *(f"{j},{k}" for j, k in enumerate(test["task_id"]["decisions"][-1]) if k >= 0)]
    full, metrics, curve_at, decisions_at = outputs
    artefacts.write_json(full, result)
    artefacts.write_json(metrics, flat)
    artefacts.write_text(curve_at, "\n".join(curve) + "\n")
    artefacts.write_text(decisions_at, "\n".join(decisions) + "\n")
