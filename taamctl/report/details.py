"""What stands behind the rows of one data set: every class, what is confused, the similarities of
the routing, and what became of the data. Pure functions on evaluations.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from taamctl.evaluation.record import Evaluation, PartSummary
from taamctl.report.leading import Leading
from taamctl.report.over_runs import added, mean_std, means
from taamctl.report.report_rows import SeedsRow
from taamctl.report.report_tables import percent

Text = tuple[str, ...]
CONFUSED = 5  # pairs shown per method


@dataclass(frozen=True)
class Cells:
    """A table as text."""

    columns: Text
    lines: list[Text]


@dataclass(frozen=True)
class Known:
    """The evaluations behind the rows of one data set.

    Attributes:
        rows: over seeds, in the shown scope. by_sha256: every evaluation.
        leading: methods on one mixed graph.
    """

    rows: Sequence[SeedsRow]
    by_sha256: Mapping[str, Evaluation]
    leading: Sequence[Leading]

    def behind(self, row: SeedsRow) -> list[Evaluation]:
        """Return the evaluations of a row, in the order of its seeds."""
        return [self.by_sha256[digest] for digest in row.sha256]

    @property
    def first(self) -> Evaluation:
        """The first evaluation of all."""
        return self.behind(self.rows[0])[0]


def of_one_stream(
    rows: Sequence[SeedsRow], by_sha256: Mapping[str, Evaluation], leading: Sequence[Leading]
) -> Known:
    """Return what is known of rows of one data set, those alone whose classes arrive as the first
    row's do: the classes of others have other numbers.
    """
    first = by_sha256[rows[0].sha256[0]].classes
    same = [row for row in rows if all(by_sha256[d].classes == first for d in row.sha256)]
    if len(same) < len(rows):
        return Known(same, by_sha256, [])  # a lens does not name its classes
    return Known(rows, by_sha256, leading)


def classes(known: Known, decimals: int) -> Cells | None:
    """Return accuracy per class: one line per class, two columns per method: grouped, and mixed
    where a lens has it. None where the evaluations hold none.
    """
    columns = [*_grouped(known), *_mixed(known)]
    names, counts = known.first.classes, _test(known.first).class_nodes
    if not names or not columns:
        return None
    of_class = _task_of_class(known.first.bounds)
    lines = [
        (
            str(of_class[c] + 1),
            name,
            str(counts[c]),
            *(percent(values[c], None, decimals) for _, values in columns),
        )
        for c, name in enumerate(names)
    ]
    return Cells(("task", "class", "test nodes", *(name for name, _ in columns)), lines)


def _grouped(known: Known) -> list[tuple[str, list[float | None]]]:
    found = []
    for row in known.rows:
        recalls = [_test(made).class_recall.get(row.scope, []) for made in known.behind(row)]
        values = means(recalls)
        if len(values) == len(known.first.classes):
            found.append((f"{row.name}, grouped", values))
    return found


def _mixed(known: Known) -> list[tuple[str, list[float | None]]]:
    size = len(known.first.classes)
    return [
        (f"{each.name}, mixed", each.class_recall)
        for each in known.leading
        if len(each.class_recall) == size
    ]


def confused(known: Known) -> Cells:
    """Return the pairs of classes that each method confuses most, with nodes over all seeds."""
    lines: list[Text] = []
    names = known.first.classes
    for row in known.rows:
        made = known.behind(row)
        pairs = added([_test(each).confused.get(row.scope, []) for each in made])
        lines += _pairs(pairs, names, (row.name, "grouped"), _nodes(made))
    for each in known.leading:
        nodes = [len(each.seeds) * n for n in _test(known.first).class_nodes]
        lines += _pairs(each.confused, names, (each.name, "mixed"), nodes)
    return Cells(("method", "protocol", "class", "taken for", "nodes", "of", "%"), lines)


def _pairs(
    pairs: Sequence[Sequence[int]], names: Sequence[str], who: Text, nodes: Sequence[int]
) -> list[Text]:
    return [
        (*who, names[a], names[b], str(n), str(nodes[a]), f"{100 * n / max(1, nodes[a]):.1f}")
        for a, b, n in pairs[:CONFUSED]
        if max(a, b) < len(names)
    ]


def _nodes(made: Sequence[Evaluation]) -> list[int]:
    """Return the test nodes of every class, over all runs."""
    counts = [_test(each).class_nodes for each in made]
    return [sum(column) for column in zip(*counts, strict=False)]


def tasks_confused(known: Known) -> Cells:
    """Return between which tasks nodes are confused most: those given a class of another task."""
    lines: list[Text] = []
    for row in known.rows:
        made = known.behind(row)
        pairs = added([_test(each).tasks_answered.get(row.scope, []) for each in made])
        whole: dict[int, int] = {}
        for true, _, n in pairs:
            whole[true] = whole.get(true, 0) + n
        wrong = [pair for pair in pairs if pair[0] != pair[1]][:CONFUSED]
        lines += [
            (row.name, str(a + 1), str(b + 1), str(n), str(whole[a]), f"{100 * n / whole[a]:.1f}")
            for a, b, n in wrong
        ]
    return Cells(("method", "task", "taken for task", "nodes", "of", "%"), lines)


def similarities(known: Known) -> Cells:
    """Return how every task's query graph was routed after the last task: the similarity to the
    right prototype, to the best other one, and the margin. Methods that share all of it share
    lines.
    """
    groups: dict[tuple[Text, ...], list[str]] = {}
    for row in known.rows:
        made = known.behind(row)[0]
        if row.task_id_kind == "inferred" and _test(made).task_id.similarity:
            routed = tuple((row.task_id, *line) for line in _routed(_test(made)))
            groups.setdefault(routed, []).append(row.name)
    lines = [(*line, ", ".join(who)) for routed, who in groups.items() for line in routed]
    columns = ("routing", "task", "chosen", "similarity", "next best task", "its", "margin")
    return Cells((*columns, "methods"), lines)


def _routed(part: PartSummary) -> list[Text]:
    decisions = part.task_id.decisions[-1]
    lines: list[Text] = []
    for task, row in enumerate(part.task_id.similarity):
        others = [(value, k) for k, value in enumerate(row) if value is not None and k != task]
        own = row[task]
        if own is None or not others:
            continue
        value, other = max(others)
        lines.append(
            (
                str(task + 1),
                str(decisions[task] + 1),
                f"{own:.4f}",
                str(other + 1),
                f"{value:.4f}",
                f"{own - value:.4f}",
            )
        )
    return lines


def data(known: Known) -> Cells | None:
    """Return what became of the graph; None where no evaluation holds it."""
    account = known.first.data
    if account is None:
        return None
    lost = account.edges_used - account.edges_kept
    lines: list[Text] = [
        ("edges stored", f"{account.edges_stored:,}", "", ""),
        ("edges used, both directions", f"{account.edges_used:,}", "", ""),
        ("of these lost between tasks or parts", f"{lost:,}", "", _of(lost, account.edges_used)),
    ]
    for part, found in account.parts.items():
        lines.append((f"{part}: nodes", f"{found.nodes:,}", "", ""))
        lines.append((f"{part}: edges kept", f"{found.edges:,}", "", ""))
        if found.between_tasks is not None:
            whole = found.edges + found.between_tasks
            share = _of(found.between_tasks, whole)
            lines.append((f"{part}: edges between tasks", f"{found.between_tasks:,}", "", share))
        share = _of(found.isolated, found.nodes)
        lines.append((f"{part}: isolated nodes", f"{found.isolated:,}", "", share))
    for name, nodes, reason in account.dropped:
        lines.append(("class left out", nodes, f"{name}: {reason}", ""))
    return Cells(("what", "count", "which", "%"), lines)


def _of(count: int, whole: int) -> str:
    return f"{100 * count / max(1, whole):.1f}"


def _test(made: Evaluation) -> PartSummary:
    return made.parts["test"]


def _task_of_class(bounds: Sequence[Sequence[int]]) -> list[int]:
    return [task for task, (low, high) in enumerate(bounds) for _ in range(low, high)]


def spread(values: Sequence[float | None], decimals: int) -> str:
    """Return the mean of some fractions in per cent, with their deviation where there are more."""
    mean, std = mean_std(values)
    return percent(mean, std if len(values) > 1 else None, decimals)
