"""What the columns of a table of nodes or of edges mean: by option, else by their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import class_column
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.cells import numbers, times, truths
from taamctl.importing.column_names import (
    ENDS,
    ID,
    LABEL,
    PART,
    TASK,
    TIME,
    guess,
    matching,
    named,
)
from taamctl.importing.counting_columns import like_ids, numbers_of_rows
from taamctl.importing.given_stream import parts_from_masks
from taamctl.importing.mask_columns import mask_columns
from taamctl.importing.messages import quoted
from taamctl.importing.name_patterns import exact
from taamctl.importing.no_label import Said
from taamctl.importing.no_numbers import no_features
from taamctl.importing.node_ids import UNNAMED
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.stated_stream import tasks_of_nodes
from taamctl.importing.tables import Table

NAMED = 20  # features that an import names


USUAL = {"id": ID, "label": LABEL, "time": TIME, "part": PART, "task": TASK}


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


def roles(names: Sequence[str], options: ImportOptions, where: str) -> Roles:
    """Return what the columns of a node table mean: first by option, then by name; all others are
    features. `settled` takes a look at the cells before.

    Raises:
        TaamctlError: an option names a column that is not there.
    """
    ignored = matching(options.ignore, names, where, "ignore")
    chosen_features = matching(options.features, names, where, "features")
    # a pattern leaves what means something else alone
    spelled = tuple(n for n in options.features if n in names)
    found = _by_option(names, options, spelled, where)
    taken = {*ignored, *spelled, *found.values()}
    for kind, words in USUAL.items():
        if kind not in found:
            barred = {*taken, *(options.no_class if kind == "label" else ())}
            found[kind] = guess(_without(names, barred), words)
            taken.add(found[kind])
    masks: dict[str, str] = {}
    if not found["part"]:
        masks, others = mask_columns(_without(names, taken), options.split_column, where)
        ignored = (*ignored, *others)
    used = {*found.values(), *masks.values(), *ignored}
    if options.features:
        features = _without(chosen_features, used)
    else:
        features = [name for name in _without(names, used) if not UNNAMED.fullmatch(name)]
    return Roles(**found, masks=masks, features=tuple(features), ignored=ignored)


def settled(table: Table, options: ImportOptions) -> ImportOptions:
    """Return the options after a look at the column that is called like a class: what holds none
    is barred from that, and the next usual name is tried.

    Raises:
        TaamctlError: none is left. The hint names the columns that may be meant.
    """
    declined: dict[str, str] = {}
    while True:
        found = roles(list(table.columns), options, table.where)
        if found.label:
            why = "" if options.label else class_column.doubt(table.columns, found.label)
            if not why:
                return options
            declined[found.label] = why
            options = replace(options, no_class=(*options.no_class, found.label))
            continue
        taken = {
            found.id,
            found.time,
            found.part,
            found.task,
            *found.masks.values(),
            *found.ignored,
        }
        class_column.require_one(table.columns, declined, taken, table.where)
        return options


def _without(names: Sequence[str], taken: Collection[str]) -> list[str]:
    return [name for name in names if name not in taken]


def _by_option(
    names: Sequence[str], options: ImportOptions, features: Sequence[str], where: str
) -> dict[str, str]:
    """Return kind -> the column that an option names for it."""
    found: dict[str, str] = {}
    for kind in USUAL:
        name = getattr(options, kind)
        if name:
            found[kind] = named(name, names, where, kind)
            refuse_both(name, features, where, kind)
    return found


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
    where = table.where
    cell = table.columns
    options = settled(table, options)
    found = roles(list(cell), options, where)
    free = [name for name in found.features if name not in options.features]
    left = _no_features(cell, free, options)
    found = replace(found, features=tuple(n for n in found.features if n not in left))
    taken = replace(found, features=()) if features_elsewhere else found
    raw = RawGraph(
        where,
        (),
        (),
        None,
        cell.get(found.label),
        cell.get(found.id),
        notes=tuple(_notes(list(cell), found, where, left, features_elsewhere)),
        taken=_taken(list(cell), taken, options, table.headed),
    )
    if not features_elsewhere:
        x, spelled = features_of(cell, found.features, where, _known(found))
        notes = (*raw.notes, *_names_shown(found.features, where))
        notes += tuple(like_ids(cell, found.features, where))
        raw = replace(raw, features=x, feature_names=spelled, notes=notes)
    if found.time:
        time, notes = times(cell[found.time], where, found.time)
        raw = replace(raw, time=time, notes=(*raw.notes, *notes))
    if found.part:
        raw = replace(raw, part=cell[found.part])
    elif found.masks:
        masks = {word: truths(cell[name], where, name) for word, name in found.masks.items()}
        raw = replace(raw, part=parts_from_masks(masks, table.rows, where))
    if found.task:
        said = Said(options.unlabelled, options.class_word)
        tasks = tasks_of_nodes(raw.labels, cell[found.task], where, found.task, said)
        raw = replace(raw, tasks=tasks)
    return raw


def _taken(
    names: Sequence[str], found: Roles, options: ImportOptions, headed: bool
) -> ImportOptions:
    """Return options that name every column, so that nothing is left to guess."""
    meant = {kind: getattr(found, kind) for kind in USUAL}
    read = {*meant.values(), *found.masks.values(), *found.features}
    return replace(
        options.naming(meant),
        features=exact(found.features, names),
        ignore=exact(_without(names, read), names),
        header=("no", "yes")[headed],
    )


def _no_features(
    cell: dict[str, Array], names: Sequence[str], options: ImportOptions
) -> dict[str, str]:
    """Return those of `names` that are no features -> why."""
    drawn = class_column.drawn(cell, names)
    named = [n for n in options.no_class if n in names and class_column.names_nodes(cell[n])]
    return {
        **dict.fromkeys(numbers_of_rows(cell, names), "counts the nodes (every number once)"),
        **dict.fromkeys(drawn, "says how a programme draws the node"),
        **dict.fromkeys(named, "has a value of its own for nearly every node"),
    }


def _notes(
    names: Sequence[str],
    found: Roles,
    where: str,
    left_out: Mapping[str, str],
    features_elsewhere: bool,
) -> Iterator[str]:
    """Say what every column is taken for, and what is left out."""
    meant = {kind: getattr(found, kind) for kind in USUAL}
    taken = [f"{kind} from {name!r}" for kind, name in meant.items() if name]
    read = {*meant.values(), *found.masks.values()}
    if found.masks:
        taken.append(f"part from {', '.join(found.masks.values())}")
    if not features_elsewhere:
        taken.append(f"{len(found.features):,} columns of features")
        read |= set(found.features)
    yield f"{where}: {'; '.join(taken)}"
    left = [name for name in names if name not in read]
    if left:
        more = ", ..." * (len(left) > 10)
        yield f"{where}: columns not read: {', '.join(left[:10])}{more}"
    for name, why in left_out.items():
        yield (
            f"{where}: {name!r} {why} and is left out; to take it: "
            f"--features {quoted(name)} --features '*'"
        )
    if not found.label:
        yield f"{where}: no column is called {', '.join(LABEL[:4])}, ...; --label names one"
    if not found.id:
        yield f"{where}: no id column: nodes are numbered by their rows from 0"


def _known(found: Roles) -> set[str]:
    """Return which of these roles have a column."""
    columns = {"id": found.id, "label": found.label, "time": found.time}
    return {role for role, name in columns.items() if name}


def _names_shown(features: Sequence[str], where: str) -> tuple[str, ...]:
    """Say which columns are features, where there are any."""
    if not features:
        return ()
    shown = ", ".join(features[:NAMED])
    if len(features) > NAMED:
        shown += f", and {len(features) - NAMED:,} more"
    return (f"{where}: features: {shown}",)


def _as_numbers(
    cell: dict[str, Array], names: Sequence[str], where: str, known: Collection[str]
) -> dict[str, Array]:
    """Return columns as numbers; those that are none are refused together."""
    made, wrong = dict[str, Array](), dict[str, BadRows]()
    for name in names:
        try:
            made[name] = numbers(cell[name], where, name)
        except BadRows as error:
            wrong[name] = error
    if wrong:
        raise no_features(wrong, cell, known)
    return made


def features_of(
    cell: dict[str, Array], names: Sequence[str], where: str, known: Collection[str]
) -> tuple[Array, tuple[str, ...]]:
    """Return the columns `names` side by side, and a name for every feature.

    Args:
        known: which of `id`, `label` and `time` have a column already.

    Raises:
        TaamctlError: a cell that is no number; the message names column and row.
    """
    rows = len(next(iter(cell.values())))
    blocks: list[Array] = []
    spelled: list[str] = []
    for name, block in _as_numbers(cell, names, where, known).items():
        if block.ndim == 1:
            block = block[:, None]
        blocks.append(block)
        if block.shape[1] == 1:
            spelled.append(name)
        else:
            spelled += [f"{name}[{i}]" for i in range(block.shape[1])]
    counted = Counter(spelled)
    twice = next((name for name in spelled if counted[name] > 1), None)
    if twice is not None:
        raise TaamctlError(
            f"{where}: two features are called {twice!r}: a column, and a number of a list column",
            "rename one of the two columns",
        )
    return np.hstack(blocks) if blocks else np.zeros((rows, 0), np.float32), tuple(spelled)
