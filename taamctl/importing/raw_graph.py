"""From what a file of a user's says to a graph: every reader returns a `RawGraph`, and this
brings it into canonical form or refuses it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import CSR, PARTS, Array, Given, NodeGraph
from taamctl.graph.canonical import adjacency_from_edges, from_scipy, to_scipy
from taamctl.importing import edge_ends

PART_WORDS = {
    "train": 0,
    "training": 0,
    "tr": 0,
    "val": 1,
    "valid": 1,
    "validation": 1,
    "dev": 1,
    "va": 1,
    "test": 2,
    "testing": 2,
    "te": 2,
}
MISSING = frozenset(
    {"", "nan", "na", "n/a", "none", "null", "-1", "-1.0", "<na>", "?"}
)  # what stands for no label, in lower case


@dataclass(frozen=True)
class RawGraph:
    """What a file says, unchecked.

    Attributes:
        where: the file, for messages.
        source, target: [E] ends of every edge: numbers of nodes, or names that stand in `node_id`.
        features: [N, F] array of any numeric type, or a scipy sparse matrix.
        labels: [N], [N, 1] or one-hot [N, C], numbers or text; None where there are none.
        node_id: [N] names of the nodes; None where nodes are numbered 0..N-1.
        feature_names: F names, for messages.
        part: [N] words (train, val, test, empty) or numbers 0, 1, 2, -1; None where none is given.
        time: [N] numbers, NaN where unknown; None where there are none.
        tasks: class -> task, any sortable values; None where the user assigns none.
        class_names: the names of the classes 0, 1, ..., where labels are such numbers and the file
            names them.
        tasks_where, edges_where: the files of the tasks and of the edges, for messages; empty where
            it is `where`.
        notes: what the reader itself has to say.
        by_row: ends are row numbers, whatever the nodes are called.
        hint_of_ids: given the ends, what to do where `node_id` lacks some of them.
    """

    where: str
    source: Any
    target: Any
    features: Any
    labels: Any = None
    node_id: Any = None
    feature_names: Sequence[str] = ()
    part: Any = None
    time: Any = None
    tasks: Mapping[str, Any] | None = None
    class_names: Sequence[str] = ()
    tasks_where: str = ""
    edges_where: str = ""
    notes: tuple[str, ...] = field(default=())
    by_row: bool = False
    hint_of_ids: edge_ends.Hint | None = None


def assemble(name: str, raw: RawGraph, nan: str = "refuse") -> NodeGraph:
    """Return the graph, nodes in the file's order, edges as stored; the notes say everything that
    was changed.

    Args:
        nan: `refuse` features that are not finite, or take them as `zero`.

    Raises:
        TaamctlError: counts that contradict each other, unknown or impossible node ids, features or
            labels that are no such thing.
    """
    features, feature_notes = _features(raw, nan)
    n = features.shape[0]
    source, target, node_id = _ends(raw, n)
    adjacency, edge_notes = adjacency_from_edges(source, target, n, raw.edges_where or raw.where)
    labels, names, label_notes = read_labels(raw.labels, n, raw.where)
    if raw.class_names:
        names = _named(names, raw)
    given = Given(_arrival(raw, names), _part(raw, n), _time(raw, n), node_id)
    notes = (*raw.notes, *feature_notes, *edge_notes, *_direction(adjacency), *label_notes)
    return NodeGraph(
        name, adjacency, features, labels, names, notes, given, tuple(raw.feature_names)
    )


def _features(raw: RawGraph, nan: str) -> tuple[Array | CSR, tuple[str, ...]]:
    import scipy.sparse as sp

    x = raw.features
    if sp.issparse(x):
        if x.dtype.kind not in "iufb":
            raise TaamctlError(f"{raw.where}: features are {x.dtype}, expected numbers")
        with np.errstate(over="ignore"):
            made: Any = from_scipy(x.astype(np.float32))
        values = made.data
    else:
        x = np.asarray(x)
        x = x[:, None] if x.ndim == 1 else x
        if x.ndim != 2 or x.dtype.kind not in "iufb":
            raise TaamctlError(
                f"{raw.where}: features are {x.dtype} {x.shape}, expected one row of numbers per "
                "node",
                "turn text columns into numbers, or leave them out",
            )
        with np.errstate(over="ignore"):
            made = np.ascontiguousarray(x, np.float32)
        values = made
    if not x.shape[0]:
        raise TaamctlError(f"{raw.where} holds no node", "check that the file is complete")
    if not x.shape[1]:
        raise TaamctlError(
            f"{raw.where} holds no feature",
            "without features there is nothing to propagate; node degrees in a column are a start",
        )
    notes = [] if x.dtype == np.float32 else [f"features cast from {x.dtype} to float32"]
    wrong = np.flatnonzero(~np.isfinite(values))
    if len(wrong):
        if nan != "zero":
            _refuse_value(raw, made, int(wrong[0]), len(wrong))
        values.flat[wrong] = 0
        notes.append(f"{len(wrong):,} feature values that were not finite taken as 0")
        made = from_scipy(to_scipy(made)) if isinstance(made, CSR) else made
    return made, tuple(notes)


def _refuse_value(raw: RawGraph, made: Array | CSR, at: int, count: int) -> None:
    if isinstance(made, CSR):
        assert made.data is not None
        row, column, value = (
            int(np.searchsorted(made.indptr, at, side="right")) - 1,
            int(made.indices[at]),
            made.data[at],
        )
    else:
        row, column = divmod(at, made.shape[1])
        value = made[row, column]
    called = f" ({raw.feature_names[column]})" if len(raw.feature_names) > column else ""
    more = f", and {count - 1:,} more" if count > 1 else ""
    raise TaamctlError(
        f"{raw.where}: feature {value} at row {row}, column {column}{called}{more}",
        "repair the rows, or take such values as 0 with --nan zero; a float32 holds at most 3.4e38",
    )


def _ends(raw: RawGraph, n: int) -> tuple[Array, Array, Array | None]:
    """Return edge ends as node numbers, and the nodes' names where they are not just those
    numbers.
    """
    where = raw.edges_where or raw.where
    source, target = np.asarray(raw.source).ravel(), np.asarray(raw.target).ravel()
    if len(source) != len(target):
        raise TaamctlError(f"{where}: {len(source):,} edge sources but {len(target):,} targets")
    names = None if raw.node_id is None else edge_ends.checked(raw.node_id, n, raw.where)
    if names is None or raw.by_row:
        rows = edge_ends.by_row(source, target, n, where)
    else:
        rows = edge_ends.by_name(source, target, names, where, raw.hint_of_ids)
    return *rows, None if names is None or names.are_rows() else names.text


def _direction(adjacency: CSR) -> tuple[str, ...]:
    m = to_scipy(adjacency, np.int8)
    both, loops = int(m.multiply(m.T).nnz), int((m.diagonal() > 0).sum())
    one_way = adjacency.nnz - both
    said = (
        f"{one_way:,} of {adjacency.nnz:,} edges have no reverse: split.symmetrize decides "
        "whether they count both ways"
    )
    return (*([said] if one_way else []), *([f"{loops:,} self-loops kept"] if loops else []))


def read_labels(values: Any, n: int, where: str) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Return labels as [N] int64 with -1 for unlabelled, class names in label order, and notes.

    Numbers are sorted as numbers, text as text, and names keep the spelling; one-hot rows and
    columns of one value are taken as what they stand for.

    Args:
        values: [N], [N, 1] or one-hot [N, C]; None where no node has a label.

    Raises:
        TaamctlError: a wrong count, or a label such as 3.5; the message names the row.
    """
    if values is None:
        return np.full(n, -1, np.int64), (), ("no labels: the graph can be predicted, not learned",)
    raw, notes = plain_labels(values, where), list[str]()
    if np.ndim(values) == 2:
        kind = (
            "taken as one per node"
            if np.shape(values)[1] == 1
            else "that are one-hot taken as class numbers"
        )
        notes.append(f"labels of shape {np.shape(values)} {kind}")
    if raw.ndim != 1 or len(raw) != n:
        raise TaamctlError(
            f"{where}: labels of shape {np.asarray(values).shape} for {n:,} nodes",
            "one label per node; leave it empty where unknown",
        )
    text = [_spelled(v) for v in raw.tolist()]
    known = np.array([t.lower() not in MISSING for t in text], bool)
    if known.any() and _numbers([t for t, k in zip(text, known, strict=True) if k]) is not None:
        return _numbered(text, known, raw, where, notes)
    endless = [row for row, t in enumerate(text) if t.lower().lstrip("+-") in ("inf", "infinity")]
    if (
        endless
        and _numbers([t for row, t in enumerate(text) if known[row] and row not in set(endless)])
        is not None
    ):
        raise TaamctlError(
            f"{where}: label {text[endless[0]]} at row {endless[0]} is no class",
            "leave it empty where it is unknown",
        )
    names = sorted({t for t, k in zip(text, known, strict=True) if k})
    index = {t: i for i, t in enumerate(names)}
    labels = np.array([index[t] if k else -1 for t, k in zip(text, known, strict=True)], np.int64)
    return labels, tuple(names), (*notes, *_unlabelled(known))


def plain_labels(values: Any, where: str) -> Array:
    """Return labels of shape [N, 1] or one-hot [N, C] as [N]; others as they are."""
    raw = np.asarray(values)
    if raw.ndim != 2:
        return raw
    return raw[:, 0] if raw.shape[1] == 1 else _from_one_hot(raw, where)


def _numbered(
    text: list[str], known: Array, raw: Array, where: str, notes: list[str]
) -> tuple[Array, tuple[str, ...], tuple[str, ...]]:
    """Return what `read_labels` does, where every label is a number: `7` and `7.0` are one
    class.
    """
    values = [_exact(t) if k else -1 for t, k in zip(text, known, strict=True)]
    fraction = next((row for row, v in enumerate(values) if v != int(v)), None)
    if fraction is not None:
        raise TaamctlError(
            f"{where}: label {text[fraction]} at row {fraction} is no whole number",
            "a label is a class, not a quantity; cut it into classes, or name another column",
        )
    below = next((row for row, v in enumerate(values) if v < -1), None)
    if below is not None:
        raise TaamctlError(
            f"{where}: label {text[below]} at row {below} is negative",
            "-1 means unlabelled; number classes from 0, or name them",
        )
    spellings: dict[int, set[str]] = {}
    for value, t in zip(values, text, strict=True):
        if value >= 0:
            spellings.setdefault(int(value), set()).add(t)
    found = sorted(spellings)
    index = {value: i for i, value in enumerate(found)}
    labels = np.array([index.get(int(v), -1) for v in values], np.int64)
    if raw.dtype.kind == "f" or any(not t.isdigit() for s in spellings.values() for t in s):
        notes = [*notes, "labels that are whole numbers stored as floats taken as classes"]
    if found and found != list(range(len(found))):
        notes = [
            *notes,
            f"labels {found[0]}..{found[-1]} renumbered 0..{len(found) - 1}; their names keep the "
            "numbers",
        ]
    merged = [sorted(s) for s in spellings.values() if len(s) > 1]
    if merged:
        notes = [
            *notes,
            f"labels spelled differently are one number, so one class: {', '.join(merged[0])}",
        ]
    names = tuple(
        next(iter(s)) if len(s) == 1 and next(iter(s)).isdigit() else str(v)
        for v, s in sorted(spellings.items())
    )
    return labels, names, (*notes, *_unlabelled(labels >= 0))


def _exact(text: str) -> float | int:
    """Return a number of any size: an integer where it is spelled so, for floats stop at 2**53."""
    try:
        return int(text)
    except ValueError:
        return float(text)


def _named(names: tuple[str, ...], raw: RawGraph) -> tuple[str, ...]:
    """Return the names that the file gives to the classes that its labels number."""
    stated = [str(n) for n in raw.class_names]
    if any(not n.isdigit() or int(n) >= len(stated) for n in names) or len(set(stated)) < len(
        stated
    ):
        raise TaamctlError(
            f"{raw.where}: {len(stated)} class names do not fit the labels {', '.join(names[:10])}",
            "class names are listed in the order of the labels 0, 1, ..., each once",
        )
    return tuple(stated[int(n)] for n in names)


def _unlabelled(known: Array) -> tuple[str, ...]:
    missing = int((~known).sum())
    return (f"{missing:,} nodes have no label",) if missing else ()


def _from_one_hot(raw: Array, where: str) -> Array:
    """Return the column of the one in every row, -1 for a row of zeros."""
    if raw.dtype.kind not in "iufb" or not np.isin(raw, (0, 1)).all() or (raw.sum(1) > 1).any():
        rows = (
            []
            if raw.dtype.kind not in "iufb"
            else np.flatnonzero((~np.isin(raw, (0, 1))).any(1) | (raw.sum(1) > 1)).tolist()
        )
        at = f" (row {rows[0]})" if rows else ""
        raise TaamctlError(
            f"{where}: labels of shape {raw.shape} are not one-hot{at}",
            "a node has one class; give one column",
        )
    return np.where(raw.any(1), raw.argmax(1), -1)


def _spelled(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode("utf-8", "replace").strip()
    return "" if value is None else str(value).strip()


def _numbers(text: list[str]) -> Array | None:
    """Return text as numbers where all of it is, else None: `7` and `007` are one class only
    where every label is a number.
    """
    if any("_" in t for t in text):  # which Python would read as a number
        return None
    try:
        numbers = np.array([float(t) for t in text], np.float64)
    except ValueError:
        return None
    return numbers if np.isfinite(numbers).all() else None


def _arrival(raw: RawGraph, names: tuple[str, ...]) -> Array | None:
    if raw.tasks is None:
        return None
    where = raw.tasks_where or raw.where
    stated = {_class_name(k, names): v for k, v in raw.tasks.items()}
    lacking = [c for c in names if c not in stated]
    if lacking:
        raise TaamctlError(
            f"{where}: no task is given for the class {lacking[0]!r}",
            "name the task of every class, once",
        )
    strange = [c for c in stated if c not in names]
    if strange:
        raise TaamctlError(
            f"{where}: a task is given for {strange[0]!r}, which no node has as its class",
            f"there are: {', '.join(names[:10])}",
        )
    values = [stated[c] for c in names]
    numbers = _numbers([_spelled(v) for v in values])
    order = (
        sorted(set(numbers.tolist()))
        if numbers is not None
        else sorted({_spelled(v) for v in values}, key=_natural)
    )
    keys = numbers.tolist() if numbers is not None else [_spelled(v) for v in values]
    return np.array([order.index(k) for k in keys], np.int64)


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts `day 2` before `day 10`."""
    return [
        (0, int(piece), "") if piece.isdecimal() else (1, 0, piece)
        for piece in re.split(r"(\d+)", text)
        if piece
    ]


def _class_name(value: Any, names: tuple[str, ...]) -> str:
    """Return the class that `value` names: as it is spelled, else as the number that it is."""
    text = _spelled(_whole(value))
    if text not in names and _numbers([text]) is not None:
        return next((c for c in names if c.isdigit() and int(c) == _exact(text)), text)
    return text


def _whole(value: Any) -> Any:
    return int(value) if isinstance(value, float) and value == np.floor(value) else value


def _part(raw: RawGraph, n: int) -> Array | None:
    if raw.part is None:
        return None
    values = np.asarray(raw.part).ravel()
    if len(values) != n:
        raise TaamctlError(
            f"{raw.where}: parts are given for {len(values):,} of {n:,} nodes",
            "give one per node; leave it empty for none",
        )
    words = {**PART_WORDS, "0": 0, "1": 1, "2": 2, **dict.fromkeys(MISSING, -1)}
    spelled = [_spelled(_whole(v)).lower() for v in values.tolist()]
    wrong = [i for i, w in enumerate(spelled) if w not in words]
    if wrong:
        raise TaamctlError(
            f"{raw.where}: the part {values[wrong[0]]!r} at row {wrong[0]} is none of "
            f"{', '.join(PARTS)}",
            "leave it empty for a node of no part",
        )
    return np.array([words[w] for w in spelled], np.int8)


def _time(raw: RawGraph, n: int) -> Array | None:
    if raw.time is None:
        return None
    values = np.asarray(raw.time).ravel()
    if len(values) != n or values.dtype.kind not in "iuf":
        raise TaamctlError(
            f"{raw.where}: times are {values.dtype} {values.shape}, expected a number for each of "
            f"{n:,} nodes"
        )
    endless = np.flatnonzero(np.isinf(values))
    if len(endless):
        raise TaamctlError(
            f"{raw.where}: the time at row {endless[0]} is {values[endless[0]]}",
            "leave it empty where it is unknown",
        )
    return values.astype(np.float64)


def parts_from_masks(masks: Mapping[str, Any], n: int, where: str) -> Array | None:
    """Return parts from boolean masks called train, val and test, [N] int8; None where there is
    none.

    Raises:
        TaamctlError: a wrong length, or a node in two masks.
    """
    if not masks:
        return None
    part = np.full(n, -1, np.int8)
    for p, word in enumerate(PARTS):
        if word not in masks:
            continue
        mask = np.asarray(masks[word])
        mask = (
            mask[:, 0] if mask.ndim == 2 else mask
        )  # several splits stand side by side: the first
        if mask.shape != (n,):
            raise TaamctlError(f"{where}: the {word} mask has shape {mask.shape} for {n:,} nodes")
        twice = np.flatnonzero(mask.astype(bool) & (part >= 0))
        if len(twice):
            raise TaamctlError(
                f"{where}: node {twice[0]} is in {PARTS[part[twice[0]]]} and in {word}",
                "a node belongs to one part",
            )
        part[mask.astype(bool)] = p
    return part
