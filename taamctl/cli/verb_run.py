"""`taamctl run`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.cli import common
from taamctl.cli import executor as where
from taamctl.params.report_params import ReportParams
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context


def command(
    datasets: common.Datasets = None,
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    profile: Annotated[
        str | None,
        typer.Option("--profile", help="Of the methods that have one: release, text, strict_gcil."),
    ] = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    as_json: Annotated[
        bool,
        typer.Option("--json", help="Print a JSON array: an object per (data set, method, seed)."),
    ] = False,
    executor: where.Executor = "local",
    scheduler: where.Scheduler = None,
    workers: where.Workers = None,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Walk all stages, reuse what is already there, and print the result.

    Needs neither DVC nor a checkout.
    """
    where.check(executor, scheduler, workers)
    context = common.make_context(
        params=params,
        overrides=overrides,
        outputs=outputs,
        data_root=data_root,
        force=force,
        no_wait=no_wait,
        quiet=quiet,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
        check_methods=True,
        profile=profile,
    )
    with where.reached(context, executor, scheduler, workers) as client:
        path = walk(context, client)
    if as_json:
        print(
            json.dumps(
                [_result(context, *run) for run in common.grid(context)], indent=1, allow_nan=False
            )
        )
    else:
        from taamctl.cli.verb_report import show

        show(path, context.params.section(ReportParams).decimals)


def walk(context: Context, client: Any = None) -> Any:
    """Run every stage of the `run` section and return the report's path; what can be refused is
    refused first.

    Args:
        client: of the Dask cluster that propagates and trains; None to do so in this process.
    """
    from taamctl.stages import report

    walk_to_eval(context, client)
    return report.run(context).path


def walk_to_eval(context: Context, client: Any = None) -> None:
    """Run every stage of the `run` section but the report."""
    from taamctl.cli.verb_split import show_account
    from taamctl.stages import eval as evaluate
    from taamctl.stages import infer, precompute, split, train

    train.check(context)
    for dataset in context.params.section(RunParams).datasets:
        for line in show_account(split.run(context, dataset).path):
            context.tell(line)
    for dataset in context.params.section(RunParams).datasets:
        precompute.run(context, dataset) if client is None else _propagate_on(
            client, context, dataset
        )
    learned = _learn_on(client, context)
    for run in common.grid(context):
        train.run(context, *run, learned=learned.get(run))
        for stage in (infer, evaluate):
            stage.run(context, *run)


def _propagate_on(client: Any, context: Context, dataset: str) -> None:
    from taamctl.cluster import propagate_tasks

    propagate_tasks.run(client, context, dataset)


def _learn_on(client: Any, context: Context) -> dict[tuple[str, str, int], dict[str, Any]]:
    """Learn on a cluster what is missing, and return what is to be recorded of that."""
    if client is None:
        return {}
    from taamctl.cluster import train_tasks

    return train_tasks.learn(client, context, common.grid(context))


def _result(context: Context, dataset: str, method: str, seed: int) -> dict[str, Any]:
    from taamctl.report import collect

    row = collect.run_row(context.layout.file("eval", dataset, method, seed))
    keys = (
        "dataset",
        "method",
        "seed",
        "profile",
        "scope",
        "averaging",
        "unit",
        "protocol",
        "split",
        "aa",
        "af",
        "bwt",
        "task_id_accuracy",
        "task_id",
        "matrix",
        "aa_by_scope",
        "af_by_scope",
        "parameters",
        "flags",
        "one_class_tasks",
        "doubts",
        "sha256",
    )
    return {
        **{key: row[key] for key in keys},
        **collect.costs(context.layout, dataset, method, seed),
    }
