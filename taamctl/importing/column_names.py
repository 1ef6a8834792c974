"""The usual names of columns, and finding a column by a name."""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import replace

from taamctl.core.errors import TaamctlError
from taamctl.importing import name_patterns
from taamctl.importing.messages import in_short, shown
from taamctl.importing.options import ImportOptions

# the usual names, best first, as `plain` spells them
ID = ("id", "nodeid", "nid", "node", "vertex", "vertexid", "uid", "name", "index", "idx")
LABEL = (
    "label",
    "labels",
    "class",
    "y",
    "classid",
    "classlabel",
    "nodelabel",
    "category",
    "target",
    "subject",
    "community",
)
TIME = ("time", "timestamp", "date", "datetime")
PART = ("part", "split")
TASK = ("task", "taskid")
ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("sourceid", "targetid"),
    ("srcid", "dstid"),
    ("fromnodeid", "tonodeid"),
    ("fromid", "toid"),
    ("u", "v"),
    ("id1", "id2"),
    ("node1", "node2"),
    ("head", "tail"),
    ("citing", "cited"),
)
MASKS = {
    "trainmask": "train",
    "valmask": "val",
    "validmask": "val",
    "validationmask": "val",
    "testmask": "test",
}


def plain(name: str) -> str:
    """Return a name in lower case without anything but letters and digits, for comparing."""
    return re.sub(r"[^0-9a-z]", "", name.lower())


def guess(names: Iterable[str], words: Sequence[str]) -> str:
    """Return the name that is spelled as the earliest of `words`, else an empty one."""
    spelled = {plain(n): n for n in reversed(list(names))}
    return next((spelled[w] for w in words if w in spelled), "")


def first_and_second(names: Sequence[str]) -> tuple[str, str] | None:
    """Return the two names that differ in a 1 and a 2 at their end, such as `txId1` and `txId2`;
    None where there are none, or more.
    """
    pairs = [(name, f"{name[:-1]}2") for name in names if name.endswith("1")]
    found = [pair for pair in pairs if pair[1] in names]
    return found[0] if len(found) == 1 else None


def named(name: str, names: Sequence[str], where: str, option: str) -> str:
    """Return `name` if there is such a column.

    Raises:
        TaamctlError: there is none; the hint names the nearest.
    """
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        there = in_short(names, 12)
        raise TaamctlError(
            f"{where}: --{option} {shown(name)}: there is no such column; there are: {there}",
            f"did you mean {shown(near[0])!r}?" if near else f"name one of them with --{option}",
        )
    return name


def whole_names(options: ImportOptions, names: Sequence[str]) -> ImportOptions:
    """Return the options with names that hold a comma put together again: `a, b` was taken for
    two, and is the name of one column.
    """
    return replace(
        options,
        features=_put_together(options.features, names),
        ignore=_put_together(options.ignore, names),
    )


def _put_together(patterns: tuple[str, ...], names: Sequence[str]) -> tuple[str, ...]:
    for first, pattern in enumerate(patterns):
        if pattern in names:
            continue
        for last in range(len(patterns), first + 1, -1):
            pieces = patterns[first:last]
            name = next((n for n in (", ".join(pieces), ",".join(pieces)) if n in names), "")
            if name:
                rest = _put_together(patterns[last:], names)
                return (*patterns[:first], name, *rest)
    return patterns


def matching(
    patterns: Sequence[str], names: Sequence[str], where: str, option: str
) -> tuple[str, ...]:
    """Return the names that are one of `patterns` or match one, in their own order.

    Raises:
        TaamctlError: a pattern that none matches.
    """
    found, without = name_patterns.matching(patterns, names)
    if without:
        named(without[0], names, where, option)
    return tuple(name for name in names if name in found)
