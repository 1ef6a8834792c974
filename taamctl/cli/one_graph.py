"""The graph of a call, and the one whose nodes are its neighbours."""

from __future__ import annotations

import shlex
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from typer import Option

from taamctl.core.data_set import data_set
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.bank.graph_source import Source

HDF5 = b"\x89HDF"  # what every such file begins with
TABLES = (".csv", ".tsv", ".txt", ".parquet", ".xlsx")


@dataclass(frozen=True)
class OneGraph:
    """The graph of a call: a file or a data set."""

    graph: Annotated[
        Path | None, Option("--graph", help="Graph file, as `taamctl data import` writes it.")
    ] = None
    dataset: Annotated[str | None, Option("--dataset", help="Data set instead of a file.")] = None
    context: Annotated[
        str,
        Option(
            "--context",
            metavar="NAME|FILE",
            help="The graph that this one was imported with: old neighbours of new nodes.",
        ),
    ] = ""


def context_of(named: OneGraph) -> Source | None:
    """Return the graph of neighbours that a call names; None where it names none."""
    from taamctl.bank import graph_source
    from taamctl.importing.upgrade_graph import file_of

    if not named.context:
        return None
    return graph_source.from_file(file_of(named.context))


def source_of(
    named: OneGraph, data_root: Path | None, params: Path | None, overrides: list[str] | None
) -> Source:
    """Return the graph that a call names."""
    from taamctl.bank import graph_source
    from taamctl.runtime.raw_files import data_root as find_root

    if named.graph is not None and named.dataset is None:
        require_imported(named.graph)
        return graph_source.from_file(named.graph)
    if named.graph is not None or named.dataset is None:
        raise TaamctlError("name one graph", "with --graph FILE or --dataset NAME")
    own = own_params(named.dataset, params, overrides)
    return graph_source.from_dataset(named.dataset, find_root(data_root), own)


def with_context(
    named: OneGraph, data_root: Path | None, params: Path | None, overrides: list[str] | None
) -> Source:
    """Return the graph that a call names and its context as one; of the two, nothing is held any
    longer then.
    """
    from taamctl.bank.context import joined

    source = source_of(named, data_root, params, overrides)
    context = context_of(named)
    if context is None:
        return source
    return joined(source, context)


def own_params(dataset: str, params: Path | None, overrides: list[str] | None) -> object:
    """Return a data set's own section of the parameters, or None."""
    from taamctl.params import params_file, plugin_params
    from taamctl.params import sections as parameters

    path, _ = params_file.locate(params)
    tree = plugin_params.read(path, overrides or (), used=False)
    plugin_params.complete(tree, "datasets", dataset)
    cls = data_set(dataset).meta.params
    return parameters.Params(str(path), tree).plugin("datasets", dataset, cls)


def graph_to_answer(
    named: OneGraph, data_root: Path | None, params: Path | None, overrides: list[str] | None
) -> Path | Source:
    """Return the graph that is to be answered; of a file its path, so that it need not fit into
    memory.
    """
    if named.graph is not None and named.dataset is None:
        require_imported(named.graph)
        return named.graph
    return source_of(named, data_root, params, overrides)


def require_imported(file: Path) -> None:
    """Refuse a file that is there and was never imported, such as a table, before anything opens
    it as a graph.
    """
    if file.suffix == ".h5" or not file.is_file():
        return
    with file.open("rb") as handle:
        if handle.read(len(HDF5)) == HDF5:
            return
    kind = "a file of another kind"
    if file.suffix in TABLES:
        kind = "a table"
    raise TaamctlError(
        f"{file} is {kind}, not an imported graph",
        f"import it first: taamctl data import {shlex.quote(str(file))} EDGES --name new; "
        "then name data/new.h5",
    )
