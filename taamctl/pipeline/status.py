"""What is fresh, stale or missing of a run, why, and what `taamctl run` would do: nothing is
computed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Literal

from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams
from taamctl.pipeline import own_graphs
from taamctl.pipeline.walk import runs
from taamctl.runtime import provenance, stage_jobs
from taamctl.runtime.artefact_key import Key, altered, is_key, key_of, reasons
from taamctl.runtime.execute import elsewhere
from taamctl.runtime.job import Context, Job
from taamctl.runtime.stage_jobs import Which

State = Literal["fresh", "stale", "missing", "done", "interrupted", "damaged"]


@dataclass(frozen=True)
class Line:
    """One artefact of a run.

    Attributes:
        stage, dataset, method, seed: which; a report has none of the last three, a split no method.
        state: `fresh`: reused as it lies; `stale`: there, and not what would be made now;
            `missing`: not there. Of a replay in time: `done`, `interrupted` or `damaged`.
        reasons: why it is not fresh, each as old -> new.
        would: what `taamctl run` would do: `reuse`, `take` (from another tree of the outputs
            folder), `make`, or `check` (after a stage before it: reused where that gives the same
            bytes).
        path: the file.
        only_settings: a run would reuse it, had it the parameters that made it.
    """

    stage: str
    dataset: str
    method: str
    seed: int | None
    state: State
    reasons: list[str]
    would: str
    path: str
    only_settings: bool = False


def lines(context: Context) -> list[Line]:
    """Return the state of everything that the `run` section names, in the order of the stages."""
    found: list[Line] = []
    waits: dict[str, str] = {}  # path of what would be made -> its stage: what reads it waits
    for stage, dataset, method, seed, job in jobs(context):
        line = _line(context, job, waits, (stage, dataset, method, seed))
        if line.would != "reuse":
            waits |= {str(path): stage for path in job.outputs}
        found.append(line)
    return [*found, _report(context, waits)]


def jobs(context: Context) -> Iterator[tuple[str, str, str, int | None, Job]]:
    """Yield every artefact of a run but the report: stage, data set, method, seed, job."""
    from taamctl.stages import train

    for name in context.params.section(RunParams).datasets:
        source = data_set(name)
        yield "split", name, "", None, stage_jobs.split(context, source)
        yield "precompute", name, "", None, stage_jobs.precompute(context, source)
    looked_at = own_graphs.looked_at(context)
    for which in runs(context):
        yield "train", *which, train.plan(context, *which)[1]
        yield "infer", *which, stage_jobs.infer(context, Which(*which))
        yield "eval", *which, stage_jobs.evaluation(context, Which(*which))
        if which[0] in looked_at:
            yield "lens", *which, stage_jobs.lens(context, Which(*which))


def _report(context: Context, waits: dict[str, str]) -> Line:
    from taamctl.stages import report

    path = context.layout.root / "report" / "report.json"
    which = ("report", "", "", None)
    try:
        _, job = report.plan(context)
    except TaamctlError:
        state: State = "stale" if path.is_file() else "missing"
        return Line(*which, state, ["there is nothing to report yet"], "make", str(path))
    line = _line(context, job, waits, which)
    ahead = [stage for stage in ("eval", "lens") if stage in waits.values()]
    if line.would == "reuse" and ahead:  # it will be of runs that are not evaluated yet
        line = replace(line, state="stale", reasons=[f"after {ahead[0]}"], would="check")
    return line


def _line(
    context: Context, job: Job, waits: dict[str, str], which: tuple[str, str, str, int | None]
) -> Line:
    found = _faults(job)
    takes = only_settings = False
    if all(path.is_file() for path, _ in job.inputs):
        key = key_of(context, job)
        only_settings = not found and _differs_in_params(job, key)
        found += _outdated(job, key)
        takes = elsewhere(context, job, key) is not None
    own: State = "stale" if found else "fresh"
    if not job.outputs[0].is_file():
        own = "missing"
    upstream = dict.fromkeys(waits[str(path)] for path, _ in job.inputs if str(path) in waits)
    if upstream:
        found.append(f"after {' and '.join(upstream)}")
    if context.force:
        found.append("--force")
    state: State = "stale" if own == "fresh" and found else own
    would = _would(own, takes=takes, waiting=bool(upstream), force=context.force)
    return Line(*which, state, found, would, str(job.outputs[0]), only_settings)


def _would(own: State, *, takes: bool, waiting: bool, force: bool) -> str:
    """Return what a run would do with an artefact that is in a state of its own."""
    if force or (own != "fresh" and not takes):
        return "make"
    if waiting:
        return "check"
    return "reuse" if own == "fresh" else "take"


def _faults(job: Job) -> list[str]:
    """Say what is wrong with the files of a job themselves."""
    if not job.outputs[0].is_file():
        return []
    record = provenance.recorded(job.outputs[0])
    if record is None:
        return ["there is no record of how it was made"]
    return altered(record, job.outputs)


def _differs_in_params(job: Job, key: Key) -> bool:
    """Tell whether the recorded key is the present one but for the parameters."""
    record = provenance.recorded(job.outputs[0])
    if record is None or is_key(record, key):
        return False
    return is_key(record, {**key, "params": record["key"].get("params")})


def _outdated(job: Job, key: Key) -> list[str]:
    """Say in what the recorded key differs from the present one, where there is a record."""
    record = provenance.recorded(job.outputs[0])
    if record is None or not job.outputs[0].is_file() or is_key(record, key):
        return []
    return reasons(record, key)
