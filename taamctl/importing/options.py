"""What a user may say about the files of a graph: which column, attribute or key means what."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from itertools import chain

LISTED = ("features", "ignore")  # options that take commas


@dataclass(frozen=True)
class ImportOptions:
    """Which column, attribute or key of the files means what; an empty name is guessed from the
    usual ones.

    Attributes:
        id: the nodes' names.
        label: the nodes' classes.
        features: names, or patterns such as `word_*`, of the features; empty: all columns that mean
            nothing else.
        ignore: names or patterns of what is not read.
        source, target: the ends of an edge.
        time: when a node appeared: numbers, or dates as ISO 8601 writes them.
        part: train, val or test.
        split_column: which of several splits that stand side by side, as `train_mask:3`.
        task: the task that a node's class arrives with.
        table: of a data base, which table holds what: `nodes=NAME`, `edges=NAME`.
        header: whether the first row of a node table holds names: `yes` or `no`; empty: told from
            its cells.
        edge_header: the same of an edge list.
        delimiter: what stands between the cells of a text table.
        decimal: what stands before the decimals of a number: a comma; empty: a point.
        ends: what the ends of edges are: `rows` (row numbers from 0) or `ids` (names of nodes);
            empty: told from the format and the values.
        add_inverse: every edge counts backwards too, for folders that say so elsewhere.
        nan: `refuse` features that are not finite, or take them as `zero`.
        unlabelled: words that mean no label, beside an empty cell; empty: the usual ones.
        class_word: words that are classes, though they usually mean no label.
        bad_edges: `refuse` edges to nodes that are not there, or with an empty end, or `drop` them.
        bad_rows: `refuse` rows of a node table that are empty, or `drop` them.
        no_class: columns that are called like a class and hold none: set after a look at their
            cells, by no user.
    """

    id: str = ""
    label: str = ""
    features: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    source: str = ""
    target: str = ""
    time: str = ""
    part: str = ""
    split_column: str = ""
    task: str = ""
    table: tuple[str, ...] = ()
    header: str = ""
    edge_header: str = ""
    delimiter: str = ""
    decimal: str = ""
    ends: str = ""
    add_inverse: bool = False
    nan: str = "refuse"
    unlabelled: tuple[str, ...] = ()
    class_word: tuple[str, ...] = ()
    bad_edges: str = "refuse"
    bad_rows: str = "refuse"
    no_class: tuple[str, ...] = ()

    def naming(self, found: Mapping[str, str]) -> ImportOptions:
        """Return the same with the columns that were found: `id`, `label`, `time`, `part` and
        `task` to a name each; no name for what is not among them.
        """
        return replace(
            self,
            id=found.get("id", ""),
            label=found.get("label", ""),
            time=found.get("time", ""),
            part=found.get("part", ""),
            task=found.get("task", ""),
            no_class=(),
        )


def listed(values: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names in values that commas part; one that holds a comma stands in quotes."""
    cells = chain(*csv.reader(values or (), skipinitialspace=True))
    return tuple(filter(None, map(str.strip, cells)))


def one_listed(name: str) -> str:
    """Return a name for an option that takes commas: in quotes, as CSV has it, where it needs
    them.
    """
    if not set(name) & set(',"\r\n') and name == name.strip():
        return name
    return '"' + name.replace('"', '""') + '"'
