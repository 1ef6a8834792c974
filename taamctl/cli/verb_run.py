"""`taamctl run`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.cli import within_memory
from taamctl.cli.common import make_context
from taamctl.cli.executor_options import Executor, cluster
from taamctl.cli.live_metrics import Listening
from taamctl.cli.shared_options import Grid, Profile, RawSettings, Writing
from taamctl.cli.verb_report import show
from taamctl.cli.verb_status import show as show_status
from taamctl.params.report_params import ReportParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

PRINTED = (
    *("dataset", "method", "seed", "profile", "scope", "averaging", "unit", "protocol", "split"),
    *(
        "aa",
        "aa_low",
        "aa_high",
        "aa_defined",
        "af",
        "bwt",
        "task_id_accuracy",
        "task_id",
        "matrix",
        "aa_by_scope",
        "af_by_scope",
    ),
    *("parameters", "flags", "one_class_tasks", "thin_classes", "doubts", "sha256"),
)


def command(
    *,
    grid: Grid,
    profile: Profile = None,
    settings: RawSettings,
    as_json: Annotated[
        bool, Option("--json", help="Print a JSON array: an object per (data set, method, seed).")
    ] = False,
    dry_run: Annotated[
        bool, Option("--dry-run", help="Only say what would be made again, and why.")
    ] = False,
    executor: Executor,
    listening: Listening,
    writing: Writing,
) -> None:
    """Walk all stages, reuse what is already there, and print the result.

    Needs neither DVC nor a checkout.
    """
    from taamctl.pipeline import walk
    from taamctl.runtime import input_gate

    executor.check()
    context = make_context(grid, settings, writing, check_methods=True, profile=profile)
    if dry_run:
        show_status(context, as_json=as_json)
        return
    context = listening.to(context)
    (context,), executor = within_memory.prepared([context], executor)
    with cluster(context, executor) as client:
        path = walk.whole(context, client)
    input_gate.require_own(context, path)
    if as_json:
        found = [_result(context, *which) for which in walk.runs(context)]
        print(json.dumps(found, indent=1, allow_nan=False))
    else:
        show(path, context.params.section(ReportParams).decimals, context.tell)


def _result(context: Context, dataset: str, method: str, seed: int) -> dict[str, object]:
    import msgspec

    from taamctl.report import collect, report_rows
    from taamctl.runtime import input_gate

    file = context.layout.file("eval", dataset, method, seed)
    input_gate.require_own(context, file)
    row = msgspec.to_builtins(report_rows.run_row(file))
    costs = collect.costs(context.layout, dataset, method, seed)
    return {**{key: row[key] for key in PRINTED}, **costs}
