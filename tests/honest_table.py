"""The table of docs/honest-answers.md, from what `honest_check.py` measured.

python tests/honest_table.py tests/golden/honest_answers.json
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import Any

import numpy as np

COLUMNS = {
    "AUROC": "auroc",
    "false alarms": "false",
    "of all runs": "false_span",
    "hits": "hits",
    "in a stream": "stream_span",
    "ECE (before)": "ece",
    "log loss (before)": "loss",
    "coverage": "coverage",
    "of a task": "coverage_least",
    "set size": "size",
}


def lines(kept: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    """Yield the table of all that was kept."""
    yield "| | order | draws | " + " | ".join(COLUMNS) + " |"
    yield "|---" * (3 + len(COLUMNS)) + "|"
    named = itemgetter("dataset", "classes")
    for name, order in dict.fromkeys(map(named, kept)):
        of = [each for each in kept if named(each) == (name, order)]
        runs = [run for each in of for run in each["runs"]]
        stream = [value for each in of for value in each["stream"]]
        cells = [_cell(key, runs, stream) for key in COLUMNS.values()]
        yield f"| {name.capitalize()} | {order} | {len(of)} | " + " | ".join(cells) + " |"


def _cell(key: str, runs: Sequence[Mapping[str, float]], stream: Sequence[float]) -> str:
    def mean(key: str) -> float:
        return float(np.mean([run[key] for run in runs]))

    if key.endswith("_span"):
        values = stream if key == "stream_span" else [run["false"] for run in runs]
        return f"{min(values):.1f} to {max(values):.1f}"
    if key == "loss":
        return f"{mean('loss'):.2f} ({mean('loss_before'):.2f})"
    if key == "ece":
        return f"{mean('ece'):.1f} ({mean('ece_before'):.1f})"
    return f"{mean(key):.1f}"


def table(path: Path) -> str:
    """Return the table of what a file keeps."""
    return "\n".join(lines(json.loads(path.read_text(encoding="utf-8"))))


if __name__ == "__main__":
    print(table(Path(sys.argv[1])))
