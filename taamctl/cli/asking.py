"""Questions on the terminal: where the files of a graph can be read in more than one way."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Protocol, TypeVar

from taamctl.cli.console import say
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.importing.ways import Unclear, applied

T = TypeVar("T", covariant=True)


class Reads(Protocol[T]):
    """What reads files with options."""

    def __call__(self, *, options: Mapping[str, Plain]) -> T:
        """Return what is read."""


def require_terminal() -> None:
    """Make sure that there is someone to ask.

    Raises:
        TaamctlError: stdin or stderr is no terminal.
    """
    if sys.stdin is None or not (sys.stdin.isatty() and sys.stderr.isatty()):
        raise TaamctlError(
            "--ask: there is no terminal to ask on",
            "leave it out: a question then prints a whole command for every answer, to copy",
        )


def until_clear(reads: Reads[T], options: Mapping[str, Plain], ask: bool) -> tuple[T, bool]:
    """Return what is read, and whether something was asked.

    Args:
        options: what `ImportOptions` holds, by name.
        ask: ask where two readings are possible, as often as there are such places.

    Raises:
        TaamctlError: as `reads`; a question that nobody answers.
    """
    asked = False
    while True:
        try:
            return reads(options=options), asked
        except Unclear as question:
            if not ask:
                raise
            options, asked = applied(options, _answer(question)), True


def _answer(question: Unclear) -> str:
    """Return the way that is chosen on the terminal."""
    say(f"question: {question.message}")
    for number, way in enumerate(question.ways, 1):
        say(f"  {number}  {way}")
    wanted = f"which one, 1 to {len(question.ways)}?"
    while True:
        say(wanted)
        line = sys.stdin.readline()
        if not line:
            raise question
        chosen = line.strip()
        if chosen.isascii() and chosen.isdigit() and 1 <= int(chosen) <= len(question.ways):
            return question.ways[int(chosen) - 1]
