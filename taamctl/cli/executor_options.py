"""Where the work of a verb is done: the options that say so, and the cluster they name."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from distributed import Client

    from taamctl.runtime.job import Context

CHOICES = ("local", "dask")
MOST = 256  # workers on one machine: each is a process with torch in it


@dataclass(frozen=True)
class Executor:
    """This process, a running Dask cluster, or one started here."""

    executor: Annotated[
        str,
        Option(
            "--executor",
            metavar="local|dask",
            help="dask: have the workers of a Dask cluster do the work.",
        ),
    ] = "local"
    scheduler: Annotated[
        str | None,
        Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Of a running Dask cluster, such as tcp://HOST:8786.",
        ),
    ] = None
    workers: Annotated[
        int | None,
        Option(
            "--workers", help="Dask worker processes to start on this machine.", min=1, max=MOST
        ),
    ] = None

    def check(self) -> None:
        """Refuse options that do not go together, before any work."""
        if self.executor not in CHOICES:
            raise TaamctlError(
                f"--executor {self.executor}: no such executor", f"there are: {', '.join(CHOICES)}"
            )
        options = {"--scheduler": self.scheduler, "--workers": self.workers}
        given = [name for name, value in options.items() if value is not None]
        if self.executor == "local" and given:
            raise TaamctlError(
                f"{given[0]} without a cluster to work on", "add --executor dask, or leave it out"
            )
        if self.executor == "dask" and not given:
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
def cluster(context: Context, executor: Executor) -> Iterator[Client | None]:
    """Yield the client of the cluster to work on, or None where the work is done here."""
    if executor.executor == "local":
        yield None
        return
    from taamctl.cluster.client import connect

    with connect(context, executor.scheduler, executor.workers or 0) as client:
        yield client
