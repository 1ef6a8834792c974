"""Options that the stage verbs share, and what they are turned into."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.cli import console

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

Datasets = Annotated[list[str] | None, typer.Option("--dataset", help="Data set; repeatable. Default: run.datasets of the parameters.")]
Methods = Annotated[list[str] | None, typer.Option("--method", help="Method; repeatable. Default: run.methods.")]
Seeds = Annotated[list[int] | None, typer.Option("--seed", help="Base seed; repeatable. Default: run.seeds.", min=0)]
ParamsFile = Annotated[Path | None, typer.Option("--params", help="Parameter file. Default: ./params.yaml, else the packaged one.")]
Overrides = Annotated[list[str] | None, typer.Option("--set", metavar="KEY=VALUE", help="Override one parameter, such as train.lr=0.01.")]
Outputs = Annotated[Path, typer.Option("--outputs", help="Folder of the artefacts.")]
DataRoot = Annotated[Path | None, typer.Option("--data-root", help="Folder with raw data. Default: TAAMCTL_DATA, else the cache.")]
Force = Annotated[bool, typer.Option("--force", help="Recompute even where nothing changed.")]
NoWait = Annotated[bool, typer.Option("--no-wait", help="Give up where another process writes the same artefact.")]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
OUTPUTS = Path("outputs")


def make_context(*, params: Path | None, overrides: list[str] | None, outputs: Path, data_root: Path | None, force: bool, no_wait: bool,
                 quiet: bool, datasets: list[str] | None = None, methods: list[str] | None = None,
                 seeds: list[int] | None = None, check_methods: bool = False) -> Context:
    """Read and check the parameters before any work, and return what every stage needs.

    Given data sets, methods and seeds replace those of the `run` section. `check_methods` also checks the methods' own sections,
    which imports them.
    """
    from taamctl.core import registry
    from taamctl.runtime import params as parameters
    from taamctl.runtime.fetch import data_root as find_root
    from taamctl.runtime.job import Context
    from taamctl.runtime.layout import Layout

    path, packaged = parameters.locate(params)
    tree = parameters.read(path, overrides or ())
    if packaged and not quiet:
        console.say("no params.yaml here: using the packaged default (--params FILE to choose another)")
    stored = tree.get("run")
    run: dict[str, Any] = dict(stored) if isinstance(stored, dict) else {}
    given = {"datasets": datasets, "methods": methods, "seeds": seeds}
    run |= {key: list(dict.fromkeys(values)) for key, values in given.items() if values}
    tree["run"] = run
    plugins: dict[str, dict[str, type[Any] | None]] = {"datasets": {}, "methods": {}}
    for name in run.get("datasets") or ():
        plugins["datasets"][name] = registry.load("taamctl.datasets", name).META.params
    for name in run.get("methods") or ():
        registry.require("taamctl.methods", name)
        if check_methods:
            plugins["methods"][name] = registry.load("taamctl.methods", name).Params
    checked = parameters.check(str(path), tree, plugins)
    return Context(params=checked, layout=Layout(outputs), data_root=find_root(data_root), force=force, wait=not no_wait,
                   progress=console.make_progress(quiet), tell=(lambda line: None) if quiet else console.say)


def grid(context: Context) -> list[tuple[str, str, int]]:
    """Return every (data set, method, seed) of the `run` section, data sets outermost."""
    run = context.params.section("run")
    return [(d, m, s) for d in run.datasets for m in run.methods for s in run.seeds]
