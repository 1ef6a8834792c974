"""The refusal of columns that hold something else than numbers, with options that can be followed:
what such a column may be is told from its cells.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping

from taamctl.core.types import Array
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.cells import EMPTY, decimal_hint
from taamctl.importing.messages import quoted, some
from taamctl.importing.options import one_listed

LOOKED_AT = 1000  # cells that have to be dates for a column to be taken for one of dates


def no_features(
    wrong: Mapping[str, BadRows], cell: Mapping[str, Array], known: Collection[str]
) -> BadRows:
    """Return one refusal of all columns that hold something else than numbers.

    Args:
        wrong: column -> the refusal of its cells, in the order of the table.
        cell: column -> its cells, [N].
        known: which of `id`, `label` and `time` have a column already.
    """
    first, *others = wrong
    error = wrong[first]
    texts = [name for name in wrong if len(wrong[name].rows) > len(cell[name]) / 2]
    likely = _likely({name: _words(cell[name]) for name in texts})
    roles = {role: name for role, name in likely.items() if role not in known}
    more = ""
    if others:
        more = f"; nor does every cell of {len(others):,} more columns: {some(others)}"
    hint = decimal_hint(str(cell[first].tolist()[error.rows[0]]))
    if roles:
        named = " ".join(f"--{role} {quoted(name)}" for role, name in roles.items())
        rest = [name for name in wrong if name not in roles.values()]
        hint += f"say what they are: {' '.join([named, *_ignored(rest)])}; or "
    hint += (
        f"leave them out: {' '.join(_ignored(wrong))}; or choose with --features, or make numbers "
        "of texts: taamctl docs text-to-features"
    )
    return BadRows(error.message + more, hint, error.rows)


def _ignored(names: Iterable[str]) -> list[str]:
    return [f"--ignore {quoted(one_listed(name))}" for name in names]


def _words(column: Array) -> list[str]:
    """Return the cells of a column that are not empty; none of one that holds lists."""
    if column.ndim != 1:
        return []
    stripped = (str(value).strip() for value in column.tolist() if value is not None)
    return [text for text in stripped if text.lower() not in EMPTY]


def _likely(columns: Mapping[str, list[str]]) -> dict[str, str]:
    """Return role -> the column that fits it best: names are short and occur once, classes are few
    and occur again.
    """
    dates = [name for name, words in columns.items() if _are_dates(words)]
    left = {name: words for name, words in columns.items() if words and name not in dates}
    found = {
        "id": _least(left, _are_names, _length),
        "label": _least(left, _are_classes, _different),
        "time": next(iter(dates), None),
    }
    return {role: name for role, name in found.items() if name is not None}


def _least(
    columns: Mapping[str, list[str]],
    fits: Callable[[list[str]], bool],
    size: Callable[[list[str]], int],
) -> str | None:
    """Return the smallest column of those that fit."""
    able = (name for name, words in columns.items() if fits(words))
    return min(able, key=lambda name: size(columns[name]), default=None)


def _different(words: list[str]) -> int:
    return len(set(words))


def _length(words: list[str]) -> int:
    return sum(map(len, words))


def _are_names(words: list[str]) -> bool:
    spaced = any(re.search(r"\s", word) for word in words)
    return _different(words) == len(words) > 1 and not spaced


def _are_classes(words: list[str]) -> bool:
    return 2 <= _different(words) <= len(words) / 2


def _are_dates(words: list[str]) -> bool:
    import pandas as pd

    if not words:
        return False
    read = pd.to_datetime(
        pd.Series(words[:LOOKED_AT], dtype=object), format="ISO8601", utc=True, errors="coerce"
    )
    return bool(read.notna().all())
