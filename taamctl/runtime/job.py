"""Run one stage once: take the lock, reuse what is already right, else compute, then record how
it was made.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path

from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain, canonical
from taamctl.core.progress import SILENT, Progress
from taamctl.params.sections import Params
from taamctl.runtime import provenance
from taamctl.runtime.layout import Layout
from taamctl.store import atomic_files
from taamctl.store.lock import writing

BASE = ("core", "params", "runtime", "store")  # the code under every stage


@dataclass(frozen=True)
class Context:
    """What every stage of one command shares.

    Attributes:
        params: the checked parameter file.
        layout: where artefacts lie.
        data_root: folder with raw data, or None for the default.
        force: recompute even where the recorded parameters and inputs match.
        wait: wait for another writer of the same artefact; False gives up at once.
        progress: receives progress.
        tell: receives one line for people.
        max_memory: bytes that the whole process should keep to, where a stage can; None: no limit.
            No byte of an artefact depends on it.
    """

    params: Params
    layout: Layout
    data_root: Path | None = None
    force: bool = False
    wait: bool = True
    progress: Progress = SILENT
    tell: Callable[[str], None] = field(default=lambda line: None)
    max_memory: int | None = None

    def asked(self, section: str) -> Plain:
        """Return a section of the parameters as plain values, such as `split` or `methods.taam`."""
        return atomic_files.strict(self.params.plain(section))


@dataclass(frozen=True)
class Job:
    """One artefact to make.

    Attributes:
        stage: the stage's name.
        label: what it is about, for messages (`photo/taam/seed-1`).
        params: everything its bytes depend on beside the inputs.
        inputs: files it reads; each with the command that makes it.
        outputs: files it writes; the first carries the lock and the sidecar.
        code: sub-packages and modules whose source its bytes depend on.
        asked: the sections of the parameter file that it was made from, as asked for
            (`as_released`, `auto` unresolved).
        raw: raw data files behind it; they may be gone by the time the artefact is reused.
        flushes: its numbers are computed with subnormal ones flushed to zero.
    """

    stage: str
    label: str
    params: object
    inputs: tuple[tuple[Path, str], ...]
    outputs: tuple[Path, ...]
    code: tuple[str, ...]
    asked: dict[str, Plain] = field(default_factory=dict)
    raw: tuple[Path, ...] = ()
    flushes: bool = False


@dataclass(frozen=True)
class Outcome:
    """What became of a job: where its main artefact is, whether it was reused, and its recorded
    cost.
    """

    path: Path
    reused: bool
    record: dict[str, Plain]


def execute(
    context: Context,
    job: Job,
    compute: Callable[[], dict[str, Plain] | None],
    done: Callable[[], None] = lambda: None,
) -> Outcome:
    """Make the outputs of `job`, or reuse them.

    An output is reused when its sidecar records the same parameters, the same input checksums and
    the same source code, and the output itself is still the file that was recorded.

    Args:
        compute: writes all outputs atomically; may return extra facts for the sidecar. A fact
            `cost` replaces what was measured here, where the work was done elsewhere.
        done: runs once the sidecar is there, for what may be thrown away only then.
    """
    for path, made_by in job.inputs:
        if not path.is_file():
            raise TaamctlError(
                f"{job.stage} needs {path}, which is not there", f"make it with: {made_by}"
            )
    _tell_stale_inputs(context, job)
    main = job.outputs[0]
    if not os.access(main.parent, os.W_OK):  # such a folder is still good for reading
        there = _reusable(context, job, key_of(context, job))
        if there is not None:
            return there
    with writing(main, wait=context.wait, tell=context.tell):
        for output in job.outputs:
            atomic_files.sweep(output)
        key = key_of(context, job)
        there = _reusable(context, job, key)
        if there is not None:
            done()  # a run that was stopped between its sidecar and this left it undone
            return there
        record = _computed(job, key, compute)
        atomic_files.write_json(provenance.sidecar_of(main), record)
        done()
        cost = record["cost"]
        context.tell(
            f"{job.stage} {job.label}: wrote {main} in {cost['wall_s']:.1f} s "
            f"({cost['cpu_s']:.1f} s of CPU, process peak {cost['peak_memory_mib']:.0f} MiB)"
        )
        return Outcome(main, False, record)


def _computed(
    job: Job, key: dict[str, Plain], compute: Callable[[], dict[str, Plain] | None]
) -> dict[str, Plain]:
    """Make the outputs, and return the record of how."""
    clock = provenance.Clock()
    with subnormals.flushed() if job.flushes else nullcontext():
        facts = dict(compute() or {})
        machine = provenance.machine()
        if job.flushes:
            machine["subnormals"] = subnormals.done_here()
    return {
        "stage": job.stage,
        "label": job.label,
        "key": key,
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
    record = _recorded(job.outputs[0])
    return (
        not context.force
        and record is not None
        and _still_right(record, key_of(context, job), job.outputs)
    )


def _reusable(context: Context, job: Job, key: dict[str, Plain]) -> Outcome | None:
    main = job.outputs[0]
    record = _recorded(main)
    if context.force or record is None or not _still_right(record, key, job.outputs):
        return None
    versions = provenance.versions()
    recorded = record.get("versions", {}).items()
    changed = [f"{name} {old}" for name, old in recorded if versions.get(name) != old]
    made_with = f"; it was made with {', '.join(changed)}" if changed else ""
    context.tell(
        f"{job.stage} {job.label}: reused {main} (parameters, inputs and code match{made_with})"
    )
    return Outcome(main, True, record)


def key_of(context: Context, job: Job) -> dict[str, Plain]:
    """Return what an artefact is tied to: parameters, checksums of inputs and raw data, source
    code, the rule for subnormal numbers.
    """
    inputs = {}
    for path, _ in job.inputs:
        known = (_recorded(path) or {}).get("outputs", {}).get(path.name)
        inputs[_name(context, path)] = provenance.digest_of(path, known)
    stamps = (_recorded(job.outputs[0]) or {}).get("raw", {})
    raw = {path.name: provenance.digest_of(path, stamps.get(str(path))) for path in job.raw}
    key = {
        "params": atomic_files.strict(canonical(job.params)),
        "inputs": inputs,
        "raw": raw,
        "code": provenance.code_digest(job.code),
    }
    if job.flushes:
        key["subnormals"] = subnormals.RULE
    return key


def _name(context: Context, path: Path) -> str:
    root = context.layout.root
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else str(path)


def _asked(job: Job) -> dict[str, Plain]:
    """Return the parameter sections behind an artefact, its inputs' included."""
    found: dict[str, Plain] = {}
    for path, _ in job.inputs:
        found |= (_recorded(path) or {}).get("asked", {})
    return {**found, **atomic_files.strict(canonical(job.asked))}


def _tell_stale_inputs(context: Context, job: Job) -> None:
    """Say which inputs were made with other parameters than those of this call: a single stage
    does not remake them.
    """
    if job.stage == "report":  # it puts different settings side by side, and names them itself
        return
    for path, _ in job.inputs:
        what = _differences(context, (_recorded(path) or {}).get("asked", {}))
        if what:
            context.tell(
                f"note: {path} was made with {', '.join(what)}; taamctl run remakes what is "
                "upstream"
            )


def _differences(context: Context, recorded: dict[str, Plain]) -> list[str]:
    """Name the recorded parameters that are others now."""
    found: list[str] = []
    for section, old in recorded.items():
        now = context.asked(section)
        if isinstance(now, dict) and isinstance(old, dict):
            changed = [key for key in old if now.get(key) != old[key]]
            found += [f"{section}.{key} {old[key]} (now {now.get(key)})" for key in changed]
    return found


def _recorded(path: Path) -> dict[str, Plain] | None:
    """Return a sidecar's record, or None where there is none of the right shape."""
    try:
        record = atomic_files.read_json(provenance.sidecar_of(path))
    except (TaamctlError, OSError):
        return None
    whole = isinstance(record, dict) and all(
        isinstance(record.get(k), dict) for k in ("key", "outputs", "asked", "raw", "cost")
    )
    return record if whole else None


def _still_right(
    record: dict[str, Plain], key: dict[str, Plain], outputs: tuple[Path, ...]
) -> bool:
    without_raw = {**record["key"], "raw": {}}  # raw data may be gone by now
    if record["key"] != key and (key["raw"] or without_raw != key):
        return False
    for output in outputs:
        known = record["outputs"].get(output.name)
        if known is None or not output.is_file():
            return False
        if provenance.digest_of(output, known) != known["sha256"]:
            return False
    return True
