"""Why a node is answered as it is, on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from taamctl.cli.console import Column, print_table

if TYPE_CHECKING:
    from taamctl.bank.explanation import Explanation

MOST = 20  # neighbours in a table


def show(found: Explanation, *, as_json: bool) -> None:
    """Print an explanation on stdout, as tables or as JSON."""
    if as_json:
        print(json.dumps(asdict(found), indent=1, allow_nan=False))
        return
    unknown = ", but unknown: no class of the bank seems to fit" * found.unknown
    classes = [
        (each.name, str(each.task), _percent(each.probability), f"{each.likeness:.2f}")
        for each in found.nearest
    ]
    said = f"{found.node} is answered {found.answer} ({_percent(found.confidence)} %){unknown}."
    print_table(
        [Column("class"), *(Column(n, right=True) for n in ("task", "probability %", "likeness"))],
        classes,
        notes=[said, "likeness: cosine of the node's profile and the mean one of the class."],
    )
    hops = [(str(h.hop), h.answer, _percent(h.of_the_answer)) for h in found.hops]
    print_table(
        [Column("hop", right=True), Column("alone it says"), Column("of the answer %", right=True)],
        hops,
        notes=[f"Hop {found.carried} carries the answer: alone it is the surest of it."],
    )
    print_table(
        [Column("neighbour"), Column("answered"), Column("%", right=True), Column("unknown")],
        [
            (each.node, each.answer, _percent(each.confidence), "yes" * each.unknown)
            for each in found.neighbours[:MOST]
        ],
        notes=_left_out(found),
    )


def _left_out(found: Explanation) -> list[str]:
    lines = []
    if len(found.neighbours) > MOST:
        lines.append(f"{len(found.neighbours) - MOST:,} more neighbours: --json lists them.")
    if found.others:
        lines.append(f"{found.others:,} neighbours are of the context and are not answered.")
    if not found.neighbours and not found.others:
        lines.append("It has no neighbour: its own features alone decide.")
    return lines


def _percent(share: float) -> str:
    return f"{100 * share:.1f}"
