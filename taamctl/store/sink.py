"""The file that HDF5 writes into, from C back into Python: where nothing may be raised."""

from __future__ import annotations

import io
import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


class Sink:
    """The file that HDF5 writes into.

    HDF5 crashes after a failed write, so the first failure is kept here and the rest is dropped.
    """

    def __init__(self, file: io.FileIO) -> None:
        self._file = file
        self.failure: OSError | None = None

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Move to an offset, as `io` does."""
        return self._file.seek(offset, whence)

    def tell(self) -> int:
        """Return the present offset."""
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        """Read at most `size` bytes."""
        return self._file.read(size)

    def readinto(self, buffer: memoryview) -> int:
        """Read bytes; zeros where the file ends."""
        got = self._file.readinto(buffer) or 0
        memoryview(buffer)[got:] = bytes(len(buffer) - got)  # h5py 3.10 hands in a view of its own
        return len(buffer)

    def write(self, data: memoryview) -> int:
        """Write bytes, unless writing failed before."""
        left = memoryview(data)
        try:
            while self.failure is None and len(left):
                left = left[self._file.write(left) :]
        except OSError as error:
            self.failure = error
        return len(data)

    def truncate(self, size: int) -> int:
        """Cut, unless writing failed before."""
        try:
            return self._file.truncate(size) if self.failure is None else size
        except OSError as error:
            self.failure = error
        return size

    def flush(self) -> None:
        """Do nothing: the file is not buffered."""

    def check(self) -> None:
        """Raise what went wrong first."""
        if self.failure is not None:
            raise self.failure


@contextmanager
def interrupts_held() -> Iterator[Callable[[], None]]:
    """Keep Ctrl-C out of HDF5's calls into Python, where an exception would crash it; the
    yielded function lets it through.
    """
    held: list[int] = []

    def let_through() -> None:
        if held:
            raise KeyboardInterrupt

    ours = (
        threading.current_thread() is threading.main_thread()
        and signal.getsignal(signal.SIGINT) is signal.default_int_handler
    )
    if ours:
        signal.signal(signal.SIGINT, lambda number, _: held.append(number))
    try:
        yield let_through
    finally:
        if ours:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    let_through()
