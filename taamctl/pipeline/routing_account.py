"""What there is to say of the task IDs of one run, from its `infer` artefact alone."""

from __future__ import annotations

import json

from taamctl.evaluation import matrix, routing, summary
from taamctl.evaluation.record import numbers
from taamctl.evaluation.routing import Evidence
from taamctl.params.run_params import RunParams
from taamctl.runtime.job import Context
from taamctl.store.artefacts import Artefact
from taamctl.store.infer_kind import INFER

Run = tuple[str, str, int]  # data set, method, seed


def tell(context: Context) -> None:
    """Warn of every run of the `run` section whose task IDs validation does not trust."""
    run = context.params.section(RunParams)
    for which in ((d, m, s) for d in run.datasets for m in run.methods for s in run.seeds):
        for line in doubts(context, which):
            context.tell(f"warning: {which[0]} ({which[1]}): {line}")


def doubts(context: Context, which: Run) -> list[str]:
    """Return why the task IDs of one run should not be trusted, with the call that does better;
    nothing of a method that infers none.
    """
    path, made_by = context.layout.file("infer", *which), context.layout.command("infer", *which)
    with Artefact(path, INFER, made_by) as made:
        facts = json.loads(made.attribute("facts"))
        if facts["task_id"] != "inferred":
            return []
        arrays = {name: made.read(name) for name in summary.ROUTING if made.has(name)}
        decision = made.read("val/decision")
        similarity = made.read("val/similarity")
        grid = made.read("val/grid")
        asked = made.params
    sure = summary.sureness(arrays, "val")
    found = Evidence(
        by="/".join(facts["routed"]),
        accuracy=numbers(matrix.task_id_accuracy(decision))[-1],
        nearness=routing.nearness(similarity[-1], facts["routed"][-1]),
        grid=dict(zip(routing.ROUTINGS, numbers(grid), strict=True)),
        halves=sure.halves,
        surest=sure.surest,
        chosen=asked.get("router") == "auto",
    )
    sets = "".join(f" --set {setting}" for setting in routing.instead(found))
    more = f"; run: {context.layout.command('infer', *which)}{sets}" if sets else ""
    return [f"{line}{more}" for line in routing.doubts(found)]
