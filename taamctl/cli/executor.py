"""Where the work of a verb is done: the options that say so, and what they are turned into."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any

import typer

from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

CHOICES = ("local", "dask")
Executor = Annotated[
    str,
    typer.Option(
        "--executor",
        metavar="local|dask",
        help="dask: propagate and train on a Dask cluster's workers.",
    ),
]
Scheduler = Annotated[
    str | None,
    typer.Option(
        "--scheduler", metavar="ADDRESS", help="Of a running Dask cluster, such as tcp://HOST:8786."
    ),
]
Workers = Annotated[
    int | None,
    typer.Option("--workers", help="Dask worker processes to start on this machine.", min=1),
]


def check(executor: str, scheduler: str | None, workers: int | None) -> None:
    """Refuse options that do not go together, before any work."""
    if executor not in CHOICES:
        raise TaamctlError(
            f"--executor {executor}: no such executor", f"there are: {', '.join(CHOICES)}"
        )
    given = [
        name
        for name, value in (("--scheduler", scheduler), ("--workers", workers))
        if value is not None
    ]
    if executor == "local" and given:
        raise TaamctlError(
            f"{given[0]} without a cluster to work on", "add --executor dask, or leave it out"
        )
    if executor == "dask" and not given:
        raise TaamctlError(
            "--executor dask: on which workers?",
            "name a running cluster with --scheduler tcp://HOST:8786, or start "
            "workers on this machine with --workers 2",
        )
    if len(given) == 2:
        raise TaamctlError(
            "--scheduler names a running cluster, --workers starts one",
            "give one of the two; a running cluster gets more workers where it was started",
        )


@contextmanager
def reached(
    context: Context, executor: str, scheduler: str | None, workers: int | None
) -> Iterator[Any]:
    """Yield the client of the cluster that was asked for, or None where the work is done here."""
    if executor == "local":
        yield None
        return
    from taamctl.cluster.client import connect

    with connect(context, scheduler, workers or 0) as client:
        yield client
