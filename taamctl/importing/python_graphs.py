"""A graph from what other Python libraries hold in memory, by the same readers as from files."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, replace

import numpy as np
from numpy.typing import ArrayLike

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array, NodeGraph
from taamctl.importing import frames, reader_dgl, reader_h5ad, reader_pyg, reader_tables
from taamctl.importing.arrays import from_arrays
from taamctl.importing.assembly import assemble
from taamctl.importing.importers import require_ends
from taamctl.importing.messages import shown
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph

CHOICES = {
    "ends": ("", "rows", "ids"),
    "nan": ("refuse", "zero"),
    "bad_edges": ("refuse", "drop"),
    "bad_rows": ("refuse", "drop"),
}
KNOWN = (
    "a Data of PyG, a DGLGraph, a graph of networkx, an AnnData, a dict of arrays, a SciPy matrix "
    "of edges with x=, or a DataFrame of nodes with one of edges"
)


def graph_of(
    data: object,
    edges: object = None,
    *,
    x: ArrayLike | None = None,
    y: ArrayLike | None = None,
    ids: Sequence[object] | None = None,
    tasks: Mapping[str, object] | None = None,
    name: str = "graph",
    **options: str | bool | Sequence[str],
) -> NodeGraph:
    """Return a graph from an object of another library, checked as one from a file is.

    Nothing of that library is imported that is not there already. `graph.notes` says what was taken
    for what; `save_graph` keeps the graph.

    Args:
        data: one of:
            a Data or TemporalData of PyG, or a dict of arrays or tensors with its keys (`x` [N, F],
            `edge_index` [2, E], `y` [N]);
            a DGLGraph of one type, with `feat` and `label` in `ndata`;
            a graph of networkx, whose attributes of nodes are the columns;
            a pandas DataFrame of nodes, together with `edges`; an index that does not count the
            rows is a column;
            a SciPy sparse matrix [N, N], whose entry (i, j) that is not 0 is an edge, together with
            `x`;
            an AnnData with edges in `obsp`.
        edges: a DataFrame of edges, beside one of nodes.
        x: [N, F] features, dense or sparse, beside a SciPy matrix.
        y: [N] labels, numbers or text, beside a SciPy matrix; None: unlabelled.
        ids: [N] names of the nodes, beside a SciPy matrix.
        tasks: class -> task that it arrives with.
        name: what the graph is called in messages.
        options: as `taamctl data import` has them, such as `label="kind"`, `ends="rows"`,
            `features=["word_*"]`; a list where the option may be repeated. A context of old
            nodes is for files only.

    Raises:
        TaamctlError: no such object, an unknown option, or anything that the readers of files
            refuse; a hint names options, which are keywords here.
    """
    chosen = _options(options)
    _require_alone(data, edges, {"x": x, "y": y, "ids": ids})
    maker = next((make for fits, make in _MAKERS if fits(data)), None)
    if maker is None:
        raise TaamctlError(f"no graph can be made of {_kind(data)}", f"there can be: {KNOWN}")
    raw = maker(data, chosen, {"edges": edges, "x": x, "y": y, "ids": ids})
    if chosen.ends:
        require_ends(chosen.ends, raw, raw.where)
    if tasks is not None:
        raw = replace(raw, tasks=dict(tasks))
    return assemble(name, raw, chosen)


def _options(given: Mapping[str, object]) -> ImportOptions:
    """Return the options; text where a list is meant is a list of one."""
    usual = asdict(ImportOptions())
    del usual["no_class"]
    made: dict[str, Plain] = {}
    for name, value in given.items():
        if name not in usual:
            near = difflib.get_close_matches(name, usual, n=1)
            raise TaamctlError(
                f"graph_of has no option {name}",
                f"did you mean {near[0]}?" if near else f"there are: {', '.join(usual)}",
            )
        if isinstance(usual[name], tuple):
            value = (value,) if isinstance(value, str) else tuple(value)  # type: ignore[arg-type]
        if name in CHOICES and value not in CHOICES[name]:
            raise TaamctlError(
                f"{name}={shown(value)!r} is none of {', '.join(filter(None, CHOICES[name]))}",
                "the help of `taamctl data import` says what each means",
            )
        made[name] = value
    return ImportOptions(**made)


def _require_alone(data: object, edges: object, arrays: Mapping[str, object]) -> None:
    """Refuse arguments that would not be read."""
    surplus = [name for name, value in arrays.items() if value is not None]
    if edges is not None and not frames.is_frame(data):
        raise TaamctlError(f"edges= beside {_kind(data)}", "edges= belongs to a DataFrame of nodes")
    if surplus and not _is_sparse(data):
        raise TaamctlError(
            f"{surplus[0]}= beside {_kind(data)}",
            "x=, y= and ids= belong to a SciPy matrix of edges; else put them into the object",
        )


def _kind(data: object) -> str:
    return f"{type(data).__module__}.{type(data).__qualname__}"


def _has(*names: str) -> Callable[[object], bool]:
    return lambda data: all(hasattr(data, name) for name in names)


def _is_sparse(data: object) -> bool:
    import scipy.sparse as sp

    return bool(sp.issparse(data))


def _of_frames(data: Plain, options: ImportOptions, more: Mapping[str, Plain]) -> RawGraph:
    edges = more["edges"]
    if not frames.is_frame(edges):
        raise TaamctlError(
            f"a DataFrame of nodes beside {_kind(edges)}",
            "graph_of(nodes, edges) takes two: nodes (id, label, features) and edges (source, "
            "target)",
        )
    nodes = frames.held(data, frames.NODES)
    return reader_tables.of_two(nodes, frames.held(edges, frames.EDGES), options)


def _of_matrix(data: Plain, options: ImportOptions, more: Mapping[str, Plain]) -> RawGraph:
    where = "the matrix of edges"
    if data.shape[0] != data.shape[1]:
        raise TaamctlError(
            f"{where} has the shape {data.shape}", "it has a row and a column for every node"
        )
    arrays = {key: more[key] for key in ("x", "y", "ids") if more[key] is not None}
    arrays = {
        key: value if _is_sparse(value) else np.asarray(value) for key, value in arrays.items()
    }
    adjacency = data.tocoo()
    kept = adjacency.data != 0
    ends = (adjacency.row[kept], adjacency.col[kept])
    return from_arrays(arrays, options, where, ends, data.shape[0], by_row=True)


def _of_pyg(data: Plain, options: ImportOptions, _: object) -> RawGraph:
    return reader_pyg.of_object(data.to_dict(), options, "the Data")


def _of_dict(data: Plain, options: ImportOptions, _: object) -> RawGraph:
    return reader_pyg.of_object(dict(data), options, "the dict")


def _of_dgl(data: Plain, options: ImportOptions, _: object) -> RawGraph:
    from taamctl.graph.dgl_adapter import saved

    return reader_dgl.of_saved(saved(data, "the DGLGraph"), options, "the DGLGraph")


def _of_networkx(data: Plain, options: ImportOptions, _: object) -> RawGraph:
    from taamctl.importing.networkx_adapter import raw_of_graph

    return raw_of_graph(data, options, "the graph of networkx")


def _of_anndata(data: Plain, options: ImportOptions, _: object) -> RawGraph:
    return reader_h5ad.of_parts(_InMemory(data), options, "the AnnData")


class _InMemory:
    """The parts of an AnnData."""

    def __init__(self, data: Plain) -> None:
        self.data = data

    def obs(self) -> tuple[Array, dict[str, Array]]:
        """Return names and columns."""
        return np.asarray(self.data.obs_names, object), frames.columns_of(self.data.obs)

    def keys(self, at: str) -> list[str]:
        """Return keys."""
        return sorted(map(str, getattr(self.data, at)))

    def matrix(self, at: str, key: str) -> Plain:
        """Return a matrix."""
        found = getattr(self.data, at)[key]
        return found if _is_sparse(found) else np.asarray(found)

    def x(self) -> Plain:
        """Return X."""
        found = self.data.X
        return found if found is None or _is_sparse(found) else np.asarray(found)

    def var_names(self) -> Array:
        """Return the names of the columns of X."""
        return np.asarray(self.data.var_names, object)


_MAKERS: tuple[tuple[Callable[[object], bool], Callable[..., RawGraph]], ...] = (
    (frames.is_frame, _of_frames),
    (_is_sparse, _of_matrix),
    (lambda data: isinstance(data, Mapping), _of_dict),
    (_has("obs", "obsp", "var_names"), _of_anndata),
    (_has("ndata", "edata", "ntypes"), _of_dgl),
    (_has("nodes", "edges", "is_directed", "is_multigraph"), _of_networkx),
    (_has("to_dict", "num_nodes"), _of_pyg),
)
