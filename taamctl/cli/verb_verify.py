"""`taamctl verify`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import AsJson, Grid, RawSettings, Writing
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.pipeline.check_files import FileState

USUAL = (Path("outputs"), Path("data"))


def command(
    *,
    paths: Annotated[
        list[Path] | None,
        Argument(
            metavar="[PATH]...",
            help="Outputs folders, data folders, banks, single files. Default: outputs and data.",
            show_default=False,
        ),
    ] = None,
    twice: Annotated[
        str | None,
        Option(
            "--twice",
            metavar="split|precompute|train|infer|eval",
            help="Make what this stage made once more, beside it, and compare the bytes; the data "
            "sets, methods, seeds and parameters are chosen as for the stage.",
        ),
    ] = None,
    grid: Grid,
    settings: RawSettings,
    as_json: AsJson = False,
) -> None:
    """Read every file whole and say which are not as they were written, and what makes them again.

    Exit code 1: one is missing, damaged, of another place, or differs from its twin. Whether files
    are up to date is said by `taamctl status`.
    """
    if twice is not None:
        _show_twins(twice, paths, grid, settings, as_json=as_json)
        return
    found = [state for path in paths or _usual() for state in _states(path)]
    bad = [state for state in found if not state.good]
    if as_json:
        print(json.dumps([asdict(state) for state in found], indent=1))
    elif bad:
        print_table(
            [Column("file"), Column("state"), Column("made again by", wrap=True)],
            [(state.path, state.state, state.mend) for state in bad],
        )
    if bad:
        say(f"{len(bad)} of {len(found)} files are not right")
        raise typer.Exit(1)
    say(f"all {len(found)} files are right")


def _show_twins(
    stage: str, paths: list[Path] | None, grid: Grid, settings: RawSettings, *, as_json: bool
) -> None:
    from taamctl.pipeline import make_twice

    if paths:
        raise TaamctlError(
            f"--twice {stage[:60]} takes no path, {str(paths[0])[:60]} was given",
            "name the folder of the artefacts with --outputs",
        )
    context = make_context(grid, settings, Writing(quiet=True), check_methods=True)
    found = make_twice.twins(context, stage)
    if as_json:
        print(json.dumps([asdict(twin) for twin in found], indent=1))
    else:
        said = [(twin.path, "; ".join(twin.differences) or "equal, byte by byte") for twin in found]
        print_table([Column("file"), Column("made twice", wrap=True)], said)
    if not all(twin.equal for twin in found):
        say(f"{sum(not twin.equal for twin in found)} of {len(found)} files differ")
        raise typer.Exit(1)
    say(f"all {len(found)} files are equal, byte by byte")


def _usual() -> list[Path]:
    there = [path for path in USUAL if path.is_dir()]
    if not there:
        raise TaamctlError("no outputs and no data in this folder", "name what is to be read")
    return there


def _states(path: Path) -> Iterator[FileState]:
    from taamctl.bank.verify import verify
    from taamctl.pipeline import check_files

    if (path / "manifest.json").is_file():
        for finding in verify(path):
            state = check_files.FileState(f"{path}: {finding.what}", "ok")
            if not finding.good:
                state = check_files.FileState(state.path, "damaged", f"taamctl bank verify {path}")
            yield state
    elif path.is_dir():
        yield from check_files.below(path)
    elif path.is_file():
        yield check_files.one(path)
    else:
        raise TaamctlError(f"no file or folder {path}", "name what is to be read")
