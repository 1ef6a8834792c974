"""What `taamctl reproduce` is to make: every row of a table as a checked context."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from taamctl.cli import within_memory
from taamctl.cli.common import make_context
from taamctl.cli.console import teller
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import Grid, RawSettings, Writing

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from distributed import Client

    from taamctl.cli.executor_options import Executor
    from taamctl.pipeline.plain_tables import PlainTable
    from taamctl.pipeline.printed_numbers import Table
    from taamctl.runtime.job import Context


@dataclass(frozen=True)
class Plan:
    """A table that is to be made, and the contexts of its runs."""

    target: str
    base: Context
    contexts: dict[tuple[str, tuple[str, ...]], Context]

    def table(
        self, datasets: tuple[str, ...] | None, client: Client | None = None
    ) -> Table | PlainTable:
        """Make the table.

        Args:
            datasets: those named; None: none was.
            client: of the Dask cluster that does the work; None: this process.
        """
        from taamctl.pipeline import cost_cells, lens_lines, plain_tables, printed_numbers

        plain = {
            "theory": plain_tables.theory,
            "datasets": plain_tables.statistics,
            "lens": lens_lines.table,
        }
        if self.target in plain:
            return plain[self.target](self.base, client)
        if self.target == "params":
            return cost_cells.table(self.base, datasets)
        return printed_numbers.measured_table(self.target, self.base, self.contexts, client)


def plan_of(
    target: str,
    wanted: tuple[str, ...],
    seeds: list[int] | None,
    settings: RawSettings,
    writing: Writing,
) -> Plan:
    """Return a table's rows as contexts of runs, checked."""
    from taamctl.pipeline import printed_numbers
    from taamctl.report import published

    def context_of(methods: list[str], sets: tuple[str, ...] = ()) -> Context:
        changed = replace(settings, overrides=[*(settings.overrides or ()), *sets])
        quiet = replace(writing, quiet=True)
        grid = Grid(list(wanted), methods, seeds)
        context = make_context(grid, changed, quiet, check_methods=True)
        made_by = f"taamctl reproduce {target}"
        return replace(
            context,
            layout=printed_numbers.layout_of(settings.outputs, sets, made_by),
            progress=make_progress(writing.quiet),
            tell=teller(writing.quiet),
        )

    if target == "lens":
        shown = dict.fromkeys(row.method for row in published.lens_rows())
        return Plan(target, context_of(list(shown)), {})
    if target in published.PLAIN:
        return Plan(target, context_of(["taam"]), {})
    rows = published.rows(target)
    contexts = {(row.method, row.sets): context_of([row.method], row.sets) for row in rows}
    return Plan(target, context_of(sorted({row.method for row in rows})), contexts)


def fitting(plans: Sequence[Plan], executor: Executor) -> tuple[list[Plan], Executor]:
    """Refuse runs that do not fit into `--max-memory`, of the data sets that are there, and return
    the plans beside as many workers as fit.
    """
    from taamctl.pipeline import at_hand

    made = ("split", "precompute", "train", "infer", "eval")
    away = executor.executor == "dask"  # then its workers share the limit, whatever they make
    every = [c for plan in plans for c in plan.contexts.values() or [plan.base] * away]
    there = [own for context in every for own in at_hand.of_those_there(context)]
    fit, executor = within_memory.prepared(there, executor, made)
    if not fit:
        return list(plans), executor

    def within(context: Context) -> Context:
        made = fit[0]
        return replace(
            context, max_memory=made.max_memory, for_workers=made.for_workers, admit=made.admit
        )

    return [_changed(plan, within) for plan in plans], executor


def _changed(plan: Plan, change: Callable[[Context], Context]) -> Plan:
    """Return a plan whose runs are of changed contexts."""
    contexts = {row: change(context) for row, context in plan.contexts.items()}
    return replace(plan, base=change(plan.base), contexts=contexts)
