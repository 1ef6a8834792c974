"""A figure's look and its bytes: the same rows give the same bytes.

Colours are those of Okabe and Ito without yellow (too pale for a line); marker and line style tell
rows apart without colour.
"""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taamctl.core.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#E69F00", "#1a1a1a")
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "<", ">", "p", "*")
LINES = ("-", "--", "-.", ":")
GREY = "#e6e6e6"
INK = "#1a1a1a"
GROUND = "#fefefe"  # told apart from white text on a heat map
FONT = 8.0
# How a picture looks on the page: its ground is the page's, its ink follows light and dark.
THEME = b"""<style>:root { --ink: #1a1a1a; --grid: #e6e6e6 }
@media (prefers-color-scheme: dark) { :root { --ink: #e8e8e8; --grid: #3a3e44 } }
@media print { :root { --ink: #1a1a1a; --grid: #e6e6e6 } }</style>
"""


@dataclass(frozen=True)
class Picture:
    """One figure: its kind and data set, its bytes as PNG and SVG, its numbers as CSV, and its
    caption.
    """

    kind: str
    dataset: str
    title: str
    caption: str
    timed: bool
    png: bytes
    svg: bytes
    csv: str

    def files(self) -> dict[str, bytes]:
        """Return file name -> bytes."""
        made = {"png": self.png, "svg": self.svg, "csv": self.csv.encode()}
        return {f"{self.kind}-{self.dataset}.{suffix}": data for suffix, data in made.items()}


@contextmanager
def settings(salt: str) -> Iterator[None]:
    """Draw with matplotlib's own defaults, whatever the user's settings: names are never read as
    formulas, SVG ids do not vary.
    """
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(
            {
                "text.parse_math": False,
                "svg.hashsalt": salt,
                "font.size": FONT,
                "axes.spines.top": False,
                "axes.spines.right": False,
                "axes.grid": True,
                "grid.color": GREY,
                "figure.facecolor": GROUND,
                "axes.facecolor": GROUND,
                **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor"), INK),
                **dict.fromkeys(("xtick.color", "ytick.color"), INK),
                "axes.axisbelow": True,
                "legend.frameon": False,
            }
        )
        yield


def both(figure: Figure) -> tuple[bytes, bytes]:
    """Return a figure as PNG and as SVG. What goes where is computed once."""
    png = _saved(figure, "png")
    figure.set_layout_engine("none")
    return png, _saved(figure, "svg")


def _saved(figure: Figure, form: str) -> bytes:
    """Return a figure as `png` or `svg`, without a time or a version."""
    buffer = io.BytesIO()
    metadata = {"Software": None} if form == "png" else {"Date": None, "Creator": None}
    figure.savefig(buffer, dpi=120, format=form, metadata=metadata)
    return buffer.getvalue()


def themed(svg: bytes) -> bytes:
    """Return an SVG as the page shows it: transparent, and readable in light and in dark."""
    head, mark, rest = svg.partition(b"<defs>")
    changes = ((INK, "var(--ink)"), (GREY, "var(--grid)"), (GROUND, "none"))
    for colour, other in changes:
        rest = rest.replace(colour.encode(), other.encode())
    return head + THEME + mark + rest


def blank(
    width: float, height: float, lines: int = 1, columns: int = 1, *, share: bool = False
) -> tuple[Figure, Array]:
    """Return an empty figure of the given inches and its axes, [lines, columns]."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    return figure, figure.subplots(lines, columns, squeeze=False, sharey=share)
