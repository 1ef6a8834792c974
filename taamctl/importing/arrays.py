"""A graph in named arrays, as npz files, DGL graphs and PyG objects hold it: which array means
what, by option or by its name.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.cells import times
from taamctl.importing.node_ids import ends_of, rows_or_ids, usable_names
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph, parts_from_masks, plain_labels
from taamctl.importing.roles import guess, matching, named, plain, refuse_both, tasks_of_nodes

FEATURES = (
    "x",
    "feat",
    "feats",
    "feature",
    "features",
    "nodefeat",
    "nodefeats",
    "nodefeatures",
    "attr",
    "attrs",
    "h",
)
LABEL = ("y", "label", "labels", "nodelabel", "nodelabels", "nodey")
EDGES = ("edgeindex", "edges", "edgelist")
ENDS = (("src", "dst"), ("source", "target"), ("row", "col"), ("u", "v"))
TIME = ("time", "t", "nodetime", "nodeyear", "year", "timestamp")
PART = ("part", "split")
TASK = ("task", "taskid")
ID = (
    "nodeid",
    "nodeids",
    "id",
    "ids",
    "nid",
    "nids",
    "uid",
    "vertexid",
    "name",
    "names",
    "nodename",
    "nodenames",
)
MASKS = {
    "train": ("trainmask", "trainindex", "trainidx"),
    "val": ("valmask", "validmask", "valindex", "validx", "valididx"),
    "test": ("testmask", "testindex", "testidx"),
}


def from_arrays(
    arrays: Mapping[str, Any],
    options: ImportOptions,
    where: str,
    ends: tuple[Any, Any] | None = None,
    nodes: int | None = None,
    notes: tuple[str, ...] = (),
    by_row: bool = False,
) -> RawGraph:
    """Return what named arrays say; the option names a key where the usual names do not tell.

    Args:
        arrays: key -> array or scipy sparse matrix.
        ends: [E] sources and targets; None: an array [2, E] or [E, 2], or two arrays.
        nodes: N where it is known, beside the features.
        notes: what the reader has to say.
        by_row: ends are row numbers by definition: an array of names names the nodes, and moves no
            edge.

    Raises:
        TaamctlError: no features, no edges, a key that is not there, a mask of another length, ends
            that can be read in two ways.
    """
    keys = [k for k in arrays if k not in matching(options.ignore, list(arrays), where, "ignore")]
    wanted = matching(options.features, keys, where, "features")
    chosen = wanted or tuple(k for k in [guess(keys, FEATURES)] if k)
    if not chosen:
        raise TaamctlError(
            f"{where} holds no features: none of {', '.join(keys) or 'nothing'} is called x or "
            "feat",
            "--features KEY names them; without features there is nothing to propagate",
        )
    x = _side_by_side([arrays[k] for k in chosen], chosen, where)
    if nodes is not None and np.shape(x)[0] != nodes:
        raise TaamctlError(
            f"{where}: {np.shape(x)[0]:,} feature rows ({', '.join(chosen)}) for {nodes:,} nodes",
            "every node needs one row",
        )
    found = {
        kind: _key(getattr(options, kind), keys, words, chosen, where, kind)
        for kind, words in (
            ("label", LABEL),
            ("time", TIME),
            ("part", PART),
            ("task", TASK),
            ("id", ID),
        )
    }
    used = [*chosen, *(k for k in found.values() if k)]
    if ends is None:
        ends, of_edges, said = _ends(arrays, keys, options, where)
        used, notes = [*used, *of_edges], (*notes, *said)
    n = int(np.shape(x)[0])
    counted = by_row or ends_of(np.ravel(ends[0]), np.ravel(ends[1]), n).are_rows
    if found["id"] and not options.id and counted and not usable_names(arrays[found["id"]], n):
        notes, found["id"] = (
            (
                *notes,
                f"{where}: {found['id']!r} does not name every node once, so it is not read as "
                "their names",
            ),
            "",
        )
    masks = (
        {word: key for word, words in MASKS.items() if (key := guess(keys, words))}
        if not found["part"]
        else {}
    )
    part: Any = (
        arrays[found["part"]]
        if found["part"]
        else parts_from_masks(
            {word: _mask(arrays[key], key, n, where) for word, key in masks.items()}, n, where
        )
    )
    used += masks.values()
    said_of = [
        f"{kind} from {key!r}"
        for kind, key in (("features", "', '".join(chosen)), *found.items())
        if key
    ]
    left = [k for k in keys if k not in used]
    notes = (
        f"{where}: "
        + "; ".join([*said_of, *([f"part from {', '.join(masks.values())}"] if masks else [])]),
        *notes,
        *(
            [f"{where}: not read: {', '.join(left[:10])}{', ...' if len(left) > 10 else ''}"]
            if left
            else []
        ),
    )
    label, time, node_id = (arrays[found[k]] if found[k] else None for k in ("label", "time", "id"))
    if node_id is None:
        by_row = by_row or options.ends == "rows"
    elif np.ndim(node_id) == 2:
        node_id = np.ravel(node_id)
    if node_id is not None and not by_row:
        by_row, told = rows_or_ids(node_id, ends[0], ends[1], options.ends, where, found["id"])
        notes = (*notes, *([told] if told else []))
    if time is not None:
        time, dates = times(np.asarray(time), where, found["time"])
        notes = (*notes, *dates)
    raw = RawGraph(
        where, ends[0], ends[1], x, label, node_id, part=part, time=time, notes=notes, by_row=by_row
    )
    return _with_tasks(raw, arrays, found["task"], where)


def _with_tasks(raw: RawGraph, arrays: Mapping[str, Any], key: str, where: str) -> RawGraph:
    if not key:
        return raw
    return replace(
        raw, tasks=tasks_of_nodes(plain_labels(raw.labels, where), arrays[key], where, key)
    )


def _key(
    option: str,
    keys: Sequence[str],
    words: Sequence[str],
    taken: Sequence[str],
    where: str,
    kind: str,
) -> str:
    refuse_both(option, taken, where, kind)
    return (
        named(option, keys, where, kind)
        if option
        else guess((k for k in keys if k not in taken), words)
    )


def _side_by_side(blocks: list[Any], names: Sequence[str], where: str) -> Any:
    import scipy.sparse as sp

    blocks = [b if sp.issparse(b) else np.asarray(b) for b in blocks]
    blocks = [b[:, None] if b.ndim == 1 else b for b in blocks]
    if len({b.shape[0] for b in blocks}) > 1 or any(b.ndim != 2 for b in blocks):
        raise TaamctlError(
            f"{where}: features of the shapes "
            f"{', '.join(f'{n} {b.shape}' for n, b in zip(names, blocks, strict=True))}",
            "every node needs one row in each of them",
        )
    if len(blocks) == 1:
        return blocks[0]
    return sp.hstack(blocks).tocsr() if any(sp.issparse(b) for b in blocks) else np.hstack(blocks)


def _ends(
    arrays: Mapping[str, Any], keys: list[str], options: ImportOptions, where: str
) -> tuple[tuple[Array, Array], list[str], list[str]]:
    """Return the edges' sources and targets, the keys that hold them, and notes."""
    if options.source or options.target:
        pair = [
            named(name, keys, where, option)
            for option, name in (("source", options.source), ("target", options.target))
        ]
        return (np.asarray(arrays[pair[0]]), np.asarray(arrays[pair[1]])), pair, []
    key = guess(keys, EDGES)
    if not key:
        for words in ENDS:
            pair = [guess(keys, (w,)) for w in words]
            if all(pair):
                return (np.asarray(arrays[pair[0]]), np.asarray(arrays[pair[1]])), pair, []
        raise TaamctlError(
            f"{where} holds no edges: none of {', '.join(keys)} is called edge_index, nor are two "
            "src and dst",
            "--source KEY and --target KEY name them",
        )
    edges = np.asarray(arrays[key])
    if edges.ndim == 2 and edges.shape[0] == 2:
        return (edges[0], edges[1]), [key], []
    if edges.ndim == 2 and edges.shape[1] == 2:
        return (
            (edges[:, 0], edges[:, 1]),
            [key],
            [f"{where}: {key} of shape {edges.shape} taken as one edge a row"],
        )
    raise TaamctlError(
        f"{where}: {key} has the shape {edges.shape}, expected (2, E)",
        "the first row holds sources, the second targets",
    )


def _mask(given: Any, key: str, n: int, where: str) -> Array:
    """Return a mask as booleans, made from row numbers where it is called an index."""
    values: Array = np.asarray(given)
    if plain(key).endswith("mask") or values.dtype.kind == "b":
        if values.dtype.kind != "b" and not np.isin(values, (0, 1)).all():
            raise TaamctlError(
                f"{where}: {key} holds other values than 0 and 1",
                "a mask holds true and false, or 1 and 0",
            )
        return values
    values = values.ravel()
    if values.dtype.kind not in "iu" or (len(values) and not 0 <= values.min() <= values.max() < n):
        raise TaamctlError(
            f"{where}: {key} holds no row numbers from 0 to {n - 1}",
            "a part lists rows of the features",
        )
    mask = np.zeros(n, bool)
    mask[values] = True
    return mask


def only(paths: Sequence[Path], what: str) -> Path:
    """Return the one path of a format that has one.

    Raises:
        TaamctlError: there are more.
    """
    if len(paths) != 1:
        raise TaamctlError(
            f"{what} is one file, but {len(paths)} are named: {', '.join(str(p) for p in paths)}",
            "name one; parts and tasks have options of their own: --split and --tasks",
        )
    return paths[0]
