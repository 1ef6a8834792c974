"""`taamctl init`."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Collection
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, Annotated

import typer
from typer import Argument, Option

from taamctl.cli import this_folder
from taamctl.cli.common import make_context
from taamctl.cli.console import say
from taamctl.cli.shared_options import (
    DataRoot,
    Grid,
    Methods,
    Overrides,
    Overwrite,
    RawSettings,
    Seeds,
    Writing,
)
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.planning.finding import Finding
    from taamctl.runtime.job import Context

PACKAGE = "taamctl.datasets"


def command(
    datasets: Annotated[
        list[str], Option("--dataset", help="Data set; repeatable.", show_default=False)
    ],
    folder: Annotated[Path, Argument(help="Folder to set up; it may hold data/ already.")] = Path(),
    methods: Methods = None,
    seeds: Seeds = None,
    overrides: Overrides = None,
    data_root: DataRoot = None,
    force: Overwrite = False,
) -> None:
    """Set up a folder for a data set: params.yaml with what `data doctor` suggests, and a DAG
    for `dvc repro`. Prints the files. With --force, what a params.yaml says there is kept.
    """
    from taamctl.cli.given_params import given
    from taamctl.pipeline import project

    if folder.exists() and not folder.is_dir():
        raise TaamctlError(f"{folder} is a file", "name a folder")
    if data_root is not None:
        data_root = data_root.absolute()
    own = given(folder, overrides or (), again=force)
    _refuse_elsewhere(folder, datasets)
    with contextlib.ExitStack() as stack:
        place = folder
        if not folder.is_dir():
            place = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taamctl-")))
        stack.enter_context(contextlib.chdir(place))
        changed = [*(overrides or ()), *this_folder.usual_of_own(datasets, own.chosen)]
        settings = RawSettings(own.base, changed, data_root=data_root)
        context = make_context(
            Grid(datasets, methods, seeds), settings, Writing(), check_methods=True
        )
        changes = suggested(context, own.chosen)
        tree = dict(context.params.tree)
        used = context.params.section(RunParams).datasets
        tree["datasets"] = {**tree["datasets"], **{n: tree["datasets"].get(n, {}) for n in used}}
        files = project.texts(tree, changes)
    for path in project.write(folder, files, overwrite=force):
        typer.echo(str(path))
    where = f"cd {quote(str(folder))} && " * (folder.resolve() != Path.cwd())
    say(f"next: {where}dvc repro")


def suggested(context: Context, chosen: Collection[str]) -> list[str]:
    """Return `section.key=value` of what the doctor would change, `chosen` keys left as they are;
    say what is changed and why.

    Raises:
        TaamctlError: a run would stop.
    """
    from taamctl.doctor import examine

    changes: dict[str, str] = {}
    for name in context.params.section(RunParams).datasets:
        try:
            report = examine.examine(context, name, priced=False)
        except TaamctlError as error:
            if name in registry.imported(PACKAGE):
                raise
            say(f"note: {name} was not looked at: {error.message}")
            continue
        _tell(name, report["findings"], chosen)
        for change in examine.suggested(report, chosen):
            key = change.partition("=")[0]
            if changes.setdefault(key, change) == change:
                say(f"{name}: set {change}")
    return list(changes.values())


def _tell(name: str, findings: list[Finding], chosen: Collection[str]) -> None:
    """Say what the doctor warns of, and refuse what would stop a run."""
    for finding in findings:
        if finding.level == "stop":
            raise TaamctlError(
                f"{name}: {finding.what}", f"{finding.mend}; --set section.key=value sets it here"
            )
        if finding.level == "warning":
            mend = "" if finding.free_changes(chosen) else f"; {finding.mend}"
            say(f"{name}: {finding.what}{mend}")


def _refuse_elsewhere(folder: Path, datasets: list[str]) -> None:
    """Name a graph that lies in this folder's data/ and not in that of the folder to set up."""
    for name, file in registry.imported(PACKAGE).items():
        if name in datasets and not (folder / file).is_file():
            raise TaamctlError(
                f"{folder / file} is not there, {file} is",
                f"put it there: mkdir -p {quote(str(folder / file.parent))} && "
                f"cp {quote(str(file))} {quote(str(folder / file))}",
            )
