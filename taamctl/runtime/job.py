"""Run one stage once: take the lock, reuse what is already right, else compute, then record how it was made."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import SILENT, Progress
from taamctl.runtime import artefacts, provenance
from taamctl.runtime.layout import Layout
from taamctl.runtime.lock import writing
from taamctl.runtime.params import Params, canonical


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
    """

    params: Params
    layout: Layout
    data_root: Path | None = None
    force: bool = False
    wait: bool = True
    progress: Progress = SILENT
    tell: Callable[[str], None] = field(default=lambda line: None)


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
    """

    stage: str
    label: str
    params: Any
    inputs: tuple[tuple[Path, str], ...]
    outputs: tuple[Path, ...]
    code: tuple[str, ...]


@dataclass(frozen=True)
class Outcome:
    """What became of a job: where its main artefact is, whether it was reused, and its recorded cost."""

    path: Path
    reused: bool
    record: dict[str, Any]


def execute(context: Context, job: Job, compute: Callable[[], dict[str, Any] | None]) -> Outcome:
    """Make the outputs of `job`, or reuse them.

    An output is reused when its sidecar records the same parameters, the same input checksums and the same source code, and
    the output itself is still the file that was recorded.

    Args:
        compute: writes all outputs atomically; may return extra facts for the sidecar.
    """
    for path, made_by in job.inputs:
        if not path.is_file():
            raise TaamctlError(f"{job.stage} needs {path}, which is not there", f"make it with: {made_by}")
    main = job.outputs[0]
    if not os.access(main.parent, os.W_OK) and (kept := _reusable(context, job, key_of(job))) is not None:
        return kept  # a folder that cannot be written is still good for reading
    with writing(main, wait=context.wait, tell=context.tell):
        for output in job.outputs:
            artefacts.sweep(output)
        key = key_of(job)
        if (kept := _reusable(context, job, key)) is not None:
            return kept
        clock = provenance.Clock()
        facts = compute() or {}
        record: dict[str, Any] = {"stage": job.stage, "label": job.label, "key": key,
                  "outputs": {output.name: provenance.stamp(output) for output in job.outputs},
                  "cost": clock.read(), "versions": provenance.versions(), "machine": provenance.machine(), "facts": facts}
        artefacts.write_json(provenance.sidecar_of(main), record)
        cost = record["cost"]
        context.tell(f"{job.stage} {job.label}: wrote {main} in {cost['wall_s']:.1f} s "
                     f"({cost['cpu_s']:.1f} s of CPU, peak {cost['peak_memory_mib']:.0f} MiB)")
        return Outcome(main, False, record)


def _reusable(context: Context, job: Job, key: dict[str, Any]) -> Outcome | None:
    main = job.outputs[0]
    record = _recorded(main)
    if context.force or record is None or not _still_right(record, key, job.outputs):
        return None
    context.tell(f"{job.stage} {job.label}: reused {main} (parameters, inputs and code match)")
    return Outcome(main, True, record)


def key_of(job: Job) -> dict[str, Any]:
    """Return what an artefact is tied to: parameters, input checksums, source code."""
    inputs = {}
    for path, _ in job.inputs:
        record = _recorded(path)
        known = (record or {}).get("outputs", {}).get(path.name)
        inputs[f"{path.parent.name}/{path.name}"] = provenance.digest_of(path, known)
    return {"params": artefacts.strict(canonical(job.params)), "inputs": inputs, "code": provenance.code_digest(job.code)}


def _recorded(path: Path) -> dict[str, Any] | None:
    sidecar = provenance.sidecar_of(path)
    try:
        record = artefacts.read_json(sidecar)
    except TaamctlError:
        return None
    return record if isinstance(record, dict) else None


def _still_right(record: dict[str, Any], key: dict[str, Any], outputs: tuple[Path, ...]) -> bool:
    if record.get("key") != key:
        return False
    for output in outputs:
        known = record.get("outputs", {}).get(output.name)
        if known is None or not output.is_file() or provenance.digest_of(output, known) != known["sha256"]:
            return False
    return True
