"""From what a file of a user's says to a graph in canonical form, or to a refusal."""

from __future__ import annotations

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.outside import Outside
from taamctl.core.types import CSR, Array, Given, NodeGraph
from taamctl.graph import edge_classes
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, to_scipy
from taamctl.importing import context_edges, edge_ends
from taamctl.importing.bad_rows import told_by_lines
from taamctl.importing.context_names import Context
from taamctl.importing.given_stream import arrival_of, part_of, time_of
from taamctl.importing.no_label import Said
from taamctl.importing.node_labels import read_labels
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph


def assemble(
    name: str,
    raw: RawGraph,
    options: ImportOptions | None = None,
    context: Context | None = None,
) -> NodeGraph:
    """Return the graph, nodes in the file's order, edges as stored; the notes say everything that
    was changed.

    Args:
        options: what is done where the file leaves a doubt; None: refused.
        context: nodes of another graph, to which edges may lead; None: there is none.

    Raises:
        TaamctlError: counts that contradict each other, unknown or impossible node ids, features or
            labels that are no such thing.
    """
    options = options or ImportOptions()
    features, feature_notes = _features(raw, options.nan)
    n = features.shape[0]
    with told_by_lines(raw.node_lines):
        names_of_nodes = None
        if raw.node_id is not None:
            names_of_nodes = edge_ends.checked(raw.node_id, n, raw.where)
    with told_by_lines(raw.edge_lines if context is None else None):
        source, target, outside, end_notes = _ends(raw, n, names_of_nodes, options, context)
    adjacency, edge_notes = adjacency_from_edges(source, target, n, raw.edges_where or raw.where)
    with told_by_lines(raw.node_lines):
        labels, stated, label_notes = read_labels(
            raw.labels, n, raw.where, Said(options.unlabelled, options.class_word)
        )
    names = _named(stated, raw) if raw.class_names else stated
    given = _given(raw, n, stated, names, names_of_nodes)
    notes = (
        *raw.notes,
        *feature_notes,
        *end_notes,
        *edge_notes,
        *_direction(adjacency),
        *label_notes,
    )
    notes += (*_matched(raw, len(source)), *_classes_joined(adjacency, labels, len(names)))
    return NodeGraph(
        name,
        adjacency,
        features,
        labels,
        names,
        notes,
        given,
        tuple(raw.feature_names),
        outside,
    )


def _given(
    raw: RawGraph,
    n: int,
    stated: tuple[str, ...],
    names: tuple[str, ...],
    names_of_nodes: edge_ends.Names | None,
) -> Given:
    """Return what the file states of arrival, parts, time and names of nodes.

    Args:
        stated: the classes as the labels spell them. names: as they are called.
    """
    # tasks that the nodes state are of their labels, those of a table of the classes' names
    of_tasks = names if raw.tasks_where else stated
    with told_by_lines(raw.node_lines):
        part = part_of(raw, n)
    return Given(arrival_of(raw, of_tasks), part, time_of(raw, n), _kept(names_of_nodes))


def _matched(raw: RawGraph, edges: int) -> tuple[str, ...]:
    """Say what the ends of edges are."""
    if not edges:
        return ("there is no edge",)
    by_row = raw.node_id is None or raw.by_row
    what = "row numbers from 0" if by_row else "ids of nodes"
    return (f"both ends of {edges:,} edges are {what}",)


def _classes_joined(adjacency: CSR, labels: Array, classes: int) -> tuple[str, ...]:
    """Say how many edges lie inside a class, and whether that is no more than chance."""
    found = edge_classes.inside(adjacency, labels, classes)
    if found is None or classes < 2:
        return ()
    said: tuple[str, ...] = (
        f"{100 * found.share:.1f} % of the edges lie inside a class; by chance "
        f"{100 * found.chance:.1f} %",
    )
    if found.as_by_chance:
        said += (
            "warning: edges join classes as by chance: the ends of edges may mean other nodes "
            "(--id, --ends), or the labels no class (--label)",
        )
    return said


def _features(raw: RawGraph, nan: str) -> tuple[Array | CSR, tuple[str, ...]]:
    import scipy.sparse as sp

    x = raw.features
    if sp.issparse(x):
        if x.dtype.kind not in "iufb":
            raise TaamctlError(
                f"{raw.where}: features are {x.dtype}, expected numbers",
                "leave out what is no number, or turn it into numbers",
            )
        with np.errstate(over="ignore"):
            made: Array | CSR = from_scipy(x.astype(np.float32))
    else:
        x = np.asarray(x)
        if x.ndim == 1:
            x = x[:, None]
        if x.ndim != 2 or x.dtype.kind not in "iufb":
            raise TaamctlError(
                f"{raw.where}: features are {x.dtype} {x.shape}, expected one row of numbers per "
                "node",
                "turn text columns into numbers, or leave them out",
            )
        with np.errstate(over="ignore"):
            made = np.ascontiguousarray(x, np.float32)
    if not x.shape[0]:
        raise TaamctlError(f"{raw.where} holds no node", "check that the file is complete")
    if not x.shape[1]:
        raise TaamctlError(
            f"{raw.where} holds no feature",
            "without features there is nothing to propagate; node degrees in a column are a start",
        )
    return _finite(raw, made, str(x.dtype), nan)


def _finite(
    raw: RawGraph, made: Array | CSR, dtype: str, nan: str
) -> tuple[Array | CSR, tuple[str, ...]]:
    """Return features without NaN and infinities, or refuse them; and what was changed."""
    notes = []
    if dtype != "float32":
        notes.append(f"features cast from {dtype} to float32")
    values = made.data if isinstance(made, CSR) else made
    assert values is not None
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        if nan != "zero":
            _refuse_value(raw, made, int(wrong[0]), len(wrong))
        values.flat[wrong] = 0
        notes.append(f"{len(wrong):,} feature values that were not finite taken as 0")
        if isinstance(made, CSR):
            made = from_scipy(to_scipy(made))
    return made, tuple(notes)


def _refuse_value(raw: RawGraph, made: Array | CSR, at: int, count: int) -> None:
    if isinstance(made, CSR):
        assert made.data is not None
        row = int(np.searchsorted(made.indptr, at, side="right")) - 1
        column = int(made.indices[at])
        value = made.data[at]
    else:
        row, column = divmod(at, made.shape[1])
        value = made[row, column]
    called = f" ({raw.feature_names[column]})" if len(raw.feature_names) > column else ""
    more = f", and {count - 1:,} more" if count > 1 else ""
    raise TaamctlError(
        f"{raw.where}: feature {value} at row {row}, column {column}{called}{more}",
        "repair the rows, or take such values as 0 with --nan zero; a float32 holds at most 3.4e38",
    )


def _kept(names: edge_ends.Names | None) -> Array | None:
    """Return the nodes' names where they are not just their row numbers."""
    if names is None or names.are_rows():
        return None
    return names.text


Ends = tuple[Array, Array, Outside | None, tuple[str, ...]]


def _ends(
    raw: RawGraph,
    n: int,
    names: edge_ends.Names | None,
    options: ImportOptions,
    context: Context | None,
) -> Ends:
    """Return edge ends as node numbers, edges to nodes of the context, and what was left out."""
    where = raw.edges_where or raw.where
    source, target = np.asarray(raw.source).ravel(), np.asarray(raw.target).ravel()
    if len(source) != len(target):
        raise TaamctlError(
            f"{where}: {len(source):,} edge sources but {len(target):,} targets",
            "give both ends of every edge",
        )
    drop = options.bad_edges == "drop"
    outside, said = None, tuple[str, ...]()
    if names is None or raw.by_row:
        if context is not None:
            raise context_edges.by_row(context, where)
        *rows, notes = edge_ends.by_row(source, target, n, where, drop)
    else:
        if context is not None:
            source, target, outside, said = context_edges.apart(
                source, target, names, context, (raw.where, where)
            )
        *rows, notes = edge_ends.by_name(source, target, names, where, raw.hint_of_ids, drop)
    return rows[0], rows[1], outside, (*said, *notes)


def _direction(adjacency: CSR) -> tuple[str, ...]:
    m = to_scipy(adjacency, np.int8)
    notes: tuple[str, ...] = ()
    one_way = adjacency.nnz - int(m.multiply(m.T).nnz)
    if one_way:
        notes = (
            f"{one_way:,} of {adjacency.nnz:,} edges have no reverse: split.symmetrize decides "
            "whether they count both ways",
        )
    loops = int((m.diagonal() > 0).sum())
    if loops:
        notes = (*notes, f"{loops:,} self-loops kept")
    return notes


def _named(names: tuple[str, ...], raw: RawGraph) -> tuple[str, ...]:
    """Return the names that the file gives to the classes that its labels number."""
    stated = [str(n) for n in raw.class_names]
    fit = all(n.isdigit() and int(n) < len(stated) for n in names)
    if not fit or len(set(stated)) < len(stated):
        raise TaamctlError(
            f"{raw.where}: {len(stated)} class names do not fit the labels {', '.join(names[:10])}",
            "class names are listed in the order of the labels 0, 1, ..., each once",
        )
    return tuple(stated[int(n)] for n in names)
