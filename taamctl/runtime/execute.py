"""Run one stage once: take the lock, reuse what is already right, else compute, then record how
it was made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

from taamctl.core import subnormals
from taamctl.core.plain_values import Plain, canonical
from taamctl.core.units import MIB, format_bytes
from taamctl.runtime import input_gate, provenance, same_split
from taamctl.runtime.artefact_key import Record, altered, code_of, is_key, is_same_code, key_of
from taamctl.runtime.job import Context, Job, Outcome
from taamctl.store import atomic_files
from taamctl.store.lock import writing


def execute(
    context: Context,
    job: Job,
    compute: Callable[[], dict[str, Plain] | None],
    done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Make the outputs of `job`, or reuse them.

    An output is reused when its sidecar records the same key (`artefact_key`), and the output
    itself is still the file that was recorded. Another tree of the same outputs folder may have it.

    Args:
        compute: writes all outputs atomically; may return extra facts for the sidecar. A fact
            `cost` replaces what was measured here, where the work was done elsewhere.
        done: runs once the sidecar is there, for what may be thrown away only then.
    """
    input_gate.require(context, job)
    same_split.require(context, job)
    _tell_stale_inputs(context, job)
    outcome = _made_or_reused(context, job, compute, done)
    input_gate.note_outputs(context, job.outputs, outcome.record)
    return outcome


def _made_or_reused(
    context: Context,
    job: Job,
    compute: Callable[[], dict[str, Plain] | None],
    done: Callable[[], None],
) -> Outcome:
    main = job.outputs[0]
    if not os.access(main.parent, os.W_OK):  # such a folder is still good for reading
        there = _reusable(context, job, key_of(context, job))
        if there is not None:
            return there
    with writing(main, wait=context.wait, tell=context.tell):
        for output in job.outputs:
            atomic_files.sweep(output)
        input_gate.require(context, job)  # once more: it may have waited for another writer
        same_split.require(context, job)
        key = key_of(context, job)
        there = _reusable(context, job, key) or _found_elsewhere(context, job, key)
        if there is not None:
            done()  # a run that was stopped between its sidecar and this left it undone
            return _asked_anew(context, job, there)
        context.admit(context, job)
        code = code_of(job)
        input_gate.require_same_code(context, code.paths)
        before = provenance.peak_memory_mib()
        with context.progress.during(f"{job.stage} {job.label}"):
            record = _computed(job, key, compute)
        record["origin"] = same_split.origin(context, job)
        input_gate.require_same_code(context, code.paths, lambda: is_same_code(job, code))
        input_gate.require_unchanged(context, job, key)
        atomic_files.write_json(provenance.sidecar_of(main), record)
        done()
        cost = record["cost"]
        context.tell(
            f"{job.stage} {job.label}: wrote {main} in {cost['wall_s']:.1f} s "
            f"({cost['cpu_s']:.1f} s of CPU, process peak {cost['peak_memory_mib']:.0f} MiB)"
        )
        if cost["peak_memory_mib"] > before:  # else an earlier stage of this process took it
            _tell_over(context, job, cost["peak_memory_mib"])
        return Outcome(main, False, record)


def _tell_over(context: Context, job: Job, peak: float) -> None:
    """Say where a stage took more memory than it was allowed, and so than it was estimated to."""
    if context.max_memory is not None and peak * MIB > context.max_memory:
        context.tell(
            f"note: {job.stage} {job.label}: the process has taken {format_bytes(peak * MIB)}, "
            f"more than --max-memory {format_bytes(context.max_memory)}: the estimate was too low"
        )


def _computed(
    job: Job, key: dict[str, Plain], compute: Callable[[], dict[str, Plain] | None]
) -> dict[str, Plain]:
    """Make the outputs, and return the record of how."""
    reached = code_of(job)
    with subnormals.flushed() if job.flushes else nullcontext():
        clock = provenance.Clock()  # by now torch is imported: that is no part of any stage
        facts = dict(compute() or {})
        machine = provenance.machine()
        if job.flushes:
            machine["subnormals"] = subnormals.done_here()
    return {
        "stage": job.stage,
        "label": job.label,
        "key": key,
        "sources": {"files": reached.files, "libraries": list(reached.libraries)},
        "asked": _asked(job),
        "raw": {str(path): provenance.stamp(path) for path in job.raw},
        "outputs": {output.name: provenance.stamp(output) for output in job.outputs},
        "cost": {**clock.read(), **facts.pop("cost", {})},
        "versions": provenance.versions(),
        "machine": machine,
        "facts": facts,
    }


def is_current(context: Context, job: Job) -> bool:
    """Tell whether `execute` would reuse the outputs of `job`, whose inputs are there."""
    record = provenance.recorded(job.outputs[0])
    if context.force:
        return False
    key = key_of(context, job)
    return (record is not None and _is_right(record, job, key, job.outputs)) or (
        elsewhere(context, job, key) is not None
    )


def _reusable(context: Context, job: Job, key: dict[str, Plain]) -> Outcome | None:
    main = job.outputs[0]
    record = provenance.recorded(main)
    if context.force or record is None or not _is_right(record, job, key, job.outputs):
        return None
    context.tell(f"{job.stage} {job.label}: reused {main} (parameters, inputs and code match)")
    return Outcome(main, True, record)


def _asked_anew(context: Context, job: Job, there: Outcome) -> Outcome:
    """Record what reused outputs are asked for now: other parameters, or a split made anew, may
    have come to the same.
    """
    now = {"asked": _asked(job), "origin": same_split.origin(context, job)}
    if now == {name: there.record.get(name) for name in now}:
        return there
    record = {**there.record, **now}
    atomic_files.write_json(provenance.sidecar_of(there.path), record)
    return Outcome(there.path, True, record)


def _found_elsewhere(context: Context, job: Job, key: dict[str, Plain]) -> Outcome | None:
    """Take the outputs from another tree of the same outputs folder, where one has them."""
    found = None if context.force else elsewhere(context, job, key)
    if found is None:
        return None
    main = job.outputs[0]
    there, record = found
    for output in job.outputs:
        atomic_files.take(there.with_name(output.name), output)
    atomic_files.write_json(provenance.sidecar_of(main), record)
    context.tell(f"{job.stage} {job.label}: reused {there} as {main} (everything matches)")
    return Outcome(main, True, record)


def elsewhere(
    context: Context, job: Job, key: dict[str, Plain]
) -> tuple[Path, dict[str, Plain]] | None:
    """Return the main output in another tree, and its record, where one was made with this key."""
    name = context.layout.name(job.outputs[0])
    for tree in context.layout.trees():
        there = tree / name
        outputs = tuple(there.with_name(output.name) for output in job.outputs)
        record = provenance.recorded(there)
        if record is not None and _is_right(record, job, key, outputs):
            return there, record
    return None


def _is_right(record: Record, job: Job, key: dict[str, Plain], outputs: tuple[Path, ...]) -> bool:
    """Tell whether outputs are what the job would make; a record of another place is damaged."""
    right = is_key(record, key) and not altered(record, outputs)
    return right and record.get("label") == job.label


def _asked(job: Job) -> dict[str, Plain]:
    """Return the parameter sections behind an artefact, its inputs' included."""
    found: dict[str, Plain] = {}
    for path, _ in job.inputs:
        found |= (provenance.recorded(path) or {}).get("asked", {})
    return {**found, **atomic_files.strict(canonical(job.asked))}


def _tell_stale_inputs(context: Context, job: Job) -> None:
    """Say which inputs were made with other parameters than those of this call: a single stage
    does not remake them.
    """
    if job.stage == "report":  # it puts different settings side by side, and names them itself
        return
    for path, _ in job.inputs:
        what = same_split.changes(context, (provenance.recorded(path) or {}).get("asked", {}))
        if what:
            context.tell(
                f"note: {path} was made with {same_split.words(what)}; taamctl run remakes what "
                "is upstream"
            )
