"""What a file of a user's says, unchecked: every reader returns this."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.importing import edge_ends
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.options import ImportOptions

WithLines = Callable[[BadRows], TaamctlError]


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
        taken: the options that say all that was taken without a guess; None where the format has
            none for that.
        edge_lines, node_lines: a fault of some edges, or nodes -> the same with their lines in the
            file; None where the format has none.
        hint_of_ids: given the ends, what to do where `node_id` lacks some of them.
    """

    where: str
    source: Plain
    target: Plain
    features: Plain
    labels: Plain = None
    node_id: Plain = None
    feature_names: Sequence[str] = ()
    part: Plain = None
    time: Plain = None
    tasks: Mapping[str, object] | None = None
    class_names: Sequence[str] = ()
    tasks_where: str = ""
    edges_where: str = ""
    notes: tuple[str, ...] = field(default=())
    by_row: bool = False
    taken: ImportOptions | None = None
    edge_lines: WithLines | None = None
    node_lines: WithLines | None = None
    hint_of_ids: edge_ends.Hint | None = None
