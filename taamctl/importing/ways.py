"""Questions that an import asks: what can be read in two ways, and the command for each."""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.core.errors import TaamctlError


class Unclear(TaamctlError):
    """A file that can be read in more than one way.

    Args:
        message, hint: as everywhere.
        ways: the options that choose a reading, each as a shell takes it.
    """

    def __init__(self, message: str, hint: str, ways: Sequence[str]) -> None:
        super().__init__(message, hint)
        self.ways = tuple(ways)


def with_commands(error: Unclear, command: str) -> TaamctlError:
    """Return the question with a whole command for every way, to copy."""
    lines = "".join(f"\n  {command} {way}" for way in error.ways)
    return TaamctlError(error.message, f"{error.hint}{lines}")
