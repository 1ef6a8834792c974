"""How right answers are, on the terminal."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING

from taamctl.cli.console import Column, print_table

if TYPE_CHECKING:
    from taamctl.bank.reliability import Reliability
    from taamctl.bank.score import Score

BAR = 30  # letters of a whole bar
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
    if found.reliability is not None:
        _show_reliability(found.reliability)


def _show_reliability(of: Reliability) -> None:
    """Print the reliability figure: a bar for how many of the answers of a confidence are right."""
    rows = [
        (f"{100 * b.confidence:.1f}", f"{100 * b.right:.1f}", f"{b.nodes:,}", _bar(b.right))
        for b in of.bins
    ]
    lines = [
        f"Of nodes of known classes. ECE {100 * of.ece:.1f} % (before calibration "
        f"{100 * of.ece_before:.1f} %), log loss {of.log_loss:.3f} ({of.log_loss_before:.3f})."
    ]
    if of.coverage is not None and of.set_size is not None:
        tasks = ", ".join(f"{task}: {100 * held:.1f} %" for task, held in of.task_coverage.items())
        lines.append(
            f"{100 * of.coverage:.1f} % of the sets hold the right class; they have "
            f"{of.set_size:.2f} classes on average. By task: {tasks}."
        )
    columns = [Column(name, right=True) for name in ("confidence %", "right %", "nodes")]
    print_table([*columns, Column("")], rows, notes=lines)


def _bar(share: float) -> str:
    return "#" * round(BAR * share)


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
