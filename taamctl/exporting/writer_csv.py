"""A graph as two tables of text: its nodes with their features, and its edges."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from taamctl.exporting import csv_text, feature_text
from taamctl.exporting.node_tables import ends_of, node_tables
from taamctl.exporting.text_columns import TextColumns, require_text
from taamctl.exporting.whole import Plan, Whole


def plan(whole: Whole) -> Plan:
    """Return how to write NAME_nodes.csv and NAME_edges.csv.

    Raises:
        TaamctlError: no edges, or text that CSV cannot hold.
    """
    columns = node_tables(whole, "CSV")
    require_text(whole, columns, lambda text: "\0" in text, "CSV")
    options = replace(columns.options, delimiter=",", header="yes")

    def edges(path: Path) -> None:
        csv_text.write(path, (options.source, options.target), zip(*ends_of(whole), strict=True))

    return Plan(
        {
            "_nodes.csv": lambda path: _nodes(path, whole, columns),
            "_edges.csv": edges,
            **columns.files(),
        },
        options,
        columns.notes,
        columns.tables(),
    )


def _nodes(path: Path, whole: Whole, columns: TextColumns) -> None:
    stated = zip(*columns.cells.values(), strict=True)
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(csv_text.line((*columns.cells, *columns.features)))
        for block in whole.blocks():
            for numbers in feature_text.texts(block).tolist():
                before = csv_text.line(next(stated))[:-1]
                stream.write(f"{before},{','.join(numbers)}\n")
