"""What the columns of a table of nodes or of edges mean, by option or by their names; the cells
as numbers, times, tasks.
"""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import PARTS, Array
from taamctl.importing.cells import numbers, times, truths
from taamctl.importing.node_ids import UNNAMED, like_ids, numbers_of_rows, quoted
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import MISSING, PART_WORDS, RawGraph, parts_from_masks
from taamctl.importing.tables import Table

# the usual names, best first, as `plain` spells them
ID = ("id", "nodeid", "nid", "node", "vertex", "vertexid", "uid", "name", "index", "idx")
LABEL = (
    "label",
    "labels",
    "class",
    "y",
    "classid",
    "classlabel",
    "nodelabel",
    "category",
    "target",
    "subject",
    "community",
)
TIME = ("time", "timestamp", "date", "datetime")
PART = ("part", "split")
TASK = ("task", "taskid")
ENDS = (
    ("source", "target"),
    ("src", "dst"),
    ("from", "to"),
    ("sourceid", "targetid"),
    ("srcid", "dstid"),
    ("fromnodeid", "tonodeid"),
    ("fromid", "toid"),
    ("u", "v"),
    ("id1", "id2"),
    ("node1", "node2"),
    ("head", "tail"),
    ("citing", "cited"),
)
NAMED = 10  # features that an import names
MASKS = {
    "trainmask": "train",
    "valmask": "val",
    "validmask": "val",
    "validationmask": "val",
    "testmask": "test",
}


@dataclass(frozen=True)
class Roles:
    """The columns of a node table by what they mean; empty where there is none."""

    id: str
    label: str
    time: str
    part: str
    task: str
    masks: dict[str, str]
    features: tuple[str, ...]
    ignored: tuple[str, ...]


def plain(name: str) -> str:
    """Return a name in lower case without anything but letters and digits, for comparing."""
    return re.sub(r"[^0-9a-z]", "", name.lower())


def guess(names: Iterable[str], words: Sequence[str]) -> str:
    """Return the name that is spelled as the earliest of `words`, else an empty one."""
    spelled = {plain(n): n for n in reversed(list(names))}
    return next((spelled[w] for w in words if w in spelled), "")


def named(name: str, names: Sequence[str], where: str, option: str) -> str:
    """Return `name` if there is such a column.

    Raises:
        TaamctlError: there is none; the hint names the nearest.
    """
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        shown = ", ".join(names[:12]) + (", ..." if len(names) > 12 else "")
        raise TaamctlError(
            f"{where}: --{option} {name}: there is no such column; there are: {shown}",
            f"did you mean {near[0]!r}?" if near else "",
        )
    return name


def matching(
    patterns: Sequence[str], names: Sequence[str], where: str, option: str
) -> tuple[str, ...]:
    """Return the names that are one of `patterns` or match one, in their own order.

    Raises:
        TaamctlError: a pattern that none matches.
    """
    for pattern in patterns:
        if pattern not in names and not any(fnmatchcase(n, pattern) for n in names):
            named(pattern, names, where, option)
    return tuple(n for n in names if any(n == p or fnmatchcase(n, p) for p in patterns))


def roles(names: Sequence[str], options: ImportOptions, where: str) -> Roles:
    """Return what the columns of a node table mean: first by option, then by name; all others are
    features.

    Raises:
        TaamctlError: an option names a column that is not there.
    """
    ignored = matching(options.ignore, names, where, "ignore")
    chosen_features = matching(options.features, names, where, "features")
    spelled = tuple(
        n for n in options.features if n in names
    )  # a pattern leaves what means something else alone
    found: dict[str, str] = {}
    chosen = {kind: getattr(options, kind) for kind in ("id", "label", "time", "part", "task")}
    for kind, name in chosen.items():
        if name:
            found[kind] = named(name, names, where, kind)
            refuse_both(name, spelled, where, kind)
    for kind, words in (
        ("id", ID),
        ("label", LABEL),
        ("time", TIME),
        ("part", PART),
        ("task", TASK),
    ):
        if kind not in found:
            found[kind] = guess(
                (n for n in names if n not in (*ignored, *spelled, *found.values())), words
            )
    free = [n for n in names if n not in (*ignored, *spelled, *found.values())]
    masks = {} if found["part"] else {MASKS[plain(n)]: n for n in free if plain(n) in MASKS}
    used = {*found.values(), *masks.values(), *ignored}
    if options.features:
        features = tuple(n for n in chosen_features if n not in used)
    else:
        features = tuple(n for n in names if n not in used and not UNNAMED.fullmatch(n))
    return Roles(**found, masks=masks, features=features, ignored=ignored)


def without_meaning(table: Table, chosen: Roles, options: ImportOptions) -> tuple[str, ...]:
    """Return the columns that neither an option nor a usual name gives a meaning, in their
    order.
    """
    meant = {
        chosen.id,
        chosen.label,
        chosen.time,
        chosen.part,
        chosen.task,
        *chosen.masks.values(),
        *chosen.ignored,
        *options.features,
    }
    return tuple(name for name in table.columns if name not in meant)


def refuse_both(name: str, features: Sequence[str], where: str, kind: str) -> None:
    """Refuse a column that is to be a feature and something else: a class among the features would
    be learned from itself.

    Raises:
        TaamctlError: it is.
    """
    if name in features:
        raise TaamctlError(
            f"{where}: {name!r} is named by --features and by --{kind}", "it can be one of them"
        )


def edge_ends(
    names: Sequence[str], options: ImportOptions, where: str = ""
) -> tuple[str, str] | None:
    """Return the columns of an edge's two ends, or None where the names do not tell."""
    if options.source or options.target:
        if options.source in names and options.target in names:
            return options.source, options.target
        return None
    for words in ENDS:
        pair = tuple(guess(names, (w,)) for w in words)
        if all(pair):
            return pair[0], pair[1]
    return None


def nodes(table: Table, options: ImportOptions, features_elsewhere: bool = False) -> RawGraph:
    """Return what a node table says, without edges.

    Args:
        features_elsewhere: another file holds the features; columns without a meaning are left out,
            and said.

    Raises:
        TaamctlError: a feature that is no number, a time that is none, a class with two tasks, a
            node in two masks.
    """
    names, where = list(table.columns), table.where
    r, cell = roles(names, options, where), table.columns
    counting = numbers_of_rows(cell, [n for n in r.features if n not in options.features])
    r = replace(r, features=tuple(n for n in r.features if n not in counting))
    notes = [
        f"{where}: "
        + "; ".join(
            [
                *(
                    f"{kind} from {getattr(r, kind)!r}"
                    for kind in ("id", "label", "time", "part", "task")
                    if getattr(r, kind)
                ),
                *([f"part from {', '.join(r.masks.values())}"] if r.masks else []),
                *([] if features_elsewhere else [f"{len(r.features):,} columns of features"]),
            ]
        )
    ]
    left = [
        n
        for n in names
        if n not in (r.id, r.label, r.time, r.part, r.task, *r.masks.values())
        and (features_elsewhere or n not in r.features)
    ]
    if left:
        notes.append(
            f"{where}: columns not read: {', '.join(left[:10])}{', ...' if len(left) > 10 else ''}"
        )
    notes += [
        f"{where}: {n!r} counts the nodes (every number once) and is left out; to take it: "
        f"--features {quoted(n)} --features '*'"
        for n in counting
    ]
    if not r.label:
        notes.append(f"{where}: no column is called {', '.join(LABEL[:4])}, ...; --label names one")
    if not r.id:
        notes.append(f"{where}: no id column: nodes are numbered by their rows from 0")
    raw = RawGraph(
        where,
        (),
        (),
        None,
        cell[r.label] if r.label else None,
        cell[r.id] if r.id else None,
        notes=tuple(notes),
    )
    if not features_elsewhere:
        x, spelled = features_of(cell, r.features, where)
        shown = ", ".join(r.features[:NAMED]) + (
            f", and {len(r.features) - NAMED:,} more" if len(r.features) > NAMED else ""
        )
        raw = replace(
            raw,
            features=x,
            feature_names=spelled,
            notes=(
                *raw.notes,
                *([f"{where}: features: {shown}"] if r.features else []),
                *like_ids(cell, r.features, where),
            ),
        )
    if r.time:
        time, said = times(cell[r.time], where, r.time)
        raw = replace(raw, time=time, notes=(*raw.notes, *said))
    if r.part:
        raw = replace(raw, part=cell[r.part])
    elif r.masks:
        masks = {word: truths(cell[name], where, name) for word, name in r.masks.items()}
        raw = replace(raw, part=parts_from_masks(masks, table.rows, where))
    if r.task:
        raw = replace(raw, tasks=tasks_of_nodes(raw.labels, cell[r.task], where, r.task))
    return raw


def features_of(
    cell: dict[str, Array], names: Sequence[str], where: str
) -> tuple[Array, tuple[str, ...]]:
    """Return the columns `names` side by side, and a name for every feature.

    Raises:
        TaamctlError: a cell that is no number; the message names column and row.
    """
    rows = len(next(iter(cell.values())))
    blocks, spelled = [], list[str]()
    for name in names:
        block = numbers(cell[name], where, name)
        block = block[:, None] if block.ndim == 1 else block
        blocks.append(block)
        spelled += (
            [name] if block.shape[1] == 1 else [f"{name}[{i}]" for i in range(block.shape[1])]
        )
    counted = Counter(spelled)
    twice = next((name for name in spelled if counted[name] > 1), None)
    if twice is not None:
        raise TaamctlError(
            f"{where}: two features are called {twice!r}: a column, and a number of a list column",
            "rename one of the two columns",
        )
    return np.hstack(blocks) if blocks else np.zeros((rows, 0), np.float32), tuple(spelled)


def tasks_of_nodes(labels: Any, tasks: Any, where: str, name: str) -> dict[str, Any]:
    """Return class -> task from one task per node.

    Raises:
        TaamctlError: no labels, a class without a task, or one with two.
    """
    if labels is None:
        raise TaamctlError(
            f"{where}: tasks in {name!r}, but no labels that they belong to",
            "--label names the column of the classes",
        )
    found: dict[str, Any] = {}
    for row, (label, task) in enumerate(
        zip(np.asarray(labels).ravel().tolist(), np.asarray(tasks).ravel().tolist(), strict=True)
    ):
        c, t = str(label).strip(), str(task).strip()
        if c.lower() in MISSING:
            continue
        if t.lower() in MISSING:
            raise TaamctlError(
                f"{where}: no task in {name!r} at row {row}, whose class is {c!r}",
                "every node of a class states its task",
            )
        if found.setdefault(c, t) != t:
            raise TaamctlError(
                f"{where}: class {c!r} has the tasks {found[c]} and {t} (row {row})",
                "a class arrives once, with one task",
            )
    return found


def tasks_of_table(table: Table) -> dict[str, Any]:
    """Return class -> task from a table of classes.

    Raises:
        TaamctlError: fewer than two columns, or a class with two tasks.
    """
    names = list(table.columns)
    if len(names) < 2:
        raise TaamctlError(
            f"{table.where} has one column, expected class and task",
            "or name what stands between them with --delimiter",
        )
    of_class = guess(names, LABEL) or names[0]
    of_task = guess(names, TASK) or next(n for n in names if n != of_class)
    return tasks_of_nodes(table.columns[of_class], table.columns[of_task], table.where, of_task)


def parts_of_table(table: Table, node_id: Any, n: int) -> Array:
    """Return the part of every node, as words, from a table of ids and parts; nodes that it leaves
    out get none.

    Raises:
        TaamctlError: fewer than two columns, an unknown id, a node with two parts.
    """
    names = list(table.columns)
    if len(names) < 2:
        raise TaamctlError(
            f"{table.where} has one column, expected id and part",
            "or name what stands between them with --delimiter",
        )
    of_id = guess(names, ID) or names[0]
    of_part = guess(names, PART) or next(n for n in names if n != of_id)
    row_of = {
        str(v).strip(): i
        for i, v in enumerate(range(n) if node_id is None else np.asarray(node_id).tolist())
    }
    out: list[str] = [""] * n
    for row, (node, word) in enumerate(
        zip(table.columns[of_id].tolist(), table.columns[of_part].tolist(), strict=True)
    ):
        name, part = str(node).strip(), str(word).strip().lower()
        if part not in PART_WORDS and part not in ("0", "1", "2", *MISSING):
            raise TaamctlError(
                f"{table.where}: the part {word!r} at row {row} is none of {', '.join(PARTS)}",
                "leave it empty for a node of no part",
            )
        if name not in row_of:
            raise TaamctlError(
                f"{table.where}: row {row} is about the node {name!r}, which the graph lacks",
                "ids must be spelled alike",
            )
        before = out[row_of[name]]
        if before and PART_WORDS.get(before, before) != PART_WORDS.get(part, part):
            raise TaamctlError(
                f"{table.where}: the node {name!r} is in {before} and in {part} (row {row})",
                "a node belongs to one part",
            )
        out[row_of[name]] = part
    if not any(out):
        raise TaamctlError(
            f"{table.where} gives no node a part", f"a part is one of {', '.join(PARTS)}"
        )
    return np.array(out, object)
