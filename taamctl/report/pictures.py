"""A figure's bytes, and what all figures share: the same rows give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from taamctl.core.types import Array

if TYPE_CHECKING:
    from matplotlib.figure import Figure

GREY = "#e6e6e6"
INK = "#1a1a1a"
GROUND = "#fefefe"  # told apart from white text on a heat map
CAPTION = "caption"  # the group of an SVG that holds it
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

    Attributes:
        small_print: points that the caption takes at the foot of the picture.
    """

    kind: str
    dataset: str
    title: str
    caption: str
    timed: bool
    png: bytes
    svg: bytes
    csv: str
    small_print: float = 0.0

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


def themed(picture: Picture) -> bytes:
    """Return a picture's SVG as the page shows it: transparent, readable in light and in dark, and
    without the caption, which stands below it.
    """
    head, mark, rest = _without_caption(picture.svg).partition(b"<defs>")
    for colour, other in ((INK, "var(--ink)"), (GREY, "var(--grid)"), (GROUND, "none")):
        rest = rest.replace(colour.encode(), other.encode())
    return _cropped(head, picture.small_print) + THEME + mark + rest


def _without_caption(svg: bytes) -> bytes:
    """Return an SVG without the group of its caption; shapes of letters, which others use, stay."""
    start = svg.find(f'<g id="{CAPTION}">'.encode())
    if start < 0:
        return svg
    depth = 0
    for found in re.finditer(rb"<g\b|</g>", svg[start:]):
        depth += {b"<g": 1}.get(found[0], -1)
        if depth == 0:
            end = start + found.end()
            letters = b"".join(re.findall(rb"<defs>.*?</defs>", svg[start:end], flags=re.DOTALL))
            return svg[:start] + letters + svg[end:]
    return svg


def _cropped(head: bytes, points: float) -> bytes:
    """Return the head of an SVG that ends that many points higher."""
    found = re.search(rb'height="([0-9.]+)pt" viewBox="0 0 ([0-9.]+) ([0-9.]+)"', head)
    if found is None:
        return head
    height = f"{float(found[1]) - points:.2f}"
    size = f'height="{height}pt" viewBox="0 0 {found[2].decode()} {height}"'
    return head.replace(found[0], size.encode())


def blank(
    width: float,
    height: float,
    lines: int = 1,
    columns: int = 1,
    *,
    share: bool = False,
    heights: Sequence[float] | None = None,
) -> tuple[Figure, Array]:
    """Return an empty figure of the given inches and its axes, [lines, columns].

    Args:
        share: one y axis for all. heights: of the lines, beside each other; None: all the same.
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(lines, columns, squeeze=False, sharey=share, height_ratios=heights)
    return figure, axes
