"""The lens figure of one data set: accuracy against the number of nodes that one task-ID
decision is made for.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from taamctl.report import lens_table, pictures
from taamctl.report.lens_table import LensRow
from taamctl.report.method_looks import Look, looks

if TYPE_CHECKING:
    from matplotlib.axes import Axes

KIND = "lens"
ROUTERS = {
    "amp": "--",
    "ridge": "-",
}  # the published router and the one that works per node; the table has them all


def names(dataset: str) -> list[str]:
    """Return the file names of a data set's figure."""
    return [f"{KIND}-{dataset}.{suffix}" for suffix in ("csv", "png", "svg")]


def draw(dataset: str, found: Sequence[LensRow]) -> pictures.Picture:
    """Draw AA against B, one panel per protocol; methods without task IDs are level lines."""
    mine = [r for r in found if r.dataset == dataset and r.part == "test" and r.mode == "hard"]
    title = "accuracy against the nodes that share one task-ID decision"
    caption = (
        f"{dataset}: AA (per cent, class-balanced, test part, own logit scope, after the last "
        "task) when one decision is made for B nodes in random order; solid: ridge router, "
        "dashed: AMP prototypes, dotted: no task ID. Left, every query graph holds one task's "
        "nodes; right, one graph holds all tasks'."
    )
    with pictures.settings(f"{KIND}-{dataset}"):
        figure, axes = pictures.blank(7.2, 3.4, 1, 2, share=True)
        for at, protocol in enumerate(("grouped", "mixed")):
            _panel(axes[0][at], [r for r in mine if r.protocol == protocol], at == 1)
            axes[0][at].set_title(protocol, fontsize=pictures.FONT)
        axes[0][0].set_ylabel("AA %")
        figure.suptitle(f"{dataset}: {title}", fontsize=pictures.FONT + 2)
        png, svg = pictures.both(figure)
    numbers = lens_table.comma_separated([r for r in found if r.dataset == dataset])
    return pictures.Picture(KIND, dataset, title, caption, False, png, svg, numbers)


def _lines(axis: Axes, own: Sequence[LensRow], look: Look) -> None:
    """Draw one method: a line per router, a level where nothing is routed."""
    for router, style in ROUTERS.items():
        line = sorted(_points(own, router))
        if line:
            axis.plot(
                *zip(*line, strict=True),
                style,
                color=look.colour,
                marker=look.marker,
                markersize=3,
                linewidth=1,
                label=f"{own[0].name}, {router}",
            )
    for r in own:
        if r.router in lens_table.UNROUTED and r.aa is not None:
            axis.axhline(100 * r.aa, linestyle=":", color=look.colour, linewidth=1.2, label=r.name)


def _panel(axis: Axes, found: Sequence[LensRow], legend: bool) -> None:
    names = list(dict.fromkeys((r.method, r.profile) for r in found))
    for which, look in zip(names, looks([method for method, _ in names]), strict=True):
        _lines(axis, [r for r in found if (r.method, r.profile) == which], look)
    axis.set_xscale("log")
    sizes = sorted({1, *(r.size for r in found if r.unit == "batch")})
    axis.set_xticks(sizes, labels=[str(b) for b in sizes])
    axis.minorticks_off()
    axis.set_xlabel("B, nodes per decision")
    if legend:
        axis.legend(fontsize=pictures.FONT - 2, loc="center left", bbox_to_anchor=(1.0, 0.5))


def _points(own: Sequence[LensRow], router: str) -> Iterator[tuple[int, float]]:
    """Yield nodes per decision and AA in per cent."""
    for row in own:
        if row.router == router and row.unit in ("node", "batch") and row.aa is not None:
            nodes = 1 if row.unit == "node" else row.size
            yield nodes, 100 * row.aa
