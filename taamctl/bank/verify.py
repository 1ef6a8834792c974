"""Prove that a bank is what was learned: every file by its checksum, every task by the outputs
it gave when it was learned.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from taamctl.bank import manifest as manifests
from taamctl.bank import router, store, sureness, task_file
from taamctl.bank.config import Config, from_plain
from taamctl.bank.manifest import Manifest
from taamctl.bank.task_file import TaskState
from taamctl.core import subnormals
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.learning.contract import device as devices
from taamctl.runtime import provenance

TOLERANCE = 1e-4  # of the largest output: what another machine's sums may differ by


@dataclass(frozen=True)
class Finding:
    """One thing that was checked: a file or a task's outputs; whether it is right, and what was
    found.
    """

    what: str
    good: bool
    said: str


def verify(folder: Path) -> list[Finding]:
    """Check everything in a bank's folder and return what was found, in the order checked.

    Checksums protect against damage and mix-ups, not against somebody who writes a whole new bank.
    """
    try:
        now = store.current(folder)
    except TaamctlError as error:
        if not (folder / manifests.NAME).is_file():
            raise
        return [Finding(manifests.NAME, False, error.message)]
    found = [Finding(manifests.NAME, True, f"generation {now.generation}: {now.action}")]
    found += _history(folder, now)
    found += _files(folder, now)
    if not all(f.good for f in found if f.what in now.files):
        return found  # outputs of damaged files prove nothing
    return found + _outputs(folder, now)


def _history(folder: Path, now: Manifest) -> list[Finding]:
    """Check the copies of all generations, and that each names the one before it."""
    out: list[Finding] = []
    before = ""
    for generation in range(now.generation + 1):
        path = manifests.copy_of(folder, generation)
        name = path.relative_to(folder).as_posix()
        try:
            copy = manifests.read(path)
        except TaamctlError as error:
            out.append(Finding(name, False, error.message if path.is_file() else "missing"))
            before = ""
            continue
        faults = []
        if copy.generation != generation:
            faults.append(f"it is generation {copy.generation}")
        if before and copy.previous != before:
            faults.append("it does not follow the generation before")
        if generation == now.generation and copy.digest != now.digest:
            faults.append("it is not what manifest.json says")
        if faults:
            out.append(Finding(name, False, "; ".join(faults)))
        before = copy.digest
    return out


def _files(folder: Path, now: Manifest) -> list[Finding]:
    """Check every listed file, files of earlier generations, and that there is no other."""
    out = [_listed(folder, file, now.files) for file in now.files]
    earlier = {
        file: digest for file, digest in store.listed(folder).items() if file not in now.files
    }
    for file, digest in earlier.items():
        if (folder / file).is_file() and provenance.sha256(folder / file) != digest:
            out.append(Finding(file, False, "changed or damaged; only earlier generations need it"))
    for file in store.not_yet_gone(folder, now):
        said = "holds what was forgotten: an interrupted command left it; any change deletes it"
        out.append(Finding(file, False, said))
    for path in store.files(folder):
        name = path.relative_to(folder).as_posix()
        if not (name in now.files or name in earlier or _is_manifest(path, name, now.generation)):
            out.append(Finding(name, False, "no generation lists this file"))
    return out


def _listed(folder: Path, file: str, digests: Mapping[str, str]) -> Finding:
    """Check one file of the present generation."""
    if not (folder / file).is_file():
        return Finding(file, False, "missing")
    found = provenance.sha256(folder / file)
    if found == digests[file]:
        return Finding(file, True, "checksum right")
    others = [name for name, digest in digests.items() if digest == found]
    if others:
        return Finding(file, False, f"it is {others[0]}")
    return Finding(file, False, "changed, cut off or damaged: its checksum is another")


def _is_manifest(path: Path, name: str, generation: int) -> bool:
    """Tell whether a file is the manifest, or the copy of one up to a generation."""
    if name == manifests.NAME:
        return True
    return name.startswith("manifests/") and path.stem.isdigit() and int(path.stem) <= generation


@subnormals.flushed()  # as they were learned
def _outputs(folder: Path, now: Manifest) -> list[Finding]:
    """Recompute every task's reference outputs, and the router."""
    if now.shared is None or not now.tasks:
        return []
    config = from_plain(now.config, str(folder / manifests.NAME))
    devices.pin(torch.device("cpu"), config.train.threads)
    out: list[Finding] = []
    try:
        shared = task_file.read_shared(folder / now.shared[0], config)
        tasks = []
        for entry in now.tasks:
            task = task_file.read_task(folder / entry.file, config.bank.router)
            tasks.append(task)
            if task.classes != entry.classes:
                fault = f"it holds {', '.join(task.classes)}, not {', '.join(entry.classes)}"
                out.append(Finding(entry.file, False, fault))
                continue
            if not config.has_experts:
                continue
            if not task.state:
                said = "no model of its own: it was taken away when nodes were forgotten"
                out.append(Finding(f"task {entry.number}", True, said))
                continue
            expert = task_file.expert(config, shared, task.state, len(task.classes))
            outputs = task_file.reference(expert, shared)
            out.append(_compared(f"task {entry.number}", outputs, task.reference, "outputs"))
        if now.router is not None:
            kept = task_file.read_router(folder / now.router[0], [t.classes for t in tasks])
            again = router.solve(
                [t.sums for t in tasks], [t.classes for t in tasks], config.bank.router
            )
            out.append(_compared("router", again.weight.numpy(), kept.weight.numpy(), "weights"))
            out += _routing(tasks, config, kept, now)
    except TaamctlError as error:
        out.append(Finding("contents", False, error.message))
    return out


def _routing(
    tasks: list[TaskState], config: Config, kept: router.Router, now: Manifest
) -> list[Finding]:
    """Say how sure tasks are told apart; no fault of the bank, so it is never wrong."""
    if len(tasks) < 2:
        return []
    found = sureness.measured(tasks, config, kept)
    numbers = [entry.number for entry in now.tasks]
    metric = config.infer.routed(("amp", "cosine")).metric
    asked = (("ridge", "node"), ("ridge", "graph"), ("prototype", "graph"))
    said = [sureness.warning(found, by, metric, unit, numbers) for by, unit in asked]
    if doubts := [line for line in said if line]:
        return [Finding("routing", True, f"warning: {line}") for line in doubts]
    if any(found.worst(name) is None for name in ("node", "ridge", f"amp/{metric}")):
        return [Finding("routing", True, "not known how sure it is: no validation node was kept")]
    return [Finding("routing", True, "by validation, tasks are told apart safely")]


def _compared(what: str, now: Array, then: Array, noun: str) -> Finding:
    if np.array_equal(now, then):
        return Finding(what, True, f"{noun} equal in every bit to those when it was learned")
    if now.shape != then.shape or not np.isfinite(now).all():
        return Finding(what, False, f"{noun} are {now.shape} or not finite, expected {then.shape}")
    apart = float(np.abs(now - then).max()) / max(float(np.abs(then).max()), 1e-30)
    differ = f"{noun} differ by {apart:.1e} of their size from those when it was learned"
    if apart <= TOLERANCE:
        return Finding(what, True, f"{differ}: equal to rounding (another machine or torch)")
    return Finding(what, False, differ)
