"""AnnData's .h5ad: features in X, labels in a column of obs, edges in a matrix of obsp."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.importing import h5ad_elements, roles
from taamctl.importing.arrays import only
from taamctl.importing.column_names import LABEL, guess, matching, named
from taamctl.importing.messages import quoted, shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import Table, opened
from taamctl.importing.ways import Unclear

if TYPE_CHECKING:
    import h5py

MAGIC = b"\x89HDF\r\n\x1a\n"
LABELS = (*LABEL, "celltype", "celltypes")
GRAPHS = ("adjacency", "adj", "edges", "graph", "connectivities")
NEIGHBOURS = "connectivities"  # how scanpy and squidpy end the names of graphs
OWN = "obs_names"


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what the file says; entry (i, j) of the matrix of edges that is not 0 is an edge.

    Args:
        options: `source` names the matrix of obsp, `label` the column of obs; `features` names X, a
            matrix of obsm or layers, or columns of X.

    Raises:
        TaamctlError: no such file, a damaged one, no graph in it or several.
    """
    path = only(paths, "an .h5ad file")
    with opened(path) as stream:
        if stream.read(8) != MAGIC:
            raise TaamctlError(
                f"{path} is no .h5ad file, or a compressed one",
                "unpack it first; --format names another format",
            )
    with h5ad_elements.opened_file(path) as file:
        return of_parts(_InFile(file), options, str(path))


class HasParts(Protocol):
    """What is read of an AnnData: obs, X, and what obsp, obsm and layers hold."""

    def obs(self) -> tuple[Array, dict[str, Array]]:
        """Return the names of the nodes [N], and the columns of obs."""

    def keys(self, at: str) -> list[str]:
        """Return what obsp, obsm or layers hold."""

    def matrix(self, at: str, key: str) -> Plain:
        """Return a matrix of them, dense or sparse."""

    def x(self) -> Plain:
        """Return X [N, F], or None."""

    def var_names(self) -> Array:
        """Return the names of the columns of X, [F]."""


class _InFile:
    """The parts in an opened file."""

    def __init__(self, file: h5py.File) -> None:
        self.file = file

    def obs(self) -> tuple[Array, dict[str, Array]]:
        return h5ad_elements.table(h5ad_elements.member(self.file, "obs"))

    def keys(self, at: str) -> list[str]:
        return h5ad_elements.names_in(self.file, at)

    def matrix(self, at: str, key: str) -> Plain:
        return h5ad_elements.matrix(h5ad_elements.member(self.file[at], key))

    def x(self) -> Plain:
        if "X" not in self.file:
            return None
        return h5ad_elements.matrix(h5ad_elements.member(self.file, "X"))

    def var_names(self) -> Array:
        return h5ad_elements.table(h5ad_elements.member(self.file, "var"))[0]


def of_parts(parts: HasParts, options: ImportOptions, where: str) -> RawGraph:
    """Return what the parts of an AnnData say.

    Raises:
        TaamctlError: no graph or several, no features, parts of different lengths.
    """
    import scipy.sparse as sp

    names, columns = parts.obs()
    key = _graph_key(parts.keys("obsp"), options.source, where)
    adjacency = sp.coo_matrix(parts.matrix("obsp", key))
    x, spelt, said = _features(parts, options.features, where)
    sizes = {len(names), *adjacency.shape, x.shape[0]}
    if len(sizes) > 1:
        raise TaamctlError(
            f"{where}: {len(names):,} rows of obs, edges {adjacency.shape}, features {x.shape}",
            "each has one row for every node; write the file again",
        )
    adjacency.eliminate_zeros()
    raw = _nodes(names, columns, options, where)
    return replace(
        raw,
        source=adjacency.row,
        target=adjacency.col,
        features=x,
        feature_names=spelt,
        by_row=True,
        notes=(*raw.notes, f"{where}: edges from {key!r} of obsp; features from {said}"),
        taken=None,
    )


def _nodes(
    names: Array, columns: Mapping[str, Array], options: ImportOptions, where: str
) -> RawGraph:
    """Return what obs says: names, labels, parts, times, tasks."""
    own = OWN
    while own in columns:
        own += "_"
    table = Table(where, {own: names, **columns})
    told = replace(options, source="", target="", features=(), id=options.id or own)
    told = replace(told, label=options.label or guess(columns, LABELS))
    if options.id:
        told = replace(told, ignore=(*options.ignore, own))
    return roles.nodes(table, told, features_elsewhere=True)


def _graph_key(keys: Sequence[str], stated: str, where: str) -> str:
    """Return the matrix of obsp that holds the edges: by option, else the only one, or the only one
    that is called like a graph of neighbours.
    """
    if stated:
        return named(stated, keys, where, "source")
    like = [key for key in keys if key.lower().endswith(NEIGHBOURS)]
    usual = [guess(keys, (word,)) for word in GRAPHS]
    for found in (keys, list(filter(None, usual)), like):
        if len(found) == 1:
            return found[0]
    if not keys:
        raise TaamctlError(
            f"{where} holds no graph: obsp is empty",
            "scanpy.pp.neighbors(adata) makes one of neighbours; then write the file again",
        )
    ways = [f"--source {quoted(key)}" for key in keys]
    raise Unclear(
        f"{where}: obsp holds {shown(', '.join(keys))}, and any of them can be the graph",
        f"say which: {' or '.join(ways[:4])}",
        ways,
    )


def _features(
    parts: HasParts, stated: tuple[str, ...], where: str
) -> tuple[Plain, tuple[str, ...], str]:
    """Return features, their names, and what they are from."""
    other = {key: at for at in ("obsm", "layers") for key in parts.keys(at)}
    if len(stated) == 1 and stated[0] in other:
        at = other[stated[0]]
        names = {"layers": _spelt(parts.var_names())}.get(at, ())
        return parts.matrix(at, stated[0]), names, f"{stated[0]!r} of {at}"
    x = parts.x()
    if x is None:
        raise TaamctlError(
            f"{where} holds no features: X is empty; there are {shown(', '.join(other)) or 'none'}",
            "--features KEY names a matrix of obsm or layers",
        )
    names = _spelt(parts.var_names())
    if stated in ((), ("X",)):
        return x, names, "X"
    chosen = set(matching(stated, names, where, "features"))
    columns = [i for i, name in enumerate(names) if name in chosen]
    return x[:, columns], tuple(names[i] for i in columns), f"{len(columns):,} columns of X"


def _spelt(names: Array) -> tuple[str, ...]:
    """Return the names of the columns of X; none where two are the same."""
    spelt = tuple(map(str, np.ravel(names).tolist()))
    return spelt if len(set(spelt)) == len(spelt) else ()
