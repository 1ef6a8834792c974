"""Options that the stage verbs share, and what they are turned into."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.cli import console
from taamctl.cli.size import size
from taamctl.core.data_set import data_set
from taamctl.params.run_params import RunParams

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

Datasets = Annotated[
    list[str] | None,
    typer.Option(
        "--dataset", help="Data set; repeatable. Default: run.datasets of the parameters."
    ),
]
Methods = Annotated[
    list[str] | None,
    typer.Option("--method", help="Method; repeatable; all: every one. Default: run.methods."),
]
Seeds = Annotated[
    list[int] | None,
    typer.Option("--seed", help="Base seed; repeatable. Default: run.seeds.", min=0),
]
ParamsFile = Annotated[
    Path | None,
    typer.Option("--params", help="Parameter file. Default: ./params.yaml, else the packaged one."),
]
Overrides = Annotated[
    list[str] | None,
    typer.Option(
        "--set", metavar="KEY=VALUE", help="Override one parameter, such as train.lr=0.01."
    ),
]
Outputs = Annotated[Path, typer.Option("--outputs", help="Folder of the artefacts.")]
DataRoot = Annotated[
    Path | None,
    typer.Option(
        "--data-root", help="Folder with raw data. Default: TAAMCTL_DATA, else the cache."
    ),
]
Force = Annotated[bool, typer.Option("--force", help="Recompute even where nothing changed.")]
NoWait = Annotated[
    bool, typer.Option("--no-wait", help="Give up where another process writes the same artefact.")
]
MaxMemory = Annotated[
    str | None,
    typer.Option(
        "--max-memory",
        metavar="SIZE",
        help="Most memory of the whole process, such as 2G; what "
        "does not fit goes to the disk, results are the same.",
    ),
]
Quiet = Annotated[bool, typer.Option("--quiet", help="No progress on stderr.")]
OUTPUTS = Path("outputs")


def make_context(
    *,
    params: Path | None,
    overrides: list[str] | None,
    outputs: Path,
    data_root: Path | None,
    force: bool,
    no_wait: bool,
    quiet: bool,
    datasets: list[str] | None = None,
    methods: list[str] | None = None,
    seeds: list[int] | None = None,
    check_methods: bool = False,
    profile: str | None = None,
    max_memory: str | None = None,
) -> Context:
    """Read and check the parameters before any work, and return what every stage needs.

    Given data sets, methods and seeds replace those of the `run` section. `check_methods` also
    checks the methods' own sections, which imports them; `profile` sets the profile of every method
    that has it.
    """
    from taamctl.core import registry
    from taamctl.core.errors import TaamctlError
    from taamctl.params import params_file
    from taamctl.params import plugin_params as sections
    from taamctl.params import sections as parameters
    from taamctl.runtime.job import Context
    from taamctl.runtime.layout import Layout
    from taamctl.runtime.raw_files import data_root as find_root

    limit = None if max_memory is None else size(max_memory)
    if outputs.exists() and not outputs.is_dir():
        raise TaamctlError(f"--outputs {outputs} is a file", "name a folder")
    _warn_of_other_code()
    path, packaged = params_file.locate(params)
    methods = sections.expand("methods", methods)
    tree = sections.read(path, overrides or (), methods, used=check_methods)
    if packaged and not quiet:
        console.say(
            "no params.yaml here: using the packaged default (--params FILE to choose another)"
        )
    given = {"datasets": datasets, "methods": methods, "seeds": seeds}
    if isinstance(tree.get("run"), dict):
        tree["run"] = {
            **tree["run"],
            **{key: list(dict.fromkeys(values)) for key, values in given.items() if values},
        }
    source = " ".join(
        [
            str(path),
            *(f"--set {o}" for o in overrides or ()),
            *([f"--profile {profile}"] if profile else []),
        ]
    )
    try:
        run = parameters.Params(source, tree).section(RunParams)
    except TaamctlError:
        parameters.check(source, tree, {})  # tells the file's other faults too
        raise
    plugins: dict[str, dict[str, type[Any] | None]] = {"datasets": {}, "methods": {}}
    for name in run.datasets:
        plugins["datasets"][name] = data_set(name).meta.params
    for name in run.methods:
        registry.require("taamctl.methods", name)
        if check_methods:
            plugins["methods"][name] = registry.load("taamctl.methods", name).Params
    if profile is not None:
        _set_profile(tree, plugins["methods"], profile)
    checked = parameters.check(source, tree, plugins)
    return Context(
        params=checked,
        layout=Layout(outputs),
        data_root=find_root(data_root),
        force=force,
        wait=not no_wait,
        progress=console.make_progress(quiet),
        tell=(lambda line: None) if quiet else console.say,
        max_memory=limit,
    )


def _warn_of_other_code() -> None:
    """Say so where this folder is a checkout and the code that runs is not its own: DVC would
    take its edits for used.
    """
    here, running = Path("taamctl"), Path(__file__).resolve().parent.parent
    if Path("dvc.yaml").is_file() and here.is_dir() and here.resolve() != running:
        console.say(
            f"warning: running the code in {running}, not this checkout's; `pip install -e .` uses "
            "the checkout's"
        )


def _set_profile(tree: dict[str, Any], methods: dict[str, type[Any] | None], profile: str) -> None:
    """Set the profile of every method of the run that has it; where none has, of all that have
    any: the check then says which exist.
    """
    from taamctl.core.errors import TaamctlError

    fields = {
        name: getattr(cls, "__dataclass_fields__", {}).get("profile")
        for name, cls in methods.items()
    }
    having = {
        name: field.metadata.get("choices") or ()
        for name, field in fields.items()
        if field is not None
    }
    if not having:
        raise TaamctlError(
            f"--profile {profile}: none of {', '.join(methods)} has profiles",
            "leave it out, or add --method taam",
        )
    for name in [n for n, choices in having.items() if profile in choices] or list(having):
        if isinstance(tree.get("methods"), dict) and isinstance(tree["methods"].get(name), dict):
            tree["methods"][name]["profile"] = profile


def stage_command(stage: str, doc: str, *, check_methods: bool = False) -> Callable[..., None]:
    """Return the command of a stage that runs per (data set, method, seed)."""

    def command(
        datasets: Datasets = None,
        methods: Methods = None,
        seeds: Seeds = None,
        params: ParamsFile = None,
        overrides: Overrides = None,
        outputs: Outputs = OUTPUTS,
        force: Force = False,
        no_wait: NoWait = False,
        quiet: Quiet = False,
    ) -> None:
        context = make_context(
            params=params,
            overrides=overrides,
            outputs=outputs,
            data_root=None,
            force=force,
            no_wait=no_wait,
            quiet=quiet,
            datasets=datasets,
            methods=methods,
            seeds=seeds,
            check_methods=check_methods,
        )
        module = importlib.import_module(f"taamctl.stages.{stage}")
        for run in grid(context):
            module.run(context, *run)

    command.__doc__ = doc
    return command


def grid(context: Context) -> list[tuple[str, str, int]]:
    """Return every (data set, method, seed) of the `run` section, data sets outermost."""
    run = context.params.section(RunParams)
    return [(d, m, s) for d in run.datasets for m in run.methods for s in run.seeds]
