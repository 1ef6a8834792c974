"""Rewrite a user's own graph, `data/NAME.h5`, in the present version."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError
from taamctl.datasets import _graph_file, _imported
from taamctl.runtime import provenance
from taamctl.store.atomic_files import sweep
from taamctl.store.graph_kind import GRAPH
from taamctl.store.lock import writing
from taamctl.store.rewrite import rewrite


def file_of(given: str) -> Path:
    """Return the file of an own graph that is given by its file or by its name.

    Raises:
        TaamctlError: there is none.
    """
    if Path(given).suffix == ".h5":
        return Path(given)
    found = data_set(given).imported
    if found is None:
        raise TaamctlError(
            f"{given} is no graph of your own: it comes with taamctl or a plug-in",
            "name a graph that taamctl data import wrote, or its file",
        )
    return found


def file_if_given(given: str) -> Path | None:
    """Return the file of an own graph; None where none is given.

    Raises:
        TaamctlError: there is none.
    """
    if not given:
        return None
    return file_of(given)


def upgrade(path: Path, *, wait: bool, tell: Callable[[str], None]) -> int | None:
    """Rewrite a graph in the present version, and give it a record where it has none; return the
    version that it had, or None where it had the present one already.

    Raises:
        TaamctlError: missing, damaged, no graph, or of a newer version.
    """
    if not path.is_file():  # before a lock file is put beside nothing
        raise TaamctlError(f"no file {path}", f"make it with: {_imported.MADE_BY}")
    with writing(path, wait=wait, tell=tell):
        sweep(path)
        with _imported.opened(path) as graph:
            recorded = provenance.recorded(path) is not None
            if graph.version == GRAPH.version and recorded:
                return None
            for place in graph.paths():
                graph.verify(place)
        command = (provenance.recorded(path) or {}).get("command", "")
        _graph_file.forget(path)
        before = rewrite(path, GRAPH)
        _graph_file.keep(path, command)
        return before
