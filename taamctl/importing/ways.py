"""Questions that an import asks: what can be read in two ways, and the command for each."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.importing.options import LISTED, ImportOptions, listed

SHOWN = 6  # ways that are printed as whole commands


class Unclear(TaamctlError):
    """A file that can be read in more than one way.

    Args:
        message, hint: as everywhere.
        ways: the options that choose a reading, each as a shell takes it.
        example: the one of many ways that is printed as a whole command; empty: all are.
    """

    def __init__(self, message: str, hint: str, ways: Sequence[str], example: str = "") -> None:
        super().__init__(message, hint)
        self.ways = tuple(ways)
        self.example = example


def with_commands(error: Unclear, command: str) -> Unclear:
    """Return the question with a whole command for every way, to copy."""
    printed = (error.example,) if error.example else error.ways[:SHOWN]
    lines = "".join(f"\n  {command} {way}" for way in printed)
    return Unclear(error.message, f"{error.hint}{lines}", error.ways, error.example)


def applied(options: Mapping[str, Plain], way: str) -> dict[str, Plain]:
    """Return the options with those of a way; what can be said more than once is added.

    Args:
        options: what `ImportOptions` holds, by name.
        way: such as `--header no --id 'column 0'`.
    """
    usual, made = asdict(ImportOptions()), dict(options)
    for word, value in pairwise(shlex.split(way)):
        name = word.removeprefix("--").replace("-", "_")
        if name == word or name not in usual:
            continue
        if isinstance(usual[name], tuple):
            made[name] = tuple(dict.fromkeys((*made.get(name, ()), *_values(name, value))))
        else:
            made[name] = value
    return made


def _values(name: str, value: str) -> Iterator[str]:
    if name in LISTED:
        yield from listed([value])
    else:
        yield value
