"""What became of a unit: its result, or in words why there is none."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import CancelledError
from typing import Any

from taamctl.core.errors import TaamctlError


def result_of(future: Any, label: str) -> Any:
    """Return the result of a finished unit.

    Raises:
        TaamctlError: what the unit itself raised; or its workers died again and again, or the
            cluster is gone.
    """
    from distributed import scheduler
    from distributed.scheduler import KilledWorker

    # the second was split off the first in a later version of Dask
    names = ("NoValidWorkerError", "NoWorkerError")
    nobody = tuple(getattr(scheduler, name) for name in names if hasattr(scheduler, name))
    try:
        return future.result()
    except KilledWorker as error:
        count = error.allowed_failures + 1
        raise TaamctlError(
            f"{label}: {count} worker{'s' if count > 1 else ''} died over it, the last on "
            f"{error.last_worker.address}",
            "most often the memory of a worker is too small for it: start workers with more (their "
            "logs say); run the same command again to go on",
        ) from None
    except nobody:
        raise TaamctlError(
            f"{label}: there is no worker left that could do it",
            "most often their memory is too small; run the same command again to go on: what is "
            "finished is kept",
        ) from None
    except CancelledError:
        raise TaamctlError(
            f"{label}: the connection to the Dask scheduler was lost",
            "start it again, and run the same command again to go on: finished tasks are kept",
        ) from None


def total(costs: Collection[Mapping[str, float]]) -> dict[str, float]:
    """Return what the sidecar says of units: seconds over all of them, and the peak memory (MiB)
    of the largest worker.
    """
    seconds = {name: round(sum(cost[name] for cost in costs), 3) for name in ("wall_s", "cpu_s")}
    return {**seconds, "peak_memory_mib": max(cost["peak_memory_mib"] for cost in costs)}
