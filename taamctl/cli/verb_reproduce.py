"""`taamctl reproduce`."""

from __future__ import annotations

import dataclasses
import shlex
import time
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.cli import common, console
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

Target = Annotated[
    str,
    typer.Argument(help="main, ablation, params (cost), taskid, or sweeps.", show_default=False),
]


def command(
    target: Target,
    datasets: Annotated[
        list[str] | None,
        typer.Option("--dataset", help="Data set; repeatable. Default: the paper's eight."),
    ] = None,
    seeds: common.Seeds = None,
    params: common.ParamsFile = None,
    overrides: common.Overrides = None,
    outputs: common.Outputs = common.OUTPUTS,
    data_root: common.DataRoot = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Print the table as JSON on stdout.")
    ] = False,
    force: common.Force = False,
    no_wait: common.NoWait = False,
    quiet: common.Quiet = False,
) -> None:
    """Run what a published table needs, and print paper, ours, difference and verdict in every
    cell.

    Runs that are there are reused. Writes outputs/reproduce/TARGET.md, .csv, .json and .tex. A data
    set whose raw files are not there is listed as such.
    """
    from taamctl.pipeline import reproduce
    from taamctl.report import published, reproduction
    from taamctl.store import atomic_files

    published.rows(target)
    wanted = list(dict.fromkeys(datasets or published.datasets()))
    made_by = f"taamctl reproduce {target}"

    def context_of(
        methods: list[str], sets: tuple[str, ...] = (), names: list[str] | None = None
    ) -> Context:
        made = common.make_context(
            params=params,
            overrides=[*(overrides or ()), *sets],
            outputs=outputs,
            data_root=data_root,
            force=force,
            no_wait=no_wait,
            quiet=True,
            datasets=names,
            methods=methods,
            seeds=seeds,
            check_methods=True,
        )
        return dataclasses.replace(
            made,
            layout=reproduce.layout_of(outputs, sets, made_by),
            progress=console.make_progress(quiet),
            tell=(lambda line: None) if quiet else console.say,
        )

    for row in published.rows(target):
        context_of([row.method], row.sets, wanted)  # what can be refused is refused before any work
    context = context_of(sorted({r.method for r in published.rows(target)}), (), wanted)
    chosen = context.params.section(RunParams).seeds
    if target == "params":
        records = reproduce.cost_cells(context.params, datasets and wanted)
    else:
        absent = [d for d in wanted if not _is_there(context, d)]
        there = [d for d in wanted if d not in absent]
        _walk(reproduce.runs(target, there, chosen), context_of, context)
        records = reproduce.cells(target, there, absent, chosen, outputs)
    lines = reproduction.conditions(
        target, records, reproduce.facts(target, context.params, chosen)
    )
    full = " ".join(
        [
            made_by,
            *(f"--dataset {d}" for d in datasets or ()),
            *(f"--seed {s}" for s in chosen if target != "params"),
            *(f"--set {shlex.quote(o)}" for o in overrides or ()),
            *([f"--params {params}"] if params else []),
            *([f"--outputs {outputs}"] if outputs != common.OUTPUTS else []),
        ]
    )
    folder = outputs / "reproduce"
    atomic_files.write_json(
        folder / f"{target}.json",
        {
            "target": target,
            "title": published.title(target),
            "command": full,
            "rows": records,
            "conditions": lines,
        },
    )
    atomic_files.write_text(
        folder / f"{target}.md", reproduction.markdown(target, records, lines, full)
    )
    atomic_files.write_text(folder / f"{target}.csv", reproduction.comma_separated(records))
    atomic_files.write_text(folder / f"{target}.tex", reproduction.latex(target, records, lines))
    if as_json:
        print((folder / f"{target}.json").read_text(encoding="utf-8"), end="")
    else:
        _show(target, records, lines)


def _is_there(context: Context, dataset: str) -> bool:
    """Tell whether a data set's raw files are there, or none are needed."""
    from taamctl.core.data_set import data_set
    from taamctl.runtime import raw_files

    source = data_set(dataset)
    return not source.meta.files or raw_files.find(context.data_root, source.layouts) is not None


def _walk(runs: list[Any], context_of: Any, base: Context) -> None:
    """Run what is not there yet, and say how far it is."""
    from taamctl.stages import eval as evaluate
    from taamctl.stages import infer, precompute, split, train

    for dataset in dict.fromkeys(r.dataset for r in runs):
        split.run(base, dataset)
        precompute.run(base, dataset)
    began, fresh = time.perf_counter(), 0
    for i, run in enumerate(runs):
        context = context_of([run.row.method], run.row.sets, [run.dataset])
        left = (
            f", about {(time.perf_counter() - began) / fresh * (len(runs) - i) / 60:.0f} min left"
            if fresh
            else ""
        )
        base.tell(f"run {i + 1}/{len(runs)}: {run.row.row}, {run.dataset}, seed {run.seed}{left}")
        outcomes = [
            stage.run(context, run.dataset, run.row.method, run.seed)
            for stage in (train, infer, evaluate)
        ]
        fresh += not all(o.reused for o in outcomes)


def _show(target: str, records: list[dict[str, Any]], lines: list[str]) -> None:
    from rich.table import Table

    from taamctl.report import published, reproduction

    out = console.sheet()
    table = Table(box=None, pad_edge=False, title=published.title(target), title_justify="left")
    for name in reproduction.COLUMNS:
        table.add_column(
            name,
            justify="right" if name in ("paper", "ours", "difference") else "left",
            no_wrap=out.is_terminal is False,
        )
    for record in records:
        if (
            record["verdict"] != "no data"
        ):  # listed in one line below, and in the files cell by cell
            table.add_row(*reproduction.cells(record))
    out.print(table)
    for line in [f"{reproduction.counts(records)}.", *lines]:
        out.print(line, style="dim", soft_wrap=not out.is_terminal)
