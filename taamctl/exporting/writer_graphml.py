"""A graph as GraphML: every stored edge has a direction, features that are 0 are left to the
default of their key.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import IO
from xml.sax.saxutils import escape, quoteattr

import numpy as np

from taamctl.exporting import feature_text
from taamctl.exporting.text_columns import TextColumns, require_text, text_columns
from taamctl.exporting.whole import Plan, Whole

# characters that XML 1.0 does not hold, however they are written
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n'
    '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">\n'
)


def plan(whole: Whole) -> Plan:
    """Return how to write NAME.graphml.

    Raises:
        TaamctlError: text that XML cannot hold.
    """
    columns = text_columns(whole, "GraphML")
    require_text(whole, columns, lambda text: bool(_NO_XML.search(text)), "XML")
    return Plan(
        {".graphml": lambda path: _write(path, whole, columns), **columns.files()},
        columns.options,
        columns.notes,
        columns.tables(),
    )


def _write(path: Path, whole: Whole, columns: TextColumns) -> None:
    with path.open("w", encoding="utf-8", newline="") as stream:
        stream.write(_HEAD)
        for number, name in enumerate(columns.cells):
            _key(stream, f"c{number}", name, "string")
        for number, name in enumerate(columns.features):
            _key(stream, f"x{number}", name, "double", "<default>0</default>")
        stream.write('<graph edgedefault="directed">\n')
        ids = [_attribute(name) for name in whole.ids]
        stream.writelines(_nodes(whole, columns, ids))
        for source, target in zip(whole.source.tolist(), whole.target.tolist(), strict=True):
            stream.write(f"<edge source={ids[source]} target={ids[target]}/>\n")
        stream.write("</graph>\n</graphml>\n")


def _key(stream: IO[str], key: str, name: str, kind: str, default: str = "") -> None:
    called = _attribute(name)
    stream.write(
        f'<key id="{key}" for="node" attr.name={called} attr.type="{kind}">{default}</key>\n'
    )


def _nodes(whole: Whole, columns: TextColumns, ids: list[str]) -> Iterator[str]:
    """Yield the elements of the nodes."""
    stated = [
        [f'<data key="c{number}">{_text(cell)}</data>' for cell in cells]
        for number, cells in enumerate(columns.cells.values())
    ]
    row = 0
    for block in whole.blocks():
        spelt = feature_text.texts(block)
        for values, numbers in zip(block, spelt, strict=True):
            there = np.flatnonzero((values != 0) | np.signbit(values)).tolist()
            data = [cells[row] for cells in stated]
            data += [f'<data key="x{column}">{numbers[column]}</data>' for column in there]
            yield f"<node id={ids[row]}>{''.join(data)}</node>\n"
            row += 1


def _text(text: str) -> str:
    return escape(text, {"\r": "&#13;"})


def _attribute(text: str) -> str:
    """Return an attribute's value in quotes; line ends are spelled so that they stay."""
    return quoteattr(text, {"\r": "&#13;", "\n": "&#10;", "\t": "&#9;"})
