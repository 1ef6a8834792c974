"""How right answers are, on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from taamctl.cli.console import Column, print_table

if TYPE_CHECKING:
    from taamctl.bank.score import Score

COLUMNS = ("class", "nodes", "right", "right %", "unknown", "mostly taken for")


def show(found: Score, *, as_json: bool) -> None:
    """Print a score on stdout, as a table or as JSON."""
    if as_json:
        print(json.dumps(asdict(found), indent=1, allow_nan=False))
        return
    lines = [
        (
            each.name + " (new)" * (not each.known),
            f"{each.nodes:,}",
            f"{each.right:,}" * each.known,
            f"{100 * each.right / each.nodes:.1f}" * each.known,
            f"{each.unknown:,}",
            each.taken_for,
        )
        for each in found.classes
    ]
    columns = [Column(name, right=name not in (COLUMNS[0], COLUMNS[-1])) for name in COLUMNS]
    print_table(columns, lines, notes=_notes(found))


def _notes(found: Score) -> list[str]:
    lines = []
    if found.accuracy is not None and found.balanced is not None:
        lines.append(
            f"{100 * found.accuracy:.1f} % of the nodes of known classes are right; mean over the "
            f"classes {100 * found.balanced:.1f} %. A node called unknown counts as wrong: "
            f"{100 * (found.unknown_known or 0):.1f} % of these are."
        )
    if found.unknown_new is not None:
        lines.append(
            f"(new): the bank does not know the class. {100 * found.unknown_new:.1f} % of such "
            "nodes are called unknown, as they should be."
        )
    if found.unlabelled:
        lines.append(f"{found.unlabelled:,} nodes have no label and count nowhere.")
    return lines
