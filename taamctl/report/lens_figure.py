"""The lens figure of one data set: accuracy against the number of nodes that one task-ID
decision is made for.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from taamctl.report import figures, lens_table

Row = Mapping[str, Any]
KIND = "lens"
ROUTERS = {
    "amp": "--",
    "ridge": "-",
}  # the published router and the one that works per node; the table has them all


def names(dataset: str) -> list[str]:
    """Return the file names of a data set's figure."""
    return [f"{KIND}-{dataset}.{suffix}" for suffix in ("csv", "png", "svg")]


def draw(dataset: str, found: Sequence[Row]) -> figures.Picture:
    """Draw AA against B, one panel per protocol; methods without task IDs are level lines."""
    mine = [
        r for r in found if r["dataset"] == dataset and r["part"] == "test" and r["mode"] == "hard"
    ]
    title = "accuracy against the nodes that share one task-ID decision"
    caption = (
        f"{dataset}: AA (per cent, class-balanced, test part, own logit scope, after the last "
        "task) when one decision is made for B nodes in random order; solid: ridge router, "
        "dashed: AMP prototypes, dotted: no task ID. Left, every query graph holds one task's "
        "nodes; right, one graph holds all tasks'."
    )
    with figures.settings(f"{KIND}-{dataset}"):
        figure, axes = figures.blank(7.2, 3.4, 1, 2, share=True)
        for at, protocol in enumerate(("grouped", "mixed")):
            _panel(axes[0][at], [r for r in mine if r["protocol"] == protocol], at == 1)
            axes[0][at].set_title(protocol, fontsize=figures.FONT)
        axes[0][0].set_ylabel("AA %")
        figure.suptitle(f"{dataset}: {title}", fontsize=figures.FONT + 2)
        png, svg = (figures.saved(figure, form) for form in ("png", "svg"))
    numbers = lens_table.comma_separated([r for r in found if r["dataset"] == dataset])
    return figures.Picture(KIND, dataset, title, caption, False, png, svg, numbers)


def _panel(axis: Any, found: Sequence[Row], legend: bool) -> None:
    methods = list(dict.fromkeys((r["method"], r["profile"]) for r in found))
    for i, (method, profile) in enumerate(methods):
        colour, marker = (
            figures.COLOURS[i % len(figures.COLOURS)],
            figures.MARKERS[i % len(figures.MARKERS)],
        )
        own = [
            r
            for r in found
            if (r["method"], r["profile"]) == (method, profile) and r["aa"] is not None
        ]
        name = f"{method} ({profile})" if profile else method
        for router, style in ROUTERS.items():
            line = sorted(
                (1 if r["unit"] == "node" else r["size"], 100 * r["aa"])
                for r in own
                if r["router"] == router and r["unit"] in ("node", "batch")
            )
            if line:
                axis.plot(
                    *zip(*line, strict=True),
                    style,
                    color=colour,
                    marker=marker,
                    markersize=3,
                    linewidth=1,
                    label=f"{name}, {router}",
                )
        for r in own:
            if r["router"] in lens_table.UNROUTED:
                axis.axhline(100 * r["aa"], linestyle=":", color=colour, linewidth=1.2, label=name)
    axis.set_xscale("log")
    sizes = sorted({1, *(r["size"] for r in found if r["unit"] == "batch")})
    axis.set_xticks(sizes, labels=[str(b) for b in sizes])
    axis.minorticks_off()
    axis.set_xlabel("B, nodes per decision")
    if legend:
        axis.legend(fontsize=figures.FONT - 2, loc="center left", bbox_to_anchor=(1.0, 0.5))
