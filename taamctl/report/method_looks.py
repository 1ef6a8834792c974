"""How a method is drawn: one colour in every figure, on every page and whatever stands beside it;
marker and line tell methods of one colour apart, and rows of one method. Colours are those of Okabe
and Ito without yellow, which is too pale for a line.
"""

from __future__ import annotations

import zlib
from collections.abc import Sequence
from dataclasses import dataclass

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1a1a1a")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
LINES = ("-", "--", "-.", ":")
# The place of a packaged method decides its look: new ones go to the end, so that no other changes.
# Those that often stand side by side come first, in colours of their own.
PLACES = (
    *("analytic", "taam", "linear_probe", "joint", "taam_l", "oracle", "finetune"),
    *("ergnn", "ssm", "tpp", "puma", "cat", "delome", "pdgnns"),
    *("ewc", "lwf", "mas", "gem", "twp", "gpf", "taam_no_nsm"),
    *("taam_one_nsm", "taam_own_heads", "joint_sign", "joint_sage"),
)
ALL = len(COLOURS) * len(MARKERS)  # looks that differ in colour or marker


@dataclass(frozen=True)
class Look:
    """A colour, a marker and a line style, as matplotlib takes them."""

    colour: str
    marker: str
    line: str


def of(method: str) -> Look:
    """Return the look of a method that stands alone."""
    return looks([method])[0]


def looks(methods: Sequence[str]) -> list[Look]:
    """Return the look of every row of a figure, by the rows' methods.

    The first row of a packaged method always has the same. Further rows of a method, and methods of
    a plug-in that meet one of their colour, take the next marker and line of that colour.
    """
    seen: dict[str, int] = {}
    rank = []
    for method in methods:
        seen[method] = seen.get(method, -1) + 1
        rank.append((method not in PLACES, seen[method]))
    found: dict[int, Look] = {}
    for at in sorted(range(len(methods)), key=lambda at: rank[at]):
        found[at] = _free(place(methods[at]), list(found.values()))
    return [found[at] for at in range(len(methods))]


def place(method: str) -> int:
    """Return a method's number; that of one that is no part of taamctl follows from its name."""
    if method in PLACES:
        return PLACES.index(method)
    return zlib.crc32(method.encode()) % ALL


def _free(first: int, taken: Sequence[Look]) -> Look:
    """Return the first look of a colour that nobody has; where all are taken, the first again."""
    turn, colour = divmod(first, len(COLOURS))
    wanted = [
        Look(COLOURS[colour], MARKERS[at % len(MARKERS)], LINES[at % len(LINES)])
        for at in range(colour + turn, colour + turn + len(MARKERS))
    ]
    used = {(look.colour, look.marker) for look in taken}
    return next((look for look in wanted if (look.colour, look.marker) not in used), wanted[0])
