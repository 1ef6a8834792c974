"""Patterns such as `word_*` over the names of columns.

A file may hold thousands of names, or one of a hundred thousand characters. So a pattern is
translated once, and a name that only looks like a pattern is compared as it is.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from fnmatch import translate
from glob import escape

SPECIAL = frozenset("*?[")
ESCAPED = re.compile(r"\[([*?[])\]")  # as `escape` writes a special character
TRIED_LENGTH = 1_000  # characters: the time to translate an unfinished `[[[...` is their square
TRIED_NAMES = 100  # names: each is tried on every other


def matching(patterns: Sequence[str], names: Sequence[str]) -> tuple[set[str], list[str]]:
    """Return the names that are one of `patterns` or match one, and the patterns that none does."""
    there, found, without = set(names), set[str](), []
    for pattern in patterns:
        caught = {pattern, _literal(pattern)} & there
        if _is_tried(pattern):
            caught |= set(filter(re.compile(translate(pattern)).match, there))
        found |= caught
        if not caught:
            without.append(pattern)
    return found, without


def exact(names: Sequence[str], others: Sequence[str]) -> tuple[str, ...]:
    """Return names for an option that takes patterns: escaped where one matches another name, is
    long, or is one of many with such characters.
    """
    special = [name for name in names if not SPECIAL.isdisjoint(name)]
    if len(special) <= TRIED_NAMES:
        special = [name for name in special if not _is_tried(name) or _catches(name, others)]
    patterned = set(special)
    return tuple(escape(name) if name in patterned else name for name in names)


def _is_tried(pattern: str) -> bool:
    """Tell whether a pattern may match more than one name, and is short enough to be one."""
    literal = SPECIAL.isdisjoint(ESCAPED.sub("", pattern))
    return not literal and len(pattern) <= TRIED_LENGTH


def _literal(pattern: str) -> str:
    """Return the name that an escaped pattern stands for."""
    return ESCAPED.sub(r"\1", pattern)


def _catches(name: str, others: Sequence[str]) -> bool:
    match = re.compile(translate(name)).match
    return any(match(other) for other in others if other != name)
