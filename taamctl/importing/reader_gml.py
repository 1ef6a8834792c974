"""GML, read by networkx."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from taamctl.importing.networkx_adapter import read_by
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a file in GML says, without what only a drawing needs.

    Raises:
        TaamctlError: networkx is missing, or the file is damaged.
    """
    return read_by("read_gml", paths, options, "GML", label="id")
