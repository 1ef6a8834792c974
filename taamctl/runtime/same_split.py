"""What was trained is tested on the split that it was trained on, and on no other: of another one,
some of the nodes asked are nodes that it has learned.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.runtime import provenance
from taamctl.runtime.job import Context, Job
from taamctl.runtime.stage_table import ROWS

UPSTREAM = ("split", "datasets", "precompute")  # of the sections: those before training
# They decide what is kept beside the features, or how equal numbers are summed.
HARMLESS = ("precompute.backend", "precompute.store_x", "precompute.store_edges")
Change = tuple[str, Plain, Plain]  # parameter, as recorded, as asked for now


def require(context: Context, job: Job) -> None:
    """Refuse to test what was made of another split, of other data or of other features than those
    that are asked for.

    Args:
        job: one of any stage; only those that read a training are looked at.

    Raises:
        TaamctlError: an input is of another split; the hint says what makes it again, and how to
            ask of what is there.
    """
    if "train" not in ROWS[job.stage].reads:
        return
    again = _again(job)
    for path, _ in job.inputs:
        asked = (provenance.recorded(path) or {}).get("asked", {})
        what = [c for c in changes(context, asked) if _matters(c[0])]
        if what:
            raise TaamctlError(
                f"{path} was made with {words(what)}: nodes that were trained on may be among "
                f"those that {job.stage} asks about",
                f"make all of it again with: {again}{_sets((n, now) for n, _, now in what)}; or "
                f"ask of what is there with:{_sets((n, old) for n, old, _ in what)}",
            )
    _require_one_split(context, job, again)


def origin(context: Context, job: Job) -> dict[str, Plain]:
    """Return the split behind an artefact, as name -> sha256; nothing where it is not known."""
    found: dict[str, Plain] = {}
    for path, _ in job.inputs:
        found |= _origin_of(context, path)
    return found


def changes(context: Context, recorded: dict[str, Plain]) -> list[Change]:
    """Return the recorded parameters that are others now."""
    found: list[Change] = []
    for section, old in recorded.items():
        now = context.asked(section)
        if isinstance(now, dict) and isinstance(old, dict):
            changed = [key for key in old if key in now and now[key] != old[key]]
            found += [(f"{section}.{key}", old[key], now[key]) for key in changed]
    return found


def words(what: list[Change]) -> str:
    """Return changed parameters as a message names them."""
    return ", ".join(f"{name} {old} (now {now})" for name, old, now in what)


def _require_one_split(context: Context, job: Job, again: str) -> None:
    """Refuse inputs of two splits: of the same parameters they are of other data or other code."""
    first: dict[str, tuple[Plain, Path]] = {}
    for path, _ in job.inputs:
        for name, digest in _origin_of(context, path).items():
            known, other = first.setdefault(name, (digest, path))
            if known != digest:
                raise TaamctlError(
                    f"{path} and {other} are of two splits: nodes that were trained on may be "
                    f"among those that {job.stage} asks about",
                    f"make all of it again with: {again}",
                )


def _origin_of(context: Context, path: Path) -> dict[str, Plain]:
    record = provenance.recorded(path) or {}
    if record.get("stage") == "split":
        return {context.layout.name(path): record["outputs"][path.name]["sha256"]}
    return dict(record.get("origin", {}))


def _matters(name: str) -> bool:
    return name.partition(".")[0] in UPSTREAM and name not in HARMLESS


def _again(job: Job) -> str:
    """Return the command that makes what is upstream of a job and is not right."""
    made_by = job.inputs[ROWS[job.stage].reads.index("train")][1]
    return made_by.replace("taamctl train ", "taamctl run ", 1)


def _sets(values: Iterator[tuple[str, Plain]]) -> str:
    texts = ((n, v if isinstance(v, str) else json.dumps(v)) for n, v in values)
    return "".join(f" --set {shlex.quote(f'{name}={text}')}" for name, text in texts)
