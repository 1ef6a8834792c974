"""Stages on a cluster: a unit is what a stage's verb does for one data set or run.

A worker does it in the folder that all share and under the same locks. This process then finds the
artefacts there. So nothing here decides a byte, and a command that is stopped goes on where it was.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from taamctl.cluster import probe
from taamctl.cluster.unit_result import result_of
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.runtime import input_gate, provenance
from taamctl.runtime.artefact_key import NOTHING
from taamctl.runtime.execute import is_current
from taamctl.runtime.job import Context, Job
from taamctl.runtime.layout import Layout
from taamctl.runtime.raw_files import resolve

if TYPE_CHECKING:
    from distributed import Client

Needs = tuple[probe.Expected, ...]


class Unit(NamedTuple):
    """What one worker does in one go.

    Attributes:
        label: names it in messages.
        context: of the command.
        verb: a function of a module, called with (context, *which), on a worker and then here; it
            reuses what is right.
        which: what it is about.
        jobs: what it makes, in order.
    """

    label: str
    context: Context
    verb: Callable[..., object]
    which: tuple[str | int, ...]
    jobs: tuple[Job, ...]

    def read(self, job: Job) -> Job:
        """Return a job of this unit with those inputs only that the unit does not make itself."""
        made = {output for each in self.jobs for output in each.outputs}
        return replace(job, inputs=tuple(read for read in job.inputs if read[0] not in made))


def finish(client: Client, doing: str, units: Sequence[Unit]) -> None:
    """Do on the workers what is missing of some units; then do all of them here, which finds it.

    Args:
        client: a `distributed.Client`.
        doing: what progress calls the work.

    Raises:
        TaamctlError: an input is not there, a unit needs more memory than a worker may have, a
            worker differs from this process or does not see what it is to read, what a unit
            refuses, or workers die over one unit again and again.
    """
    needs = {at: _needs(unit) for at, unit in enumerate(units) if not _is_there(unit)}
    for at in needs:
        unit = units[at]
        for job in unit.jobs:
            if not _is_made(unit.context, job):
                unit.context.admit(unit.context, job)
    if needs:
        every = dict.fromkeys(each for unit in needs.values() for each in unit)
        probe.require_everywhere(client, every)
        probe.tell_of_processors(client, units[0].context)
        _send(client, doing, units, needs)
    for at, unit in enumerate(units):
        here = unit.context
        if at in needs:  # its worker has told what it did, and has made it anew if asked to
            here = replace(here, force=False, tell=lambda line: None)
            _require_seen(unit)
        unit.verb(here, *unit.which)


def _is_there(unit: Unit) -> bool:
    """Tell whether all that a unit makes is as this command would make it.

    Raises:
        TaamctlError: what it reads is not there, or damaged.
    """
    for job in unit.jobs:
        input_gate.require(unit.context, unit.read(job))
    return all(_is_made(unit.context, job) for job in unit.jobs)


def _is_made(context: Context, job: Job) -> bool:
    """Tell the same of one job; what it reads may still have to be taken from another tree."""
    return all(path.is_file() for path, _ in job.inputs) and is_current(context, job)


def _needs(unit: Unit) -> Needs:
    """Return what a worker needs for a unit: the code of every stage, and the files it reads."""
    found = []
    for job in unit.jobs:
        read = []
        for path, _ in unit.read(job).inputs:
            known = (provenance.recorded(path) or NOTHING).get("outputs", {}).get(path.name)
            digest = provenance.artefact_digest(path, known)
            read.append(probe.expect(job, path, digest, "cpu"))
        read += probe.expect_raw(job, job)
        found += read or [probe.expect(job, None, "", "cpu")]
    return tuple(found)


def _send(client: Client, doing: str, units: Sequence[Unit], needs: Mapping[int, Needs]) -> None:
    """Have the workers do some units, and tell what they tell."""
    from distributed import as_completed

    sent = {}
    for at, expected in needs.items():
        unit = units[at]
        away = unit._replace(context=_portable(unit.context), jobs=())
        name = f"{unit.label.replace('/', '-')}-{unit.jobs[0].stage}-{uuid.uuid4().hex}"
        sent[client.submit(work, away, expected, key=name, pure=False)] = unit
    context = units[0].context
    context.progress.start(f"{doing} on workers", len(sent))
    try:
        for future in as_completed(list(sent), loop=client.loop):
            unit = sent[future]
            for line in result_of(future, unit.label):
                unit.context.tell(line)
            context.progress.advance()
    except BaseException:
        client.cancel(list(sent), force=True)
        raise
    context.progress.finish()


def _portable(context: Context) -> Context:
    """Return what of a context goes to another machine: paths in full, nobody who listens."""
    layout = _absolute(context.layout)
    root = resolve(context.data_root).absolute()
    force, wait, began = context.force, context.wait, context.began
    return Context(context.params, layout, root, force=force, wait=wait, began=began)


def _absolute(layout: Layout) -> Layout:
    base, home = layout.base, layout.home
    if base is not None:
        base = _absolute(base)
    if home is not None:
        home = home.absolute()
    return replace(layout, root=layout.root.absolute(), base=base, home=home)


def _require_seen(unit: Unit) -> None:
    """Refuse to do here what a worker has done where this process does not see it."""
    here = replace(unit.context, force=False)
    for job in unit.jobs:
        if not _is_made(here, job):
            raise TaamctlError(
                f"a worker wrote {job.outputs[0].absolute()}, but it is not here", probe.OUTPUTS
            )


def work(unit: Unit, expected: Needs) -> list[str]:
    """Do one unit, and return the lines that are to be told; runs on a worker."""
    for each in expected:
        probe.require_here(each)
    told: list[str] = []
    with registry.working_in(Path(expected[0].folder)):
        unit.verb(replace(unit.context, tell=told.append), *unit.which)
    return told
