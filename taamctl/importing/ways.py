"""Questions that an import asks: what can be read in two ways, and the command for each."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

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


def command_line(sources: Sequence[Path], options: Mapping[str, object]) -> str:
    """Return the call of `taamctl data import` as a shell takes it.

    Args:
        options: the name of an option, without dashes, and its value; a list for one that may stand
            several times, True for a switch; empty ones are left out.
    """
    words = ["taamctl", "data", "import", *map(str, sources)]
    for name, value in options.items():
        flag = f"--{name.replace('_', '-')}"
        if value is True:
            words.append(flag)
        elif isinstance(value, (tuple, list)):
            for one in value:
                words += [flag, str(one)]
        elif value:
            words += [flag, str(value)]
    return shlex.join(words)
