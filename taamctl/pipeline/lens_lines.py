"""The table of `taamctl reproduce lens`: the same models where a test graph holds one task and
where it mixes all.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.core.plain_values import Plain
from taamctl.params.run_params import RunParams
from taamctl.pipeline import at_hand, lens_run, lens_walk, walk
from taamctl.pipeline.countdown import Countdown
from taamctl.pipeline.plain_tables import PlainTable
from taamctl.report import lens_table, published
from taamctl.report.lens_table import LensRow
from taamctl.report.published import LensLine
from taamctl.runtime.job import Context

if TYPE_CHECKING:
    from distributed import Client

COLUMNS = (
    *("row", "dataset", "grouped", "grouped std", "mixed", "mixed std"),
    *("right grouped", "right mixed", "memory M"),
)


def table(context: Context, client: Client | None = None) -> PlainTable:
    """Run what is missing, look at every run through the lens, and return the table.

    Args:
        context: names the data sets, the seeds and the methods of the lens rows.
        client: of the Dask cluster that does the work; None: this process.
    """
    section = context.params.section(RunParams)
    there = at_hand.required(context)
    if client is None:
        paths = _looked_here(context, there)
    else:
        walk.features(context, *there, client=client)
        wanted = [(d, m, s) for d in there for m in section.methods for s in section.seeds]
        walk.on_cluster(context, client, wanted)
        paths = lens_walk.of_datasets(context, there, client)
    found = lens_table.rows(paths)
    lines = [line for dataset in there for line in _lines(found, dataset)]
    return PlainTable("lens", COLUMNS, lines, _conditions(section.seeds))


def _looked_here(context: Context, there: Sequence[str]) -> list[Path]:
    """Do the same in this process, say how many runs are left, and return the lens files."""
    section = context.params.section(RunParams)
    countdown = Countdown(context.tell, len(there) * len(section.methods) * len(section.seeds))
    paths: list[Path] = []
    for dataset in there:
        walk.features(context, dataset)
        inputs = lens_run.LensInputs(context, dataset)
        for method in section.methods:
            for seed in section.seeds:
                countdown.begin(f"{method}, {dataset}, seed {seed}, and its lens")
                outcomes = walk.one_run(context, (dataset, method, seed))
                seen = lens_run.run(inputs, method, seed)
                countdown.end([*outcomes, seen])
                paths.append(seen.path)
    return paths


def _conditions(seeds: Sequence[int]) -> list[str]:
    return [
        "AA in per cent on test, class-balanced, after the last task, in the method's own "
        "logit scope, and its population standard deviation over the seeds "
        f"{', '.join(map(str, seeds))}; right: per cent of nodes with the right task.",
        "grouped: every test graph holds one task's nodes. mixed: one graph holds all tasks' "
        "test nodes, edges between tasks kept.",
        "memory M: millions of words that the method keeps; the router's own not counted.",
    ]


def _lines(found: Sequence[LensRow], dataset: str) -> Iterator[dict[str, Plain]]:
    """Yield a data set's lines, in the order of the printed rows."""
    for row in published.lens_rows():
        cells = {r.protocol: r for r in found if r.dataset == dataset and is_of(r, row)}
        if len(cells) < 2:
            continue
        grouped, mixed = cells["grouped"], cells["mixed"]
        yield {
            "row": row.row,
            "dataset": dataset,
            "grouped": _percent(grouped.aa),
            "grouped std": _percent(grouped.aa_std),
            "mixed": _percent(mixed.aa),
            "mixed std": _percent(mixed.aa_std),
            "right grouped": _percent(grouped.task_id_accuracy),
            "right mixed": _percent(mixed.task_id_accuracy),
            "memory M": grouped.memory_words / 1e6,
        }


def is_of(found: LensRow, row: LensLine) -> bool:
    """Tell whether a cell of the lens is what a row of the table shows."""
    own = (found.method, found.router, found.unit, found.mode, found.part)
    return own == (row.method, row.router, row.unit, "hard", "test")


def _percent(value: float | None) -> float | None:
    return None if value is None else 100 * value
