"""Inference and evaluation on a cluster: every trained run is a unit.

A worker does what `taamctl infer` and `taamctl eval` do, in the folder that all share and under the
same locks. This process then finds the artefacts there. So nothing here decides a byte, and a
command that is stopped goes on where it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from taamctl.cluster import probe
from taamctl.cluster.unit_result import result_of
from taamctl.runtime import stage_jobs
from taamctl.runtime.artefact_key import key_of
from taamctl.runtime.execute import is_current
from taamctl.runtime.job import Context, Job
from taamctl.runtime.layout import Layout
from taamctl.runtime.stage_jobs import Which
from taamctl.stages import eval as evaluate
from taamctl.stages import infer

if TYPE_CHECKING:
    from distributed import Client

Run = tuple[str, str, int]


def finish(client: Client, context: Context, runs: Sequence[Run]) -> None:
    """Infer and evaluate runs whose training is there.

    Args:
        client: a `distributed.Client`.
        runs: (data set, method, seed).

    Raises:
        TaamctlError: a worker differs from this process or cannot write below the outputs folder,
            or workers die over one unit again and again.
    """
    expected = {run: _expected(context, run) for run in runs if not _is_there(context, run)}
    if expected:
        probe.require_everywhere(client, {e for pair in expected.values() for e in pair})
        _send(client, context, expected)
    for run in runs:
        here = context
        if run in expected:  # its worker has told what it did, and has made it anew if asked to
            here = replace(context, force=False, tell=lambda line: None)
        infer.run(here, *run)
        evaluate.run(here, *run)


def _is_there(context: Context, run: Run) -> bool:
    """Tell whether both artefacts are as this command would make them."""
    which = Which(*run)
    return is_current(context, stage_jobs.infer(context, which)) and is_current(
        context, stage_jobs.evaluation(context, which)
    )


def _expected(context: Context, run: Run) -> tuple[probe.Expected, ...]:
    """Return what a worker needs for both stages: the code of each, and the trained run."""
    which = Which(*run)
    inference = stage_jobs.infer(context, which)
    trained = inference.inputs[-1][0]
    digest = key_of(context, inference)["inputs"][context.layout.name(trained)]

    def of(job: Job) -> probe.Expected:
        return probe.expect(job, trained, digest, "cpu")

    return of(inference), of(stage_jobs.evaluation(context, which))


def _send(
    client: Client, context: Context, expected: dict[Run, tuple[probe.Expected, ...]]
) -> None:
    """Have the workers do all runs, and tell what they tell."""
    from distributed import as_completed

    sent = {}
    for run, needs in expected.items():
        label = Which(*run).label
        name = f"{label.replace('/', '-')}-infer-{uuid.uuid4().hex}"
        sent[client.submit(work, _portable(context), needs, run, key=name, pure=False)] = label
    context.progress.start("infer and eval on workers", len(sent))
    try:
        for future in as_completed(list(sent), loop=client.loop):
            for line in result_of(future, sent[future]):
                context.tell(line)
            context.progress.advance()
    except BaseException:
        client.cancel(list(sent), force=True)
        raise
    context.progress.finish()


def _portable(context: Context) -> Context:
    """Return what of a context goes to another machine: paths in full, nobody who listens."""
    layout = _absolute(context.layout)
    return Context(context.params, layout, force=context.force, wait=context.wait)


def _absolute(layout: Layout) -> Layout:
    base, home = layout.base, layout.home
    if base is not None:
        base = _absolute(base)
    if home is not None:
        home = home.absolute()
    return replace(layout, root=layout.root.absolute(), base=base, home=home)


def work(context: Context, expected: Sequence[probe.Expected], run: Run) -> list[str]:
    """Infer and evaluate one run, and return the lines that are to be told; runs on a worker."""
    for each in expected:
        probe.require_here(each)
    told: list[str] = []
    here = replace(context, tell=told.append)
    infer.run(here, *run)
    evaluate.run(here, *run)
    return told
