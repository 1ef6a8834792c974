"""Tables of a Markdown page, read: their rows as cells."""

from __future__ import annotations

import re
from collections.abc import Iterator

CELL = re.compile(r"(?<!\\)\|")  # not one that stands in a cell


def rows(text: str) -> Iterator[list[str]]:
    """Yield the rows of all tables of a page, without heads and rules."""
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not line.startswith("|") or _is_rule(line):
            continue
        after = lines[number + 1] if number + 1 < len(lines) else ""
        if not _is_rule(after):
            yield [cell.strip() for cell in CELL.split(line.strip().strip("|"))]


def _is_rule(line: str) -> bool:
    return bool(re.fullmatch(r"\|[-:| ]+\|?", line))
