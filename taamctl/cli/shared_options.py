"""Options that verbs share, and groups of them: dataclasses, which `flat_options` makes single
options of.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from typer import Argument, Option

from taamctl.cli.name_completion import datasets, methods

Datasets = Annotated[
    list[str] | None,
    Option(
        "--dataset",
        help="Data set; repeatable. Default: run.datasets of the parameters.",
        autocompletion=datasets,
    ),
]
Methods = Annotated[
    list[str] | None,
    Option(
        "--method",
        help="Method; repeatable; all: every one. Default: run.methods.",
        autocompletion=methods,
    ),
]
Seeds = Annotated[
    list[int] | None, Option("--seed", help="Base seed; repeatable. Default: run.seeds.", min=0)
]
ParamsFile = Annotated[
    Path | None,
    Option("--params", help="Parameter file. Default: ./params.yaml, else the packaged one."),
]
Overrides = Annotated[
    list[str] | None,
    Option("--set", metavar="KEY=VALUE", help="Override one parameter, such as train.lr=0.01."),
]
Outputs = Annotated[Path, Option("--outputs", help="Folder of the artefacts.")]
DataRoot = Annotated[
    Path | None,
    Option("--data-root", help="Folder with raw data. Default: TAAMCTL_DATA, else the cache."),
]
Profile = Annotated[
    str | None,
    Option("--profile", help="Of the methods that have one: release, text, strict_gcil."),
]
Force = Annotated[bool, Option("--force", help="Recompute even where nothing changed.")]
Overwrite = Annotated[bool, Option("--force", help="Overwrite files that are there.")]
NoWait = Annotated[
    bool, Option("--no-wait", help="Give up where another process writes the same artefact.")
]
MaxMemory = Annotated[
    str | None,
    Option(
        "--max-memory",
        metavar="SIZE",
        help="Most memory of the whole command, such as 2G: what can goes to the disk, with the "
        "same results; what cannot is refused before it begins.",
    ),
]
Quiet = Annotated[bool, Option("--quiet", help="No progress on stderr.")]
AsJson = Annotated[bool, Option("--json", help="Print JSON.")]
JsonOnStdout = Annotated[bool, Option("--json", help="Print JSON on stdout.")]
DatasetName = Annotated[
    str,
    Argument(
        help="Data set, as `taamctl data list` names it.",
        show_default=False,
        autocompletion=datasets,
    ),
]
OUTPUTS = Path("outputs")


@dataclass(frozen=True)
class Grid:
    """Data sets, methods and seeds; what is not given is the `run` section's."""

    datasets: Datasets = None
    methods: Methods = None
    seeds: Seeds = None


@dataclass(frozen=True)
class Settings:
    """Where the parameters come from and where the artefacts lie."""

    params: ParamsFile = None
    overrides: Overrides = None
    outputs: Outputs = OUTPUTS


@dataclass(frozen=True)
class RawSettings(Settings):
    """The same for a verb that reads raw data."""

    data_root: DataRoot = None


@dataclass(frozen=True)
class Writing:
    """How a verb that makes artefacts goes about it."""

    force: Force = False
    no_wait: NoWait = False
    quiet: Quiet = False
    max_memory: MaxMemory = None
