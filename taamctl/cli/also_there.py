"""What lies in the outputs folder beside what `taamctl status` shows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

MOST = 5  # data sets named


def lines(context: Context) -> list[str]:
    """Return a line per data set that has results of which the `run` section says nothing, and how
    to see their state.
    """
    found = list(_told(context))
    if not found:
        return []
    if len(found) > MOST:
        found[MOST:] = [f"and {len(found) - MOST} more data sets"]
    how = "taamctl status --dataset NAME --method NAME --seed N says how these are"
    return ["Also there:", *(f"  {line}" for line in found), how]


def _told(context: Context) -> Iterator[str]:
    from taamctl.pipeline import remains

    run = context.params.section(RunParams)
    for dataset, methods, seeds in remains.held(context.layout.root):
        known = dataset in run.datasets
        other_methods = [method for method in methods if method not in run.methods]
        other_seeds = [seed for seed in seeds if seed not in run.seeds]
        if known and not other_methods and not other_seeds:
            continue
        shown = methods
        if known and not other_seeds:
            shown = other_methods
        by = f" (seeds {', '.join(map(str, seeds))})" * bool(seeds)
        yield f"{dataset}: {', '.join(shown) or 'no method yet'}{by}"
