"""How much a file of a user's may ask for, against what is there: the limits of every reader, and
the one check of memory.
"""

from __future__ import annotations

from taamctl.core.errors import TaamctlError
from taamctl.core.units import format_bytes

DEFLATE = 1032  # no byte that deflate packs stands for more than so many
MOST_COLUMNS = 50_000  # of a text table; pandas takes 0.2 ms for each, however few rows there are
MOST_HEADER = 1 << 16  # bytes of the header of an npy array, which is about 100
MOST_NESTED = 8  # brackets inside brackets there
MOST_TUPLES = 20_000  # tuples in a pickle of tensors: Python hashes them as deep as they nest
CHILD_MEMORY = 3 << 29  # bytes for a parser in a process of its own, whatever the file's size
CHILD_PER_BYTE = 64  # and so many more for each byte of the file, which may be packed
CHILD_SECONDS = 60  # and its time: 1 M nodes with 10 M edges take about 2 s
CHILD_BYTES_PER_SECOND = 1 << 20
NODES_PER_EVENT = 100  # of a graph of events without a table of nodes, beyond a few
FEW_NODES = 100_000
UNCHECKED = 64 << 20  # bytes that need no look at the memory that is free


def require_memory(size: int, where: str, what: str = "its contents") -> None:
    """Refuse what does not fit into the memory that is free now, before it is read.

    Args:
        size: bytes that are needed at least.
        where: the file, for messages.

    Raises:
        TaamctlError: there is less.
    """
    if size <= UNCHECKED:
        return
    free = free_memory()
    if size > free:
        raise TaamctlError(
            f"{where}: {what} take {format_bytes(size)} of memory, {format_bytes(free)} are free",
            "the file is damaged or made to fill the memory; else use a larger machine",
        )


def free_memory() -> int:
    """Return the bytes that this process may still take: of the machine, and of the limit on its
    address space.
    """
    import psutil

    free = [int(psutil.virtual_memory().available)]
    try:
        import resource
    except ImportError:  # Windows has no such limit
        return max(0, min(free))
    soft, _ = resource.getrlimit(resource.RLIMIT_AS)
    if soft != resource.RLIM_INFINITY:
        free.append(soft - int(psutil.Process().memory_info().vms))
    return max(0, min(free))


def child_memory(size: int) -> int:
    """Return the bytes that a parser in a process of its own may take for a file of so many."""
    return CHILD_MEMORY + CHILD_PER_BYTE * size


def child_seconds(size: int) -> int:
    """Return the seconds that it may take."""
    return CHILD_SECONDS + size // CHILD_BYTES_PER_SECOND
