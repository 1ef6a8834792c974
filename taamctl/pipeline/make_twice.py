"""Make a stage once more, beside what it made before, and compare the bytes: is what is promised of
bit-stability true here?
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.pipeline import status, walk
from taamctl.runtime import provenance
from taamctl.runtime.artefact_key import altered, is_key, key_of, reasons
from taamctl.runtime.job import Context, Job
from taamctl.runtime.layout import Layout
from taamctl.runtime.stage_table import STAGES
from taamctl.store import leftovers
from taamctl.store.artefacts import Artefact

TWICE = tuple(stage for stage in STAGES if stage != "report")  # that only puts others together


@dataclass(frozen=True)
class Twin:
    """One file that was made twice.

    Attributes:
        path: where the first lies.
        equal: it has the same bytes as the second.
        differences: where and by how much they differ.
    """

    path: str
    equal: bool
    differences: list[str]


def twins(context: Context, stage: str) -> list[Twin]:
    """Make every artefact of a stage once more that the `run` section names; return how each of
    its files compares with the one that lies there, which is left as it is.

    Raises:
        TaamctlError: the stage makes nothing of that kind, or what lies there is missing, or is
            not what would be made now.
    """
    if stage not in TWICE:
        raise TaamctlError(
            f"--twice {stage[:60]}: no stage that can be made twice",
            f"choose one of {', '.join(TWICE)}",
        )
    jobs = _jobs(context, stage)
    for job in jobs:
        _require_current(context, job)
    with leftovers.scratch(context.layout.root, ".twice-") as folder:
        others = tuple(name for name in STAGES if name != stage)
        beside = Layout(folder, base=context.layout, borrowed=others)
        walk.one_stage(replace(context, layout=beside, force=True, made={}), stage)
        return [
            _compared(path, folder / context.layout.name(path))
            for job in jobs
            for path in job.outputs
        ]


def _jobs(context: Context, stage: str) -> list[Job]:
    return [job for name, *_, job in status.jobs(context) if name == stage]


def _require_current(context: Context, job: Job) -> None:
    """Refuse what was made with other parameters, inputs, code or libraries: it would differ for
    that reason.
    """
    main = job.outputs[0]
    again = f"taamctl {job.stage}, with the same options, makes it"
    record = provenance.recorded(main)
    if record is None:
        raise TaamctlError(f"{main} is not there, or nothing says how it was made", again)
    key = key_of(context, job)
    if not is_key(record, key):
        why = "; ".join(reasons(record, key))
        raise TaamctlError(f"{main} is not what would be made now: {why}", again)
    wrong = altered(record, job.outputs)
    if wrong:
        raise TaamctlError(f"{main.parent}: {'; '.join(wrong)}", again)


def _compared(first: Path, second: Path) -> Twin:
    if provenance.sha256(first) == provenance.sha256(second):
        return Twin(str(first), True, [])
    if first.suffix == ".h5":
        return Twin(str(first), False, list(_differences(first, second)))
    return Twin(str(first), False, [_first_line(first, second)])


def _differences(first: Path, second: Path) -> Iterator[str]:
    """Say in which arrays and attributes two artefacts differ, and by how much."""
    with Artefact(first) as one, Artefact(second) as two:
        told = False
        for name in sorted({*one.attributes(), *two.attributes()}):
            if one.attributes().get(name) != two.attributes().get(name):
                told = True
                yield f"attribute {name}"
        for path in sorted({*one.paths(), *two.paths()}):
            if not (one.has(path) and two.has(path)):
                told = True
                yield f"{path} is in one of them only"
            elif said := _by_how_much(one.read(path), two.read(path)):
                told = True
                yield f"{path}: {said}"
        if not told:
            yield "the same arrays and attributes, laid out otherwise in the file"


def _by_how_much(one: Array, two: Array) -> str:
    """Say how two arrays differ; nothing where every bit is the same."""
    if (one.dtype, one.shape) != (two.dtype, two.shape):
        return f"{one.dtype} {list(one.shape)} and {two.dtype} {list(two.shape)}"
    if one.tobytes() == two.tobytes():
        return ""
    other = one != two
    if one.dtype.kind != "f":
        return f"{int(other.sum())} of {one.size} values differ"
    other &= ~(np.isnan(one) & np.isnan(two))
    apart = np.abs(one[other].astype(np.float64) - two[other]).max(initial=0.0)
    size = np.abs(one[np.isfinite(one)]).max(initial=0.0)
    return f"{int(other.sum())} of {one.size} values differ, by at most {apart:.1e} of {size:.1e}"


def _first_line(first: Path, second: Path) -> str:
    one, two = (path.read_bytes().splitlines() for path in (first, second))
    for number, (left, right) in enumerate(zip(one, two, strict=False), 1):
        if left != right:
            return f"line {number} is another"
    return f"{len(one)} lines and {len(two)} lines"
