"""What this process has in memory."""

from __future__ import annotations

import sys

SLACK = 32 << 20  # bytes that the allocator keeps although nobody uses them


def used() -> int:
    """Return the bytes that this process has in memory now."""
    import psutil

    return int(psutil.Process().memory_info().rss)


def peak() -> int:
    """Return the most bytes that this process has had in memory."""
    try:
        import resource
    except ImportError:  # Windows has no such module, but psutil knows the peak there
        import psutil

        now = psutil.Process().memory_info()
        return int(getattr(now, "peak_wset", now.rss))
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most if sys.platform == "darwin" else most * 1024  # macOS counts bytes, Linux KiB


def mib(size: int) -> int:
    """Return whole MiB, rounded up."""
    return -(-size // (1 << 20))
