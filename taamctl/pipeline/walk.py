"""Walk the stages: one of them, or all in order, over the data sets, methods and seeds of the
`run` section.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.data_set import data_set
from taamctl.params.run_params import RunParams
from taamctl.pipeline import split_account
from taamctl.runtime import stage_jobs
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


def one_stage(context: Context, stage: str, client: Client | None = None) -> None:
    """Run one stage, other than the report, for all that the `run` section names.

    Args:
        client: of the Dask cluster that does the work; None: this process.
    """
    if stage == "split":
        split(context, client)
        return
    if client is not None:
        _one_stage_away(context, stage, client)
        return
    module = importlib.import_module(f"taamctl.stages.{stage}")
    whole: Iterable[tuple[object, ...]] = each_run(context)
    if stage not in PER_RUN:
        whole = [(dataset,) for dataset in context.params.section(RunParams).datasets]
    for which in whole:
        module.run(context, *which)


def _one_stage_away(context: Context, stage: str, client: Client) -> None:
    """Run one stage after the split on a cluster."""
    from taamctl.cluster import run_units

    if stage == "precompute":
        for dataset in context.params.section(RunParams).datasets:
            propagate(context, dataset, client)
    elif stage == "train":
        train_away(context, client, runs(context))
    else:
        run_units.finish(client, context, runs(context), (stage,))


def split(context: Context, client: Client | None = None) -> None:
    """Split every data set, and say what each split has and what it leaves out."""
    divide([(context, d) for d in context.params.section(RunParams).datasets], client)


def divide(wanted: Iterable[tuple[Context, str]], client: Client | None = None) -> None:
    """Split data sets, side by side on a cluster, and say likewise."""
    _each(wanted, split_one, client)


def split_one(context: Context, dataset: str) -> None:
    """Split one data set, and say likewise."""
    from taamctl.stages import split as stage

    for line in split_account.lines(stage.run(context, dataset).path):
        context.tell(line)


def _each(
    wanted: Iterable[tuple[Context, str]], verb: Callable[..., object], client: Client | None
) -> None:
    """Call what splits one data set for each of several."""
    if client is None:
        for context, dataset in wanted:
            verb(context, dataset)
        return
    from taamctl.cluster import stage_units

    units = []
    for context, dataset in wanted:
        job = stage_jobs.split(context, data_set(dataset))
        units.append(stage_units.Unit(dataset, context, verb, (dataset,), (job,)))
    stage_units.finish(client, "split", units)


def features(context: Context, *datasets: str, client: Client | None = None) -> None:
    """Split and propagate some data sets."""
    from taamctl.stages import split as stage

    _each([(context, dataset) for dataset in datasets], stage.run, client)
    for dataset in datasets:
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
        client: of the Dask cluster that does the work; None: this process.
    """
    from taamctl.stages import train

    train.check(context)
    split(context, client)
    after_split(context, client)


def after_split(context: Context, client: Client | None = None) -> None:
    """Run every stage between split and report, likewise."""
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
    own_graphs.look(context, client)
    outcome: Outcome = report.run(context)
    return outcome.path


def on_cluster(context: Context, client: Client, wanted: Sequence[Run]) -> None:
    """Train, infer and evaluate runs on a cluster; their features are there."""
    from taamctl.cluster import run_units

    train_away(context, client, wanted)
    run_units.finish(client, context, wanted)


def train_away(context: Context, client: Client, wanted: Sequence[Run]) -> None:
    """Train runs on a cluster."""
    from taamctl.cluster import train_tasks
    from taamctl.stages import train

    with ExitStack() as held:  # the locks of the tasks, until they are put together
        learned = train_tasks.learn(client, context, wanted, held)
        for which in wanted:
            train.run(context, *which, learned=learned.get(which))
