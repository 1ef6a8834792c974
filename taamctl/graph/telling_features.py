"""Features that are no features: the class itself in another form, the row number, a constant, the
time, the part. Pure functions on a sample of the rows, so that a million rows take no longer than
some thousands; the sample is the same every time.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from taamctl.core.types import CSR, Array, NodeGraph
from taamctl.graph.canonical import to_scipy

ROWS = 4000  # nodes looked at for a first suspicion
CELLS = 20_000_000  # fewer, where there are very many features
CHECKED = 20_000  # nodes on which a suspicion must hold
LEAST = 10  # nodes, among fewer everything fits by chance
SURE = 0.97  # share of neighbours in the order of a feature that are of one class, beyond chance
FILLED = 0.5  # columns of sparse features filled less cannot put classes in an order
SHOWN = 8  # features named in one sentence
BLOCK = 256  # columns at a time


@dataclass(frozen=True)
class Telling:
    """Features that tell what they should not.

    Attributes:
        kind: class, part, time, row or constant.
        what: the sentence's end, after the names of the features.
        columns: numbers of the features.
    """

    kind: str
    what: str
    columns: tuple[int, ...]


def telling(graph: NodeGraph) -> list[Telling]:
    """Return the features of a graph that tell the class, the part or the time of a node, count
    the rows, or never change; each in one entry, the gravest first.
    """
    n, width = graph.features.shape
    if n < LEAST or not width:
        return []
    said = {
        "class": "tells the class: a training on it learns nothing else",
        "part": "tells the part (train, val, test) of a node",
        "time": "is the time of a node",
        "row": "counts the rows of the file",
        "constant": "is the same for every node",
    }
    found: dict[str, list[int]] = {kind: [] for kind in said}
    seen = set[int]()
    for kind, columns in _kinds(graph):
        found[kind] = [column for column in columns if column not in seen]
        seen |= {*columns}
    return [Telling(kind, said[kind], tuple(found[kind])) for kind in said if found[kind]]


def _kinds(graph: NodeGraph) -> Iterator[tuple[str, list[int]]]:
    """Yield kind -> features of that kind."""
    varying, given = _varying(graph), graph.given
    yield "constant", sorted({*range(graph.features.shape[1])} - {*varying})
    yield "row", _like(graph, varying, np.arange(graph.num_nodes, dtype=np.float64))
    if given.time is not None:
        yield "time", _like(graph, varying, given.time)
    if given.part is not None:
        yield "part", _of_groups(graph, varying, given.part, values_tell=False)
    yield "class", _of_groups(graph, varying, graph.labels, values_tell=True)


def _sampled(known: Array, most: int, seed: int) -> Array:
    """Return at most `most` of the rows, in an order that tells nothing; the same every time."""
    rng = np.random.default_rng(seed)
    if len(known) <= most:
        return rng.permutation(known)
    return rng.choice(known, most, replace=False)


def _blocks(graph: NodeGraph, rows: Array, columns: Sequence[int]) -> Iterator[tuple[Array, Array]]:
    """Yield some of the columns, and their values in some of the rows, until all are through."""
    x, wanted = graph.features, np.asarray(columns, np.int64)
    blocks = [wanted[low : low + BLOCK] for low in range(0, len(wanted), BLOCK)]
    if isinstance(x, CSR):
        some = to_scipy(x)[rows].tocsc()
        yield from ((block, np.asarray(some[:, block].toarray())) for block in blocks)
    else:
        dense = x[rows]
        yield from ((block, np.asarray(dense[:, block])) for block in blocks)


def _varying(graph: NodeGraph) -> list[int]:
    """Return the features that hold more than one value."""
    x = graph.features
    if not isinstance(x, CSR):
        return [int(c) for c in np.flatnonzero((x != x[:1]).any(0))]
    matrix = to_scipy(x)
    filled = np.bincount(x.indices, minlength=x.shape[1])
    low, high = (np.asarray(m.todense()).ravel() for m in (matrix.min(0), matrix.max(0)))
    return [int(c) for c in np.flatnonzero((filled > 0) & (low != high))]


def _rows_at_first(width: int) -> int:
    return max(500, min(ROWS, CELLS // max(1, width)))


def _like(graph: NodeGraph, columns: Sequence[int], values: Array) -> list[int]:
    """Return the features that put the nodes in the order of `values`, ties included."""
    known = np.flatnonzero(np.isfinite(values))
    rows = _sampled(known, min(_rows_at_first(len(columns)), 1000), seed=1)
    if len(rows) < LEAST or len(np.unique(values[rows])) < 2:
        return []
    order = np.argsort(values[rows], kind="stable")
    rows, new = rows[order], np.diff(values[rows][order]) > 0
    found: list[int] = []
    if isinstance(graph.features, CSR):
        filled = np.bincount(graph.features.indices, minlength=graph.features.shape[1])
        columns = [c for c in columns if filled[c] > FILLED * graph.num_nodes]
    for block, x in _blocks(graph, rows, columns):
        steps = np.diff(x.astype(np.float64), axis=0)
        same = ((steps > 0) == new[:, None]).all(0) & (steps >= 0).all(0)
        found += block[same].tolist()
    return found


def _of_groups(
    graph: NodeGraph, columns: Sequence[int], group: Array, *, values_tell: bool
) -> list[int]:
    """Return the features that are made from the group of a node.

    Args:
        group: [N] the group of every node, -1 for none.
        values_tell: features of many values count too, where nodes of near values are of one group.
    """
    known = np.flatnonzero(group >= 0)
    rows = _sampled(known, _rows_at_first(len(columns)), seed=0)
    if len(rows) < LEAST or len(np.unique(group[rows])) < 2:
        return []
    suspects = _suspects(graph, columns, rows, group, values_tell)
    if len(known) <= len(rows) or not suspects:
        return suspects
    return _suspects(graph, suspects, _sampled(known, CHECKED, seed=2), group, values_tell)


def _suspects(
    graph: NodeGraph, columns: Sequence[int], rows: Array, group: Array, values_tell: bool
) -> list[int]:
    codes = np.unique(group[rows], return_inverse=True)[1]
    if isinstance(graph.features, CSR):
        columns = _by_counts(graph.features, columns, rows, codes, values_tell)
    found: list[int] = []
    for block, x in _blocks(graph, rows, columns):
        wrong = _made_from(x, codes)
        if values_tell:
            wrong |= _in_its_order(x, codes)
        found += block[wrong].tolist()
    return found


def _by_counts(
    x: CSR, columns: Sequence[int], rows: Array, codes: Array, values_tell: bool
) -> list[int]:
    """Return the columns of sparse features that may be made from groups: filled for whole groups,
    or for most nodes; a look at counts alone, as there may be very many columns.
    """
    some = to_scipy(x)[rows]
    filled = sp.csr_matrix((np.ones(some.nnz), some.indices, some.indptr), some.shape)
    sizes = np.bincount(codes)
    member = sp.csr_matrix((np.ones(len(codes)), (codes, np.arange(len(codes)))))
    counts = (member @ filled).tocsc()
    nonzero = np.diff(counts.indptr)
    whole = np.bincount(
        np.repeat(np.arange(counts.shape[1]), nonzero),
        counts.data == sizes[counts.indices],
        minlength=counts.shape[1],
    )
    total = np.asarray(counts.sum(0)).ravel()
    may = (nonzero > 0) & (whole == nonzero)
    if values_tell:
        may |= total > FILLED * len(codes)
    return [int(column) for column in columns if may[column]]


def _made_from(x: Array, codes: Array) -> Array:
    """Tell which columns are the same for all nodes of a group, and not for all groups: a code of
    the group, one of its one-hot columns, a family of groups.

    Columns in which few nodes differ from the rest do not count: a rare word in a small class.
    """
    order = np.argsort(codes, kind="stable")
    starts = np.flatnonzero(np.diff(codes[order], prepend=-1))
    low = np.minimum.reduceat(x[order], starts, axis=0)
    high = np.maximum.reduceat(x[order], starts, axis=0)
    sizes = np.bincount(codes)
    constant = (low == high).all(0)
    usual = np.zeros(x.shape[1], np.int64)
    for c in np.flatnonzero(constant):
        usual[c] = np.bincount(np.unique(low[:, c], return_inverse=True)[1], sizes).max()
    # groups of one node are constant in every column
    enough = (len(codes) - usual >= LEAST) & (len(codes) >= 3 * len(sizes))
    found: Array = constant & enough
    return found


def _in_its_order(x: Array, codes: Array) -> Array:
    """Tell which columns put nearly all nodes beside one of their own group.

    Groups beside each other by chance are subtracted, so that one large group is no reason.
    """
    near = codes[np.argsort(x, axis=0, kind="stable")]
    beside = (near[1:] == near[:-1]).mean(0)
    share = np.bincount(codes) / len(codes)
    chance = float((share**2).sum())
    small = len(codes) < 3 * len(share) or chance >= 1
    found: Array = (beside - chance >= SURE * (1 - chance - len(share) / len(codes))) & (not small)
    return found


def sentence(found: Telling, names: Sequence[str]) -> str:
    """Return what to say of such features, by their names where they have some."""
    called = [names[c] if names else f"column {c}" for c in found.columns]
    shown = ", ".join(map(repr, called[:SHOWN]))
    more = f" and {len(called) - SHOWN:,} more" * (len(called) > SHOWN)
    if len(called) == 1:
        return f"the feature {shown} {found.what}"
    return f"each of the {len(called):,} features {shown}{more} {found.what}"


def mend(found: Telling, names: Sequence[str]) -> str:
    """Return what leaves such features out: options of `taamctl data import`, where they have
    names that a shell takes.
    """
    if not names:
        return "leave these columns out of the features, and import the graph anew"
    ignored = " ".join(f"--ignore {shlex.quote(names[c])}" for c in found.columns[:SHOWN])
    more = " and so on" * (len(found.columns) > SHOWN)
    return f"import it anew with {ignored}{more}, if it is none to learn from"
