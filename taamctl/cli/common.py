"""Turn what a call says into the context that every stage needs."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.cli import console, this_folder, within_memory
from taamctl.cli.memory_size import size
from taamctl.cli.progress_bars import make_progress
from taamctl.cli.shared_options import Grid, Settings, Writing
from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

Tree = dict[str, object]  # a parameter file, not checked yet
Classes = dict[str, type[object] | None]  # the parameters of plug-ins; None: not checked


def make_context(
    grid: Grid,
    settings: Settings,
    writing: Writing,
    *,
    check_methods: bool = False,
    profile: str | None = None,
) -> Context:
    """Read and check the parameters before any work; `check_methods` imports the methods and checks
    their own sections too, `profile` is set for every method that has it.
    """
    from taamctl.params import params_file
    from taamctl.params import plugin_params as sections
    from taamctl.params import sections as parameters
    from taamctl.runtime.job import Context
    from taamctl.runtime.layout import Layout
    from taamctl.runtime.raw_files import data_root

    limit = size(writing.max_memory)
    if settings.outputs.exists() and not settings.outputs.is_dir():
        raise TaamctlError(f"--outputs {settings.outputs} is a file", "name a folder")
    this_folder.warn_of_other_code()
    path, packaged = params_file.locate(settings.params)
    methods = sections.expand("methods", grid.methods)
    tree = sections.read(path, settings.overrides or (), methods, used=check_methods)
    if packaged and not writing.quiet:
        console.say(
            "no params.yaml here: using the packaged default (--params FILE to choose another)"
        )
    _choose(tree, replace(grid, methods=methods))
    if packaged:
        this_folder.set_usual_of_own(tree, settings.overrides or (), quiet=writing.quiet)
    source = source_text(path, settings.overrides) + (f" --profile {profile}" if profile else "")
    plugins = _plugins(source, tree, check_methods)
    if profile is not None:
        _set_profile(tree, plugins["methods"], profile)
    return Context(
        params=parameters.check(source, tree, plugins),
        layout=Layout(settings.outputs),
        data_root=data_root(getattr(settings, "data_root", None)),
        force=writing.force,
        wait=not writing.no_wait,
        progress=make_progress(writing.quiet),
        tell=console.teller(writing.quiet),
        max_memory=limit,
        admit=within_memory.admit,
    )


def source_text(path: Path, overrides: Iterable[str] | None) -> str:
    """Return how messages name parameters."""
    return " ".join([str(path), *(f"--set {override}" for override in overrides or ())])


def _choose(tree: Tree, grid: Grid) -> None:
    """Let the data sets, methods and seeds of the call replace those of the `run` section."""
    run = tree.get("run")
    if isinstance(run, dict):
        chosen = {key: list(dict.fromkeys(names)) for key, names in vars(grid).items() if names}
        tree["run"] = {**run, **chosen}


def _plugins(source: str, tree: Tree, check_methods: bool) -> dict[str, Classes]:
    """Return the parameter classes of the run's data sets and, where asked, of its methods."""
    from taamctl.params import sections as parameters

    try:
        run = parameters.Params(source, tree).section(RunParams)
    except TaamctlError:
        parameters.check(source, tree, {})  # names the file's other faults too
        raise
    datasets = {name: data_set(name).meta.params for name in run.datasets}
    methods: Classes = {}
    for name in run.methods:
        registry.require("taamctl.methods", name)
        if check_methods:
            methods[name] = registry.method_params(name)
    return {"datasets": datasets, "methods": methods}


def _set_profile(tree: Tree, methods: Classes, profile: str) -> None:
    """Set the profile of every method that has it; where none has, of all that have any: the check
    then names those that exist.
    """
    fields = {n: getattr(c, "__dataclass_fields__", {}).get("profile") for n, c in methods.items()}
    choices = {name: f.metadata.get("choices") or () for name, f in fields.items() if f is not None}
    if not choices:
        raise TaamctlError(
            f"--profile {profile}: none of {', '.join(methods)} has profiles",
            "leave it out, or add --method taam",
        )
    sections = tree.get("methods")
    if not isinstance(sections, dict):
        return
    for name in [n for n, known in choices.items() if profile in known] or choices:
        if isinstance(sections.get(name), dict):
            sections[name]["profile"] = profile
