"""report: every evaluation in the given output trees -> tables (Markdown, CSV, JSON), figures
with their numbers, one HTML page.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.core.plain_values import canonical
from taamctl.params.params_file import PACKAGED
from taamctl.params.report_params import ReportParams
from taamctl.params.run_params import RunParams
from taamctl.report import collect, contents, stream_section
from taamctl.runtime import provenance
from taamctl.runtime.execute import execute
from taamctl.runtime.job import Context, Job, Outcome
from taamctl.runtime.layout import Layout


def plan(
    context: Context, also: Sequence[Path] = (), *, everything: bool = False
) -> tuple[contents.Sources, Job]:
    """Return what a report is made from, and what it makes; refuse where there is nothing."""
    params = context.params.section(ReportParams)
    wanted = context.params.section(RunParams)
    filters = () if everything else (wanted.datasets, wanted.methods, wanted.seeds)
    trees = [context.layout, *map(Layout, also)]
    paths = [path for tree in trees for path in collect.evaluations(tree, *filters)]
    replays = stream_section.files(context.layout)
    if not replays or collect.evaluations(context.layout):  # of replays alone there is a page too
        collect.require(paths, context.layout)
    if paths and not everything:
        for missing in collect.missing(paths, *filters):
            context.tell(f"note: no evaluation of {missing}; it is not in the report")
    sources = contents.sources(paths, context.layout, pictures=params.pictures)
    folder = context.layout.root / "report"
    recorded = {
        "report": canonical(params),
        "seconds": sources.seconds,
        "made": list(sources.made),
        "usual": provenance.sha256(PACKAGED),  # rows say in what they differ from it
        "left_out": sources.left_out,
    }
    outputs = tuple(folder / name for name in sources.names())
    label = ", ".join(sources.datasets) or "replays"
    return sources, Job("report", label, recorded, sources.inputs, outputs)


def run(context: Context, also: Sequence[Path] = (), *, everything: bool = False) -> Outcome:
    """Report the evaluations that the `run` section names, or everything, of several trees."""
    sources, job = plan(context, also, everything=everything)
    for line in sources.left_out:
        context.tell(f"note: {line}")
    decimals = context.params.section(ReportParams).decimals
    folder = job.outputs[0].parent
    return execute(context, job, lambda: contents.write(folder, sources, decimals))
