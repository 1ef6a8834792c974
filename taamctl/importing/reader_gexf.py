"""GEXF, read by networkx."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.importing.networkx_adapter import read_by
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.xml_head import refuse_doctype


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a file in GEXF says, without what only a drawing needs.

    Raises:
        TaamctlError: networkx is missing, the file is damaged, or it declares a document type.
    """
    for path in paths:
        refuse_doctype(path)
    return read_by("read_gexf", paths, options, "GEXF")
