"""`taamctl verify`."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument

from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import AsJson
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.pipeline.check_files import FileState

USUAL = (Path("outputs"), Path("data"))


def command(
    paths: Annotated[
        list[Path] | None,
        Argument(
            metavar="[PATH]...",
            help="Outputs folders, data folders, banks, single files. Default: outputs and data.",
            show_default=False,
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Read every file whole and say which are not as they were written, and what makes them again.

    Exit code 1: one is missing, damaged or of another place. Whether files are up to date is said
    by `taamctl status`.
    """
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
