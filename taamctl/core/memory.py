"""What this process has in memory."""

from __future__ import annotations

import os
import resource
import sys
from pathlib import Path

SLACK = 32 << 20  # bytes that the allocator keeps although nobody uses them


def used() -> int:
    """Return the bytes that this process has in memory now (its peak so far, where the system
    does not tell).
    """
    try:
        return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return peak()


def peak() -> int:
    """Return the most bytes that this process has had in memory."""
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # macOS counts bytes, Linux KiB


def mib(size: int) -> int:
    """Return whole MiB, rounded up."""
    return -(-size // (1 << 20))
