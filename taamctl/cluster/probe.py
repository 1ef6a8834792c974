"""What a worker must have in common with the process that sends it work: else its bytes would be
others.
"""

from __future__ import annotations

import hashlib
import json
import os
import platform
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from importlib import metadata
from pathlib import Path
from typing import Any

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.runtime import provenance, reached_code
from taamctl.runtime.artefact_key import NOTHING, source_key
from taamctl.runtime.job import Context, Job
from taamctl.runtime.stage_table import TABLE

LIBRARIES = (
    "taamctl",
    "torch",
    "numpy",
    "scipy",
    "scikit-learn",
    "h5py",
    "dgl",
)  # that can change a number where units run
AGAIN = (
    "install the same taamctl and the same methods on the workers as here, and start the "
    "workers again"
)
UNITS = (
    "taamctl.cluster.work_unit",
    "taamctl.cluster.column_unit",
    "taamctl.cluster.stage_units",
    "taamctl.cluster.run_units",
    "taamctl.pipeline.walk",
    "taamctl.pipeline.lens_walk",
)
SHOWN = 5  # workers named in one message
OUTPUTS = "the folder of --outputs has to be on a disk that all workers share, under the same path"
RAW = "raw data and graphs of one's own have to be on every worker, under the same path as here"


@dataclass(frozen=True)
class Expected:
    """What the process that sends the work has.

    Attributes:
        versions: (library, version).
        stage: the stage whose code runs. plugins: its plug-in. digest: of that code and the units'.
        file: the input, as an absolute path; empty where there is none. sha256, size (bytes),
            mtime_ns: its own.
        device: `cpu` or `cuda`.
        shared: what to do where a worker does not see that file.
        folder: the working folder, as an absolute path: graphs of one's own are found there.
    """

    versions: tuple[tuple[str, str], ...]
    stage: str
    plugins: tuple[tuple[str, str], ...]
    digest: str
    file: str
    sha256: str
    size: int
    mtime_ns: int
    device: str
    shared: str
    folder: str


def expect(
    job: Job, file: Path | None, sha256: str, device: str, shared: str = OUTPUTS
) -> Expected:
    """Return what this process has.

    Args:
        job: whose units are sent.
        file: the input, or None. sha256: its digest, which is known already.
        shared: what to do where a worker does not see the input.
    """
    path, size, mtime_ns = "", 0, 0
    if file is not None:
        now = file.stat()
        path, size, mtime_ns = str(file.absolute()), now.st_size, now.st_mtime_ns
    return Expected(
        versions(),
        job.stage,
        job.plugins,
        code_digest(job.stage, job.plugins),
        path,
        sha256,
        size,
        mtime_ns,
        device,
        shared,
        str(Path.cwd()),
    )


def expect_raw(job: Job, split: Job) -> tuple[Expected, ...]:
    """Return what this process has of the raw files behind a split.

    Args:
        job: whose units read them. split: the job of the split.
    """
    if not split.raw:
        return ()
    record = provenance.recorded(split.outputs[0]) or NOTHING
    known = source_key(split, record)["raw"]
    return tuple(expect(job, path, known[path.name], "cpu", RAW) for path in split.raw)


def code_digest(stage: str, plugins: tuple[tuple[str, str], ...]) -> str:
    """Return a digest of the code that units of a stage can reach, that of the units included.

    Raises:
        TaamctlError: the package of a plug-in is not there.
    """
    code = reached_code.reached((TABLE[stage].module, *UNITS), plugins).code
    return hashlib.sha256(json.dumps(code, sort_keys=True).encode()).hexdigest()


@cache
def versions() -> tuple[tuple[str, str], ...]:
    """Return the versions of Python and of the libraries that can change a number, without
    importing them.
    """
    found = [("python", platform.python_version())]
    for name in LIBRARIES:
        try:
            found.append((name, metadata.version(name)))
        except metadata.PackageNotFoundError:
            found.append((name, "absent"))
    return tuple(found)


def faults(wanted: Iterable[Expected]) -> list[tuple[str, str]]:
    """Return (what is other here than expected, what to do), one for each difference; runs on a
    worker.
    """
    found: dict[str, str] = {}
    for expected in wanted:
        for fault, hint in (
            *_version_faults(expected),
            *_file_faults(expected),  # before the code: a graph of one's own is its own plug-in
            *_code_faults(expected),
            *_device_faults(expected),
        ):
            found[fault] = hint
    return list(found.items())


def _version_faults(expected: Expected) -> list[tuple[str, str]]:
    here = dict(versions())
    other = [
        f"{name} {here[name]} instead of {version}"
        for name, version in expected.versions
        if here[name] != version
    ]
    return (
        [(f"has {', '.join(other)}", "install the same versions on the workers as here")]
        if other
        else []
    )


def _code_faults(expected: Expected) -> list[tuple[str, str]]:
    try:
        with registry.working_in(Path(expected.folder)):
            same = code_digest(expected.stage, expected.plugins) == expected.digest
    except (TaamctlError, OSError) as error:  # the package of a method is not there
        return [(f"lacks what is to run ({error})", AGAIN)]
    names = [expected.stage, *(name for _, name in expected.plugins)]
    return [] if same else [(f"runs other code of {', '.join(names)}", AGAIN)]


def _file_faults(expected: Expected) -> list[tuple[str, str]]:
    if not expected.file:
        return []
    path = Path(expected.file)
    try:
        now = path.stat()
        right = (now.st_size, now.st_mtime_ns) == (
            expected.size,
            expected.mtime_ns,
        )  # then it is trusted, as everywhere
        right = right or _digest(expected.file, now.st_size, now.st_mtime_ns) == expected.sha256
    except OSError as error:
        return [(f"cannot read {path} ({error.strerror})", expected.shared)]
    return [] if right else [(f"sees another {path} than this process", expected.shared)]


@lru_cache(maxsize=16)
def _digest(path: str, size: int, mtime_ns: int) -> str:
    return provenance.sha256(Path(path))


def _device_faults(expected: Expected) -> list[tuple[str, str]]:
    if expected.device == "cpu":
        return []
    from taamctl.learning.contract import device as devices

    try:
        devices.resolve(expected.device)
    except TaamctlError as error:
        return [
            (
                f"cannot train: {error.message}",
                "start the workers where there is such a device, or set train.device to cpu",
            )
        ]
    return []


def require_here(expected: Expected) -> None:
    """Refuse to work in this process where it differs: a worker may have joined, or the file may
    have changed, after the first look.
    """
    if found := faults([expected]):
        raise TaamctlError(
            f"the worker on {platform.node()} (process {os.getpid()}) {found[0][0]}", found[0][1]
        )


def require_everywhere(client: Any, wanted: Iterable[Expected]) -> int:
    """Look at every worker of a cluster, and return how many there are.

    Raises:
        TaamctlError: one differs; all that differ are named.
    """
    looked = client.run(faults, tuple(wanted), on_error="return")
    wrong = [(where, found) for where, found in sorted(looked.items()) if found]
    if not wrong:
        return len(looked)
    told, hints = [], []
    for where, found in wrong:
        fault, hint = (
            found[0]
            if isinstance(found, list)
            else (f"cannot run this taamctl ({type(found).__name__}: {found})", AGAIN)
        )
        told.append(f"{where} {fault}")
        hints.append(hint)
    more = f" (and {len(told) - SHOWN} more workers)" if len(told) > SHOWN else ""
    raise TaamctlError(
        f"{len(told)} of {len(looked)} workers cannot take part: {'; '.join(told[:SHOWN])}{more}",
        hints[0],
    )


def tell_of_processors(client: Any, context: Context) -> None:
    """Say which workers have other vector instructions than this process: they decide last bits,
    not results.
    """
    found: dict[str, list[str]] = {}
    for where, kind in sorted(client.run(processor).items()):
        found.setdefault(kind, []).append(where)
    other = [
        f"{kind} on {', '.join(where)}" for kind, where in found.items() if kind != processor()
    ]
    if other:
        context.tell(
            f"note: workers compute with {'; '.join(other)}, this process with {processor()}: last "
            "bits may be others than here"
        )


def processor() -> str:
    """Return the vector instructions that torch uses in this process, such as `AVX2`."""
    import torch

    return str(torch.backends.cpu.get_cpu_capability())
