"""What people's files hold, as messages show it: never more of it than a line has room for."""

from __future__ import annotations

import itertools
import re
import shlex
from collections.abc import Sequence

LONGEST = 60  # characters of a cell in a message
MOST = 10  # names in a message


def shown(value: object, most: int = LONGEST) -> str:
    """Return a value as a message shows it: cut where it is long, its line ends as blanks."""
    text = " ".join(value.split()) if isinstance(value, str) else str(value)
    return text if len(text) <= most else f"{text[: most - 3]}..."


def quoted(name: object) -> str:
    """Return a name, a word or a path as a shell takes it."""
    return shlex.quote(str(name))


def some(names: Sequence[object]) -> str:
    """Return the first of some names in quotes, each cut where it is long."""
    return ", ".join(repr(shown(name)) for name in names[:MOST]) + ", ..." * (len(names) > MOST)


def in_short(names: Sequence[str], most: int) -> str:
    """Return some names with those that are numbered on as one, such as `w_0 to w_299 (300)`, so
    that the ones that are not are seen.
    """
    parts = []
    for stem, group in itertools.groupby(names, lambda name: re.sub(r"\d+$", "", name)):
        members = list(group)
        if stem and len(members) > 2:
            parts.append(f"{shown(members[0])} to {shown(members[-1])} ({len(members)})")
        else:
            parts += map(shown, members)
    return ", ".join(parts[:most]) + f", ... ({len(names)} in all)" * (len(parts) > most)
