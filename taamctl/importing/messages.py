"""What people's files hold, as messages show it: never more of it than a line has room for."""

from __future__ import annotations

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
