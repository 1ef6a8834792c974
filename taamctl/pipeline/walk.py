"""Walk the stages: one of them, or all in order, over the data sets, methods and seeds of the
`run` section.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.params.run_params import RunParams
from taamctl.pipeline import split_account
from taamctl.runtime.job import Context, Outcome
from taamctl.runtime.stage_table import PER_RUN

if TYPE_CHECKING:
    from distributed import Client

Run = tuple[str, str, int]  # data set, method, seed


def runs(context: Context) -> list[Run]:
    """Return every (data set, method, seed) of the `run` section, data sets outermost."""
    run = context.params.section(RunParams)
    return [(d, m, s) for d in run.datasets for m in run.methods for s in run.seeds]


def each_run(context: Context) -> Iterator[Run]:
    """Yield every run, and tell progress which it is and where it stands among all."""
    every = runs(context)
    for at, (dataset, method, seed) in enumerate(every, 1):
        place = f"{at}/{len(every)} " * (len(every) > 1)
        context.progress.about(f"{place}{dataset}/{method}/seed-{seed}")
        yield dataset, method, seed
    context.progress.about("")


def one_stage(context: Context, stage: str) -> None:
    """Run one stage, other than the report, for all that the `run` section names."""
    if stage == "split":
        split(context)
        return
    module = importlib.import_module(f"taamctl.stages.{stage}")
    whole: Iterable[tuple[object, ...]] = each_run(context)
    if stage not in PER_RUN:
        whole = [(dataset,) for dataset in context.params.section(RunParams).datasets]
    for which in whole:
        module.run(context, *which)


def split(context: Context) -> None:
    """Split every data set, and say what each split has and what it leaves out."""
    from taamctl.stages import split as stage

    for dataset in context.params.section(RunParams).datasets:
        for line in split_account.lines(stage.run(context, dataset).path):
            context.tell(line)


def features(context: Context, dataset: str, client: Client | None = None) -> None:
    """Split and propagate one data set."""
    from taamctl.stages import split as stage

    stage.run(context, dataset)
    propagate(context, dataset, client)


def propagate(context: Context, dataset: str, client: Client | None = None) -> None:
    """Propagate one data set that is split; on a cluster, where there is one."""
    from taamctl.stages import precompute

    if client is None:
        precompute.run(context, dataset)
    else:
        from taamctl.cluster import propagate_tasks

        propagate_tasks.run(client, context, dataset)


def to_eval(context: Context, client: Client | None = None) -> None:
    """Run every stage but the report; what can be refused is refused first.

    Args:
        client: of the Dask cluster that does the work after the split; None to do it in this
            process.
    """
    from taamctl.stages import train

    train.check(context)
    split(context)
    for dataset in context.params.section(RunParams).datasets:
        propagate(context, dataset, client)
    if client is not None:
        on_cluster(context, client, runs(context))
        return
    for which in each_run(context):
        one_run(context, which)


def one_run(context: Context, which: Run) -> tuple[Outcome, ...]:
    """Train, infer and evaluate one run."""
    from taamctl.stages import eval as evaluate
    from taamctl.stages import infer, train

    return (
        train.run(context, *which),
        infer.run(context, *which),
        evaluate.run(context, *which),
    )


def whole(context: Context, client: Client | None = None) -> Path:
    """Run every stage, the lens where `own_graphs` says so, and return the report's path."""
    from taamctl.pipeline import own_graphs
    from taamctl.stages import report

    to_eval(context, client)
    own_graphs.look(context)
    outcome: Outcome = report.run(context)
    return outcome.path


def on_cluster(context: Context, client: Client, wanted: Sequence[Run]) -> None:
    """Train, infer and evaluate runs on a cluster; their features are there."""
    from taamctl.cluster import run_units, train_tasks
    from taamctl.stages import train

    with ExitStack() as held:  # the locks of the tasks, until they are put together
        learned = train_tasks.learn(client, context, wanted, held)
        for which in wanted:
            train.run(context, *which, learned=learned.get(which))
    run_units.finish(client, context, wanted)
