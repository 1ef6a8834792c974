"""What a stage is asked for: the settings that all stages of a command share, one artefact to make,
and what became of it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from taamctl.core.plain_values import Plain
from taamctl.core.progress import SILENT, Progress
from taamctl.params.sections import Params
from taamctl.runtime.layout import Layout
from taamctl.runtime.stage_table import ROWS
from taamctl.store import atomic_files


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
        for_workers: bytes of what was allowed that are left to workers, and no part of it.
        admit: called with the context and a job that is about to be made; may refuse it.
        began: when the command began, in seconds since 1970: code edited since is not what runs.
        made: file -> sha256 of what this command has made or reused so far.
    """

    params: Params
    layout: Layout
    data_root: Path | None = None
    force: bool = False
    wait: bool = True
    progress: Progress = SILENT
    tell: Callable[[str], None] = field(default=lambda line: None)
    max_memory: int | None = None
    for_workers: int = 0
    admit: Callable[[Context, Job], None] = field(default=lambda context, job: None)
    began: float = field(default_factory=time.time)
    made: dict[Path, str] = field(default_factory=dict)

    def asked(self, section: str) -> Plain:
        """Return a section of the parameters as plain values, such as `split` or `methods.taam`."""
        return atomic_files.strict(self.params.plain(section))


@dataclass(frozen=True)
class Job:
    """One artefact to make.

    Attributes:
        stage: the stage's name, a row of the stage table.
        label: what it is about, for messages (`photo/taam/seed-1`).
        params: everything its bytes depend on beside the inputs.
        inputs: files it reads; each with the command that makes it.
        outputs: files it writes; the first carries the lock and the sidecar.
        plugin: the data set or method whose code it runs.
        asked: the sections of the parameter file that it was made from, as asked for
            (`as_released`, `auto` unresolved).
        raw: raw data files behind it; they may be gone by the time the artefact is reused.
        flushes: its numbers are computed with subnormal ones flushed to zero.
        unused: libraries that its code could use and, with these parameters, does not.
    """

    stage: str
    label: str
    params: object
    inputs: tuple[tuple[Path, str], ...]
    outputs: tuple[Path, ...]
    plugin: str = ""
    asked: dict[str, Plain] = field(default_factory=dict)
    raw: tuple[Path, ...] = ()
    flushes: bool = False
    unused: tuple[str, ...] = ()

    @property
    def plugins(self) -> tuple[tuple[str, str], ...]:
        """Return (package, name) of the plug-in, where there is one."""
        kind = ROWS[self.stage].plugin
        return ((f"taamctl.{kind}", self.plugin),) if kind else ()


@dataclass(frozen=True)
class Outcome:
    """What became of a job: where its main artefact is, whether it was reused, and its recorded
    cost.
    """

    path: Path
    reused: bool
    record: dict[str, Plain]
