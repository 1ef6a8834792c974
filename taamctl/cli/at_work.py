"""A verb of some stages at work: what does not fit is refused, and the workers asked for start."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from taamctl.cli import within_memory
from taamctl.cli.executor_options import Executor, cluster

if TYPE_CHECKING:
    from distributed import Client

    from taamctl.runtime.job import Context


@contextmanager
def at_work(
    context: Context, executor: Executor, *stages: str
) -> Iterator[tuple[Context, Client | None]]:
    """Yield the context of this process, and the client of the cluster that does the work; None
    where it is done here.

    Args:
        stages: what the verb makes.
    """
    executor.check()
    (fit,), executor = within_memory.prepared([context], executor, stages)
    with cluster(fit, executor) as client:
        yield fit, client
