"""eval: accuracy matrices, AA, BWT, AF, task-ID accuracy and cost -> eval.json, metrics.json and
three plot tables.
"""

from __future__ import annotations

from functools import partial

import msgspec

from taamctl.evaluation import data_account, loss_curves, summary
from taamctl.params.eval_params import EvalParams
from taamctl.runtime import stage_jobs
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.stage_jobs import Which
from taamctl.store import artefacts, atomic_files
from taamctl.store.infer_kind import INFER
from taamctl.store.one_row import OneRow, by_part
from taamctl.store.split_kind import SPLIT
from taamctl.store.train_kind import TRAIN


def run(context: Context, dataset: str, method: str, seed: int) -> Outcome:
    """Evaluate one (data set, method, seed)."""
    params = context.params.section(EvalParams)
    job = stage_jobs.evaluation(context, Which(dataset, method, seed))
    split, infer, train = job.inputs
    outputs = job.outputs

    def compute() -> None:
        with (
            artefacts.Artefact(split[0], SPLIT, split[1]) as cut,
            artefacts.Artefact(infer[0], INFER, infer[1]) as inferred,
            artefacts.Artefact(train[0], TRAIN, train[1]) as trained,
        ):
            inputs = summary.Inputs(
                facts=inferred.attribute("facts"),
                account=cut.attribute("account"),
                split=cut.params,
                infer=inferred.params,
                classes=inferred.read("classes/name").tolist(),
                bounds=inferred.read("stream/bounds"),
                predictions=by_part(partial(OneRow, inferred), summary.PREDICTIONS),
                parts=by_part(inferred.read, summary.ARRAYS),
                routing={
                    name: inferred.read(name) for name in summary.ROUTING if inferred.has(name)
                },
                counts={name: cut.read(name) for name in data_account.ARRAYS if cut.has(name)},
            )
            losses = trained.read("loss")
            result = summary.evaluate(dataset, method, seed, params.averaging, inputs)
        atomic_files.write_json(outputs[0], msgspec.to_builtins(result))
        atomic_files.write_json(outputs[1], msgspec.to_builtins(summary.metrics(result)))
        atomic_files.write_text(outputs[2], summary.curve_table(result))
        atomic_files.write_text(outputs[3], summary.decision_table(result))
        atomic_files.write_text(outputs[4], loss_curves.table(losses))

    return execute(context, job, compute)
