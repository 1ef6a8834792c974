"""The key of an artefact: everything that its bytes depend on. Where the recorded key and the
present one are equal, the artefact is right as it lies; where they differ, the difference is why it
is made again.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from taamctl.core import subnormals
from taamctl.core.plain_values import Plain, canonical
from taamctl.runtime import provenance, reached_code, source_text
from taamctl.runtime.job import Context, Job
from taamctl.runtime.stage_table import ROWS
from taamctl.store import atomic_files

Key = dict[str, Plain]
Record = Mapping[str, Plain]  # what a sidecar holds
NOTHING: Record = {}
ABSENT = "(not there)"
SHOWN = 3  # modules named in one reason


def key_of(context: Context, job: Job) -> Key:
    """Return the key of what `job` would make now: parameters, checksums of inputs and raw data,
    code, library versions, and the rule for subnormal numbers.
    """
    record = provenance.recorded(job.outputs[0]) or NOTHING
    inputs = {}
    for path, _ in job.inputs:
        known = (provenance.recorded(path) or NOTHING).get("outputs", {}).get(path.name)
        inputs[context.layout.name(path)] = provenance.artefact_digest(path, known)
    return {
        "params": atomic_files.strict(canonical(job.params)),
        "inputs": inputs,
        **source_key(job, record),
    }


def source_key(job: Job, record: Record = NOTHING) -> Key:
    """Return the part of a key that no other stage decides: code, libraries, raw data, and the rule
    for subnormal numbers. Of the parameters only `precompute.backend` matters.

    Args:
        record: of the artefact that is there; it saves reading what has not changed.
    """
    stamps = record.get("raw", {})
    raw = {}
    for path in job.raw:
        raw[path.name] = provenance.digest_of(path, provenance.stamp_of(stamps, path))
    code, libraries = _code(job, record)
    used = [name for name in libraries if name not in job.unused]
    return {
        "raw": raw,
        "code": code,
        "libraries": reached_code.versions(used),
        **({"subnormals": subnormals.RULE} if job.flushes else {}),
    }


def _code(job: Job, record: Record) -> tuple[Plain, Iterable[str]]:
    """Return the digests of the code and the libraries that it uses: as recorded, where no file
    has changed since, else found anew.
    """
    sources = record.get("sources", {})
    if reached_code.unchanged(sources.get("files", {})):
        return record["key"]["code"], sources["libraries"]
    reached = code_of(job)
    return reached.code, reached.libraries


def code_of(job: Job) -> reached_code.Reached:
    """Return the code that the bytes of a job depend on."""
    return reached_code.reached((ROWS[job.stage].module,), job.plugins)


def is_same_code(job: Job, code: reached_code.Reached) -> bool:
    """Tell whether the files on the disk hold, now, the code that was found earlier."""
    source_text.read.cache_clear()
    reached_code.reached.cache_clear()
    return code_of(job).code == code.code


def is_key(record: Record, key: Key) -> bool:
    """Tell whether an artefact was recorded with this key; raw data may be gone by now."""
    recorded = record["key"]
    return bool(recorded == key or (not key["raw"] and {**recorded, "raw": {}} == key))


def reasons(record: Record, key: Key) -> list[str]:
    """Say in what a recorded key differs from the present one, each as old -> new."""
    old = record["key"]
    found = list(_changes("", old.get("params"), key["params"]))
    found += [f"{name} is another file" for name in _differing(old.get("inputs"), key["inputs"])]
    found += [f"raw file {name} is another" for name in _differing(old.get("raw"), key["raw"])]
    found += _code_changes(old.get("code"), key["code"])
    found += _changes("", old.get("libraries", {}), key["libraries"])
    if old.get("subnormals") != key.get("subnormals"):
        found.append(f"subnormal numbers {old.get('subnormals')} -> {key.get('subnormals')}")
    return found or ["its key is another"]


def _differing(old: Plain, new: Mapping[str, str]) -> list[str]:
    """Return the names whose values differ, or that stand on one side only, sorted."""
    before = old if isinstance(old, Mapping) else {}
    return [name for name in sorted({*before, *new}) if before.get(name) != new.get(name)]


def _changes(where: str, old: Plain, new: Plain) -> Iterator[str]:
    """Yield `name old -> new` for every value that differs."""
    if isinstance(old, Mapping) and isinstance(new, Mapping):
        for name in [*new, *(name for name in old if name not in new)]:
            inner = f"{where}.{name}" if where else str(name)
            yield from _changes(inner, old.get(name, ABSENT), new.get(name, ABSENT))
    elif old != new:
        yield f"{where} {old} -> {new}"


def _code_changes(old: Plain, new: Mapping[str, str]) -> list[str]:
    if not isinstance(old, Mapping):
        return ["code: made by a version that recorded it otherwise"]
    changed = _differing(old, new)
    if not changed:
        return []
    more = f" and {len(changed) - SHOWN} more" if len(changed) > SHOWN else ""
    return [f"code of {', '.join(changed[:SHOWN])}{more}"]


def altered(record: Record, outputs: tuple[Path, ...]) -> list[str]:
    """Name the outputs that are not there, or not as they were recorded."""
    found = []
    for output in outputs:
        known = record["outputs"].get(output.name)
        if known is None or not output.is_file():
            found.append(f"{output.name} is missing")
        elif provenance.artefact_digest(output, known) != known["sha256"]:
            found.append(f"{output.name} is not as it was written")
    return found
