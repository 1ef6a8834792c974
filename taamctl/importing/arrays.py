"""A graph in named arrays, as npz files, DGL graphs and PyG objects hold it: which array means
what, by option or by its name.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.cells import times
from taamctl.importing.column_names import guess, matching, named, whole_names
from taamctl.importing.given_stream import parts_from_masks
from taamctl.importing.masks import mask_keys, read_masks
from taamctl.importing.messages import quoted
from taamctl.importing.name_patterns import exact
from taamctl.importing.no_label import Said
from taamctl.importing.node_ids import ends_of, rows_or_ids, usable_names
from taamctl.importing.node_labels import plain_labels
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.roles import refuse_both
from taamctl.importing.stated_stream import tasks_of_nodes


@dataclass(frozen=True)
class Unread:
    """What stands under a key and is not read: why, and what to do where it is needed."""

    why: str
    hint: str


if TYPE_CHECKING:
    import scipy.sparse as sp

    Arrays = Mapping[str, Array | sp.spmatrix]
    Kept = Mapping[str, Array | sp.spmatrix | Unread]

# the usual names, best first, as `plain` spells them
FEATURES = "x feat feats feature features nodefeat nodefeats nodefeatures attr attrs nodeattr h"
LABEL = ("y", "label", "labels", "nodelabel", "nodelabels", "nodey")
MEANINGS = {
    "label": LABEL,
    "time": ("time", "t", "nodetime", "nodeyear", "year", "timestamp"),
    "part": ("part", "split"),
    "task": ("task", "taskid"),
    "id": (
        *("nodeid", "nodeids", "id", "ids", "nid", "nids", "uid", "vertexid"),
        *("name", "names", "nodename", "nodenames"),
    ),
}
EDGES = ("edgeindex", "edges", "edgelist")
ENDS = (("src", "dst"), ("source", "target"), ("row", "col"), ("u", "v"))
CLASS_NAMES = "class_names"  # names of the classes 0, 1, ...
FEATURE_NAMES = ("feature_names", "attr_names")
SHOWN = 10  # keys that are named as not read


class _Edges(NamedTuple):
    """Sources and targets of all edges, [E] each, the keys that hold them, and notes."""

    source: Array
    target: Array
    keys: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


class _Roles(NamedTuple):
    """Which keys hold the features; meaning -> key of other arrays of nodes; part -> its mask."""

    features: tuple[str, ...]
    found: dict[str, str]
    masks: dict[str, str]

    def note(self) -> str:
        read = {"features": "', '".join(self.features), **self.found}
        lines = [f"{kind} from {key!r}" for kind, key in read.items()]
        if self.masks:
            lines.append(f"part from {', '.join(self.masks.values())}")
        return "; ".join(lines)


def from_arrays(
    given: Kept,
    options: ImportOptions,
    where: str,
    ends: tuple[Array, Array] | None = None,
    nodes: int | None = None,
    notes: tuple[str, ...] = (),
    by_row: bool = False,
) -> RawGraph:
    """Return what named arrays say; the option names a key where the usual names do not tell.

    Args:
        given: key -> array, scipy sparse matrix, or what is not read.
        ends: [E] sources and targets; None: an array [2, E] or [E, 2], or two arrays.
        nodes: N where it is known, beside the features.
        notes: what the reader has to say.
        by_row: ends are row numbers by definition: an array of names names the nodes, and moves no
            edge.

    Raises:
        TaamctlError: no features, no edges, a key that is not there, a mask of another length, ends
            that can be read in two ways.
    """
    given, texts = _without_texts(given, options)
    options = whole_names(options, list(given))
    ignored = matching(options.ignore, list(given), where, "ignore")
    keys = [k for k in given if k not in ignored]
    unread = {k for k, value in given.items() if isinstance(value, Unread)}
    roles = _roles(keys, options, where, unread)
    arrays = _readable(given, _needed(keys, roles, options), where)
    x = _side_by_side([arrays[k] for k in roles.features], roles.features, where)
    n = x.shape[0]
    _require_nodes(n, nodes, roles.features, where)
    edges = _Edges(*ends) if ends is not None else _edges(arrays, keys, options, where)
    read = (*roles.features, *roles.found.values(), *roles.masks.values(), *edges.keys)
    notes = (*notes, *edges.notes)
    key = roles.found.get("id", "")
    if key != options.id and _name_nothing(arrays[key], edges, n, by_row):
        notes += (
            f"{where}: {key!r} does not name every node once, so it is not read as their names",
        )
        del roles.found["id"]
    notes += _left_out([f"{k}{_why(given[k])}" for k in keys if k not in read], where)
    raw = RawGraph(
        where,
        edges.source,
        edges.target,
        x,
        notes=(f"{where}: {roles.note()}", *notes),
        by_row=by_row,
        class_names=texts.get(CLASS_NAMES, ()),
    )
    raw = _with_values(_with_feature_names(raw, texts), arrays, roles, options)
    return replace(raw, taken=_taken(options, roles, edges, list(given), raw))


def _taken(
    options: ImportOptions, roles: _Roles, edges: _Edges, keys: Sequence[str], raw: RawGraph
) -> ImportOptions:
    """Return options that name every key, so that nothing is left to guess."""
    read = {*roles.features, *roles.found.values(), *roles.masks.values(), *edges.keys}
    left = [key for key in keys if key not in read]
    by_row = raw.by_row or raw.node_id is None
    source, target = edges.keys if len(edges.keys) == 2 else ("", "")
    return replace(
        options.naming(roles.found),
        features=exact(roles.features, keys),
        ignore=exact(left, keys),
        source=source,
        target=target,
        ends=("ids", "rows")[by_row],
    )


def _without_texts(given: Kept, options: ImportOptions) -> tuple[Kept, dict[str, tuple[str, ...]]]:
    """Part the arrays of a graph from those that name its classes and features."""
    meant = {options.id, options.label, *options.features, *options.ignore}
    found = {
        key: tuple(map(str, np.ravel(value).tolist()))
        for key, value in given.items()
        if key in (CLASS_NAMES, *FEATURE_NAMES)
        and key not in meant
        and isinstance(value, np.ndarray)
    }
    return {key: value for key, value in given.items() if key not in found}, found


def _with_feature_names(raw: RawGraph, texts: Mapping[str, tuple[str, ...]]) -> RawGraph:
    """Return the graph with the names of its features, where there are as many, all different."""
    key = next((key for key in FEATURE_NAMES if key in texts), "")
    if not key:
        return raw
    names, width = texts[key], int(raw.features.shape[1])
    if len(set(names)) == len(names) == width:
        return replace(raw, feature_names=names)
    note = f"{raw.where}: {key!r} holds {len(set(names))} names for {width} features: not read"
    return replace(raw, notes=(*raw.notes, note))


def _require_nodes(n: int, nodes: int | None, features: Sequence[str], where: str) -> None:
    if nodes is not None and n != nodes:
        raise TaamctlError(
            f"{where}: {n:,} feature rows ({', '.join(features)}) for {nodes:,} nodes",
            "every node needs one row",
        )


def _left_out(left: Sequence[str], where: str) -> tuple[str, ...]:
    """Say which keys are not read, where there are any."""
    more = ", ..." * (len(left) > SHOWN)
    return (f"{where}: not read: {', '.join(left[:SHOWN])}{more}",) if left else ()


def _why(value: object) -> str:
    """Return why something is not read, in brackets; empty where nothing says so."""
    return f" ({value.why})" if isinstance(value, Unread) else ""


def _needed(keys: Sequence[str], roles: _Roles, options: ImportOptions) -> list[str]:
    """Return the keys whose arrays make the graph."""
    edges = [guess(keys, EDGES), options.source, options.target]
    edges += [guess(keys, (end,)) for pair in ENDS for end in pair]
    return [*roles.features, *roles.found.values(), *roles.masks.values(), *filter(None, edges)]


def _readable(given: Kept, needed: Sequence[str], where: str) -> Arrays:
    """Return what is an array, after a refusal of what is needed and is none."""
    for key in needed:
        value = given.get(key)
        if isinstance(value, Unread):
            raise TaamctlError(
                f"{where}: the array {key!r} holds {value.why}",
                f"{value.hint}; what is not needed is left out: --ignore {quoted(key)}",
            )
    return {key: value for key, value in given.items() if not isinstance(value, Unread)}


def _with_values(raw: RawGraph, arrays: Arrays, roles: _Roles, options: ImportOptions) -> RawGraph:
    """Add labels, names, parts, times and tasks."""
    where, notes = raw.where, raw.notes
    values = {kind: arrays[key] for kind, key in roles.found.items()}
    ends = options.ends
    by_row = raw.by_row or ends == "rows"
    if "id" in values:
        values["id"] = np.ravel(values["id"])
        if not by_row:
            by_row, note = rows_or_ids(
                values["id"], raw.source, raw.target, ends, where, roles.found["id"]
            )
            notes += tuple(filter(None, [note]))
    if roles.masks:
        n = raw.features.shape[0]
        masks = read_masks(arrays, roles.masks, n, options.split_column, where)
        values["part"] = parts_from_masks(masks, n, where)
        if options.split_column:
            notes += (f"{where}: of several splits, that of {options.split_column}",)
    if "time" in values:
        values["time"], dates = times(np.asarray(values["time"]), where, roles.found["time"])
        notes += dates
    tasks = None
    if "task" in values:
        labels = plain_labels(values.get("label"), where)
        said = Said(options.unlabelled, options.class_word)
        tasks = tasks_of_nodes(labels, values["task"], where, roles.found["task"], said)
    return replace(
        raw,
        labels=values.get("label"),
        node_id=values.get("id"),
        part=values.get("part"),
        time=values.get("time"),
        tasks=tasks,
        notes=notes,
        by_row=by_row,
    )


def _name_nothing(names: Array, edges: _Edges, n: int, by_row: bool) -> bool:
    """Tell whether edges count the rows, and an array cannot name the nodes."""
    if usable_names(names, n):
        return False
    return by_row or ends_of(np.ravel(edges.source), np.ravel(edges.target), n).are_rows


def _roles(
    keys: Sequence[str], options: ImportOptions, where: str, unread: Collection[str]
) -> _Roles:
    """Return what the keys mean; names of nodes in `unread` are good to have, and not needed."""
    features = _features(keys, options, where)
    free = [k for k in keys if k not in features]
    found = {}
    for kind, words in MEANINGS.items():
        chosen: str = getattr(options, kind)
        refuse_both(chosen, features, where, kind)
        key = named(chosen, keys, where, kind) if chosen else guess(free, words)
        if key and (chosen or kind != "id" or key not in unread):
            found[kind] = key
    masks = {}
    if "part" not in found:
        masks = mask_keys(list(keys))
    return _Roles(features, found, masks)


def _features(keys: Sequence[str], options: ImportOptions, where: str) -> tuple[str, ...]:
    """Return the keys of the features."""
    usual = guess(keys, FEATURES.split())
    features = matching(options.features, keys, where, "features") or (usual,)
    if not features[0]:
        raise TaamctlError(
            f"{where} holds no features: none of {', '.join(keys) or 'nothing'} is called x or "
            "feat",
            "--features KEY names them; without features there is nothing to propagate",
        )
    return features


def _side_by_side(
    blocks: Sequence[Array | sp.spmatrix], names: Sequence[str], where: str
) -> Array | sp.spmatrix:
    import scipy.sparse as sp

    columns = list[Array]()
    for block in blocks:
        if not sp.issparse(block):
            block = np.asarray(block)
        columns.append(block[:, None] if block.ndim == 1 else block)
    if len({b.shape[0] for b in columns}) > 1 or any(b.ndim != 2 for b in columns):
        shapes = (f"{name} {b.shape}" for name, b in zip(names, columns, strict=True))
        raise TaamctlError(
            f"{where}: features of the shapes {', '.join(shapes)}",
            "every node needs one row in each of them",
        )
    if len(columns) == 1:
        return columns[0]
    if any(sp.issparse(b) for b in columns):
        return sp.hstack(columns).tocsr()
    return np.hstack(columns)


def _edges(arrays: Arrays, keys: Sequence[str], options: ImportOptions, where: str) -> _Edges:
    key = guess(keys, EDGES)
    pairs = [(guess(keys, (u,)), guess(keys, (v,))) for u, v in ENDS]
    pair = next((pair for pair in pairs if all(pair)), None)
    if options.source or options.target:
        pair = (
            named(options.source, keys, where, "source"),
            named(options.target, keys, where, "target"),
        )
    elif key:
        return _edges_of_one(np.asarray(arrays[key]), key, where)
    if pair is None:
        raise TaamctlError(
            f"{where} holds no edges: none of {', '.join(keys)} is called edge_index, nor are two "
            "src and dst",
            "--source KEY and --target KEY name them",
        )
    return _Edges(np.asarray(arrays[pair[0]]), np.asarray(arrays[pair[1]]), pair)


def _edges_of_one(edges: Array, key: str, where: str) -> _Edges:
    if edges.ndim == 2 and edges.shape[0] == 2:
        return _Edges(edges[0], edges[1], (key,))
    if edges.ndim == 2 and edges.shape[1] == 2:
        note = f"{where}: {key} of shape {edges.shape} taken as one edge a row"
        return _Edges(edges[:, 0], edges[:, 1], (key,), (note,))
    raise TaamctlError(
        f"{where}: {key} has the shape {edges.shape}, expected (2, E)",
        "the first row holds sources, the second targets",
    )


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
