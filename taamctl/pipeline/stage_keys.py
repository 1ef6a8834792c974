"""What the results of every stage depend on beside parameters and other stages: code, libraries,
raw data. `taamctl keys` writes it, and dvc.yaml takes it for parameters: so `dvc repro` reruns what
`taamctl run` would make again, and nothing else.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from taamctl.core import subnormals
from taamctl.core.data_set import data_set
from taamctl.core.plain_values import Plain
from taamctl.learning.contract import device as devices
from taamctl.params.params_file import PACKAGED
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.run_params import RunParams
from taamctl.params.train_params import TrainParams
from taamctl.report import collect, stream_section
from taamctl.runtime import provenance
from taamctl.runtime.artefact_key import NOTHING, source_key
from taamctl.runtime.job import Context, Job
from taamctl.runtime.raw_files import raw_files
from taamctl.runtime.stage_table import TABLE
from taamctl.store import atomic_files

FILE = ".keys.json"  # hidden: it is no artefact
FLUSHING = (
    "split",
    "precompute",
    "train",
    "infer",
    "lens",
)  # subnormal numbers count as zero in them
DIGITS = 16  # of a digest: a person compares it


def write(context: Context) -> Path:
    """Write the keys of all that the `run` section names, and return the file's path."""
    path = context.layout.root / FILE
    atomic_files.write_json(path, keys(context))
    return path


def keys(context: Context) -> dict[str, Plain]:
    """Return stage -> key, or stage -> data set or method -> key where a stage runs plug-ins."""
    run = context.params.section(RunParams)
    names = {"datasets": run.datasets, "methods": run.methods}
    found: dict[str, Plain] = {}
    for stage, row in TABLE.items():
        kind = row.plugin
        if kind:
            found[stage] = {name: _summary(context, stage, name) for name in names[kind]}
        else:
            found[stage] = _summary(context, stage)
    # Of a report: the tables of `reproduce`, replays in time, and the packaged parameters, which
    # rows differ from.
    layout = context.layout
    read = [*collect.verdict_files(layout), *stream_section.files(layout)]
    beside = {layout.name(path): provenance.sha256(path) for path in read}
    found["report"]["beside"] = _digest({**beside, PACKAGED.name: provenance.sha256(PACKAGED)})
    return found


def _summary(context: Context, stage: str, plugin: str = "") -> dict[str, str]:
    """Return a stage's key, short enough to be read."""
    raw: tuple[Path, ...] = ()
    record = NOTHING
    if stage == "split":
        raw = raw_files(context.data_root, data_set(plugin))
        record = provenance.recorded(context.layout.file(stage, plugin)) or NOTHING
    unused: tuple[str, ...] = ()
    if stage == "precompute":
        unused = context.params.section(PrecomputeParams).unused_libraries
    outputs = (context.layout.root / stage,)  # of a job that is only asked for its code
    flushes = stage in FLUSHING
    job = Job(stage, plugin, None, (), outputs, plugin, raw=raw, flushes=flushes, unused=unused)
    key = source_key(job, record)
    libraries = ", ".join(f"{name} {version}" for name, version in key["libraries"].items())
    found = {"code": _digest(key["code"]), "libraries": libraries}
    if raw:
        found["raw"] = _digest(key["raw"])
    if flushes:
        found["subnormals"] = subnormals.RULE
    if stage == "train":
        found["device"] = _device(context)
    return found


def _device(context: Context) -> str:
    """Return the device that training would use; `auto` is asked for where there may be a GPU."""
    wanted = context.params.section(TrainParams).device
    if wanted != "auto":
        return wanted
    return devices.kind(wanted)


def _digest(value: Plain) -> str:
    text = json.dumps(value, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:DIGITS]
