"""`taamctl init`."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from taamctl.cli import common
from taamctl.cli.console import say
from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.planning.finding import Finding

PACKAGE = "taamctl.datasets"


def command(
    datasets: Annotated[
        list[str], typer.Option("--dataset", help="Data set; repeatable.", show_default=False)
    ],
    folder: Annotated[
        Path, typer.Argument(help="Folder to set up; it may hold data/ already.")
    ] = Path(),
    methods: common.Methods = None,
    seeds: common.Seeds = None,
    overrides: common.Overrides = None,
    data_root: common.DataRoot = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite files that are there.")] = False,
) -> None:
    """Set up a folder for a data set: params.yaml with what `data doctor` suggests, and a DAG
    for `dvc repro`. Prints the files.
    """
    from taamctl.pipeline import project

    if folder.exists() and not folder.is_dir():
        raise TaamctlError(f"{folder} is a file", "name a folder")
    root = None if data_root is None else data_root.absolute()
    _refuse_elsewhere(folder, datasets)
    with contextlib.ExitStack() as stack:
        place = (
            folder
            if folder.is_dir()
            else Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="taamctl-")))
        )
        stack.enter_context(contextlib.chdir(place))
        files = plan(datasets, methods, seeds, overrides, root)
    for path in project.write(folder, files, overwrite=force):
        typer.echo(str(path))
    where = "" if folder.resolve() == Path.cwd() else f"cd {folder} && "
    say(f"next: {where}dvc repro")


def plan(
    datasets: list[str],
    methods: list[str] | None,
    seeds: list[int] | None,
    overrides: list[str] | None,
    data_root: Path | None,
) -> dict[str, str]:
    """Return the files for the working folder, after a look at every data set that is there; say
    what is changed and why.

    Raises:
        TaamctlError: a run of them would stop.
    """
    from taamctl.doctor import examine
    from taamctl.params.params_file import PACKAGED
    from taamctl.pipeline import project

    context = common.make_context(
        params=PACKAGED,
        overrides=overrides,
        outputs=common.OUTPUTS,
        data_root=data_root,
        force=False,
        no_wait=False,
        quiet=False,
        datasets=datasets,
        methods=methods,
        seeds=seeds,
        check_methods=True,
    )
    tree = {**context.params.tree, "datasets": {**context.params.tree["datasets"]}}
    for name in context.params.section(RunParams).datasets:
        tree["datasets"].setdefault(name, {})
    chosen = {o.partition("=")[0].strip() for o in overrides or ()}
    changes: dict[str, str] = {}
    for name in context.params.section(RunParams).datasets:
        try:
            report = examine.examine(context, name)
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
    return project.texts(tree, list(changes.values()))


def _tell(name: str, findings: list[Finding], chosen: set[str]) -> None:
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
                f"put it there: mkdir -p {folder / file.parent} && cp {file} {folder / file}",
            )
