"""Reach a Dask cluster: one that is already there, by its scheduler's address, or worker
processes on this machine.
"""

from __future__ import annotations

import asyncio
import logging
import signal
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from multiprocessing import resource_tracker
from typing import TYPE_CHECKING, Any

from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.runtime.job import Context

PATIENCE = 6  # seconds to reach a scheduler
START = 120  # seconds for workers to start
NO_WORKER = "120s"  # that work waits while no worker is there


@contextmanager
def connect(context: Context, scheduler: str | None, workers: int) -> Iterator[Any]:
    """Yield a `distributed.Client` with at least one worker; where no scheduler is named, that of
    `workers` processes started here.

    Args:
        scheduler: the scheduler's address, such as `tcp://host:8786`; None to start workers.
        workers: processes to start, of one thread each: a unit pins its own threads, and does so
            for its whole process.

    Raises:
        TaamctlError: Dask is not installed, the scheduler does not answer, or it has no worker and
            the context does not wait.
    """
    _require_dask()
    for name in ("distributed", "distributed.client"):  # the second has a level of its own
        logging.getLogger(name).setLevel(logging.CRITICAL)  # what matters is told here, in words
    if scheduler is None:
        with _started(workers) as client:
            yield client
        return
    with _reach(scheduler) as client:
        _await_a_worker(context, client, scheduler)
        yield client


@contextmanager
def _started(workers: int) -> Iterator[Any]:
    """Start worker processes on this machine.

    No limit of memory: near it a worker would pause, where the same work done here goes on.
    """
    import dask
    from distributed import Client, LocalCluster

    # Dask has workers give freed memory back at once: training, which asks for the same sizes over
    # and over, then takes twice the time. A forked worker would share torch's threads; only a
    # spawned one starts alike on every system.
    settings = dask.config.set(
        {
            "distributed.nanny.pre-spawn-environ.MALLOC_TRIM_THRESHOLD_": None,
            "distributed.worker.multiprocessing-method": "spawn",
            # a worker that died is started again; where none can be, work would wait for ever
            "distributed.scheduler.no-workers-timeout": NO_WORKER,
        }
    )
    with settings, ExitStack() as stack:
        with _interrupts_blocked():
            cluster = stack.enter_context(
                LocalCluster(
                    n_workers=workers,
                    threads_per_worker=1,
                    processes=True,
                    memory_limit=0,
                    dashboard_address=":0",
                    silence_logs=logging.CRITICAL,
                )
            )
            client = stack.enter_context(Client(cluster, set_as_default=False))
        try:
            client.wait_for_workers(workers, timeout=START)
        except TimeoutError:
            raise TaamctlError(
                f"not all of {workers} workers started within {START} s",
                "start fewer: --workers N; their need of memory is told by --max-memory",
            ) from None
        yield client


@contextmanager
def _interrupts_blocked() -> Iterator[None]:
    """Block Ctrl-C for the threads and processes that the body starts, for their whole life, and
    for this one until its end.

    A terminal sends it to every process of the command: workers leave it to the one that they work
    for. Windows cannot block it: there it ends the workers too.
    """
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    resource_tracker.ensure_running()  # started later it would unblock the signal again
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def _require_dask() -> None:
    try:
        import distributed  # noqa: F401  nothing else says whether it can be imported
    except ImportError:
        raise TaamctlError(
            "--executor dask needs the package distributed, which is not installed",
            "pip install 'taamctl[dask]', on the workers too",
        ) from None


def _reach(scheduler: str) -> Any:
    """Return a client. Who answers is asked first: a client that finds no scheduler does not end
    in time.
    """
    from distributed import Client

    hint = (
        "look whether it runs and can be reached from here; its log names its address, such as "
        "tcp://HOST:8786"
    )
    try:
        who = asyncio.run(asyncio.wait_for(_who_answers(scheduler), PATIENCE))
    # nobody; no address; a protocol that is not there; a stranger, whose bytes may read as anything
    except Exception as error:
        if scheduler.startswith("tls://") and isinstance(error, TypeError):
            hint = (
                "tls:// needs certificates: Dask's settings distributed.comm.tls.ca-file and "
                "distributed.comm.tls.client name them"
            )
        raise TaamctlError(
            f"no Dask scheduler answers at {scheduler or 'an empty address'}", hint
        ) from None
    if who != "Scheduler":
        raise TaamctlError(f"what answers at {scheduler} is a Dask {who}, not a scheduler", hint)
    return Client(scheduler, timeout=PATIENCE, set_as_default=False)


async def _who_answers(address: str) -> str:
    from distributed import Security
    from distributed.core import rpc

    async with rpc(
        address, timeout=PATIENCE, connection_args=Security().get_connection_args("client")
    ) as other:
        return str((await other.identity())["type"])


def _await_a_worker(context: Context, client: Any, scheduler: str) -> None:
    """Wait until the cluster has a worker, which may take as long as a queue does."""
    if client.scheduler_info()["workers"]:
        return
    if not context.wait:
        raise TaamctlError(
            f"the Dask scheduler at {scheduler} has no worker",
            "start one, or leave out --no-wait to wait for one",
        )
    context.tell(f"the Dask scheduler at {scheduler} has no worker yet; waiting for one")
    client.wait_for_workers(1)
