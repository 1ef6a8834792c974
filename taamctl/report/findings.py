"""What a report found, in sentences that a reader needs first: what is best, what forgets, what is
uncertain. Pure functions; every sentence is computed from the rows.
"""

from __future__ import annotations

from collections.abc import Sequence

from taamctl.report.leading import Leading
from taamctl.report.report_rows import SeedsRow
from taamctl.report.report_tables import percent

SCOPES = {
    "all_seen": "among all classes seen",
    "up_to_task": "among the classes up to its task's",
    "task_only": "among its own task's classes",
}
FORGETS = 0.005  # of accuracy: less is shown as 0.0 or 0.5 points and said of nobody
SHOWN = 3  # methods named after the best
NOT_MIXED = (
    "What they give where nobody tells the task, in one graph that mixes all tasks, was not looked "
    "at: taamctl eval --lens with the same options, then taamctl report, adds it."
)


def of(rows: Sequence[SeedsRow], leading: Sequence[Leading], dataset: str) -> list[str]:
    """Return the sentences on one data set, the most useful first.

    Args:
        rows: in one logit scope. leading: methods on one mixed graph, the best first.
    """
    mine = [row for row in rows if row.dataset == dataset]
    looked_at = [each for each in leading if each.dataset == dataset]
    return [
        *of_mixed([each for each in looked_at if not each.told]),
        *of_grouped(mine),
        *([] if looked_at or not mine else [NOT_MIXED]),
        *of_forgetting(mine),
        *of_seeds(mine),
    ]


def of_mixed(mixed: Sequence[Leading]) -> list[str]:
    """Say which method to use where nobody tells the task, and how sure that is."""
    if not mixed:
        return []
    best, *others = mixed
    named = "".join(f"; {each.name} {_share(each.aa)}" for each in others[:SHOWN])
    first = (
        f"Use {best.name}: {_share(best.aa)} of 100 nodes right when nobody tells the task{named}. "
        "(All tasks' nodes in one graph, a decision for every node, every class counted alike.)"
    )
    if best.low is None:
        return [first]
    close = [each.name for each in others if each.aa >= best.low]
    if not close:
        return [first]
    return [
        first,
        f"Uncertain: {_joined(close)} {_verb(close, 'lies', 'lie')} within what the number of test "
        f"nodes leaves open for {best.name} ({percent(best.low, None, 1)} to "
        f"{percent(best.high, None, 1)}). Other splits may tell them apart (taamctl docs "
        "how-many-seeds).",
    ]


def of_grouped(rows: Sequence[SeedsRow]) -> list[str]:
    """Say which method is best where every query graph holds one task's nodes."""
    known = [row for row in rows if row.aa is not None and row.aa_defined]
    if not known:
        return []
    rivals = [row for row in known if row.task_id_kind != "given"] or known
    best, *others = sorted(rivals, key=_aa, reverse=True)
    where = "Where every graph to be answered holds one task's nodes (grouped)"
    aa, scope = percent(best.aa, None, 1), SCOPES[best.scope]
    if not others:
        return [f"{where}, {best.name} gets {aa} % right, judged {scope}.", *_own(rivals)]
    named = "".join(f"; {row.name} {percent(row.aa, None, 1)}" for row in others[:SHOWN])
    first = f"{where}, and a node is judged {scope}, {best.name} is best: {aa} %{named}."
    return [first, *_own([best, *others]), *_close(best, others)]


def _own(rows: Sequence[SeedsRow]) -> list[str]:
    """Say what methods get in the scope that they are used in, where that is another number."""
    pairs = [(row, percent(row.spread(row.own_aa)[0], None, 1)) for row in rows]
    found = [
        f"{row.name} {aa} % {SCOPES[row.own_scope]}"
        for row, aa in pairs
        if row.own_scope and aa != percent(row.aa, None, 1)
    ]
    if not found:
        return []
    return [f"As each is used, an easier task and no ranking: {'; '.join(found[: SHOWN + 1])}."]


def _close(best: SeedsRow, others: Sequence[SeedsRow]) -> list[str]:
    """Say which methods the test nodes cannot tell from the best."""
    low = best.aa_low
    if low is None:
        return []
    close = [row.name for row in others if _aa(row) >= low]
    if not close:
        return []
    return [
        f"Uncertain: there too {_joined(close)} {_verb(close, 'lies', 'lie')} within what the "
        f"number of test nodes leaves open for {best.name} ({percent(low, None, 1)} to "
        f"{percent(best.aa_high, None, 1)})."
    ]


def of_forgetting(rows: Sequence[SeedsRow]) -> list[str]:
    """Say which methods forget, and by how much."""
    known = [row for row in rows if row.af is not None and row.aa_defined]
    if not known:
        return []
    forgetful = sorted((row for row in known if _forgets(row)), key=_af, reverse=True)
    kept = [row.name for row in known if not _forgets(row)]
    if not forgetful:
        return [f"Nothing is forgotten ({_joined(kept)}): AF below 0.5."]
    named = "; ".join(f"{row.name} {100 * _af(row):.1f}" for row in forgetful[: SHOWN + 1])
    lost = f"in points of accuracy lost on a task since it was learned, {SCOPES[rows[0].scope]}"
    first = f"What forgets, {lost}: {named}."
    if not kept:
        return [first]
    return [f"{first} {_joined(kept)} {_verb(kept, 'forgets', 'forget')} nothing."]


def _forgets(row: SeedsRow) -> bool:
    return _af(row) >= FORGETS


def of_seeds(rows: Sequence[SeedsRow]) -> list[str]:
    """Say where one seed stands for all."""
    alone = [row.name for row in rows if len(row.seeds) == 1]
    if not alone:
        return []
    return [
        f"Uncertain: {_joined(alone)} ran with one seed. Another seed may give some points more or "
        "less."
    ]


def _joined(names: Sequence[str]) -> str:
    """Return `a`, `a and b`, or `a, b, c and 4 more`."""
    names = list(dict.fromkeys(names))
    if len(names) > SHOWN + 1:
        names = [*names[:SHOWN], f"{len(names) - SHOWN} more"]
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))


def _verb(names: Sequence[str], one: str, many: str) -> str:
    return one if len(set(names)) == 1 else many


def _share(aa: float) -> str:
    return f"{100 * aa:.0f}"


def _aa(row: SeedsRow) -> float:
    return row.aa or 0.0


def _af(row: SeedsRow) -> float:
    return row.af or 0.0
