"""Labels as people write them -> class ids and class names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
from numpy.typing import ArrayLike

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import no_label
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.messages import shown
from taamctl.importing.no_label import Said
from taamctl.importing.words import exact, numbers_of, spelled

SHOWN = 10  # rows in a message
Labels = tuple[Array, tuple[str, ...], tuple[str, ...]]  # [N] int64, names, notes


def read_labels(values: ArrayLike | None, n: int, where: str, said: Said | None = None) -> Labels:
    """Return labels as [N] int64 with -1 for unlabelled, class names in label order, and notes.

    Numbers are sorted as numbers, text as text, and names keep the spelling; one-hot rows and
    columns of one value are taken as what they stand for.

    Args:
        values: [N], [N, 1] or one-hot [N, C]; None where no node has a label.
        said: what the user says of words that mean no label; None: nothing.

    Raises:
        TaamctlError: a wrong count, a word that may be a class or none, or a label such as 3.5; the
            message names the row.
    """
    if values is None:
        return np.full(n, -1, np.int64), (), ("no labels: the graph can be predicted, not learned",)
    raw = plain_labels(values, where)
    notes = _notes_on_shape(np.shape(values))
    if raw.ndim != 1 or len(raw) != n:
        raise TaamctlError(
            f"{where}: labels of shape {np.shape(values)} for {n:,} nodes",
            "one label per node; leave it empty where unknown",
        )
    text = [spelled(value) for value in raw.tolist()]
    counts = no_label.counted(text)
    said = said or Said()
    none = no_label.words_for_none(counts, said, where) | _largest(raw, counts, said)
    known = np.array([word not in none for word in text], bool)
    stated = [word for word in counts if word not in none]
    if stated and numbers_of(stated) is not None:
        labels, names, changes = _numbered(text, known, raw, where)
    else:
        labels, names, changes = _named(text, stated, where)
    return labels, names, (*notes, *changes, *no_label.notes(counts, none))


def _largest(raw: Array, counts: Mapping[str, int], said: Said) -> set[str]:
    """Return the largest number of an unsigned type, as -1 is stored there: 255 in uint8. It is a
    class where all numbers below are, or where the user says so.
    """
    if raw.dtype.kind != "u":
        return set()
    largest = int(np.iinfo(raw.dtype).max)
    word = str(largest)
    meant = said.unlabelled or word in said.classes or len(counts) > largest
    return set() if meant or word not in counts else {word}


def _named(text: list[str], stated: list[str], where: str) -> Labels:
    """Return what `read_labels` does, where labels are words: `stated` are the classes."""
    _refuse_endless(text, stated, where)
    index = {name: i for i, name in enumerate(sorted(stated))}
    return np.array([index.get(word, -1) for word in text], np.int64), tuple(index), ()


def _notes_on_shape(shape: tuple[int, ...]) -> tuple[str, ...]:
    """Say how labels of two dimensions are read."""
    if len(shape) != 2:
        return ()
    kind = "taken as one per node" if shape[1] == 1 else "that are one-hot taken as class numbers"
    return (f"labels of shape {shape} {kind}",)


def plain_labels(values: ArrayLike | None, where: str) -> Array:
    """Return labels of shape [N, 1] or one-hot [N, C] as [N]; others as they are."""
    raw = np.asarray(values)
    if raw.ndim != 2:
        return raw
    return raw[:, 0] if raw.shape[1] == 1 else _from_one_hot(raw, where)


def _refuse_endless(text: list[str], stated: list[str], where: str) -> None:
    """Refuse an infinity among labels that are numbers otherwise."""
    endless = {word for word in stated if word.lower().lstrip("+-") in ("inf", "infinity")}
    others = [word for word in stated if word not in endless]
    if endless and numbers_of(others) is not None:
        rows = [row for row, word in enumerate(text) if word in endless]
        raise BadRows(
            f"{where}: label {shown(text[rows[0]])} at row {rows[0]} is no class",
            "leave it empty where it is unknown",
            rows,
        )


def _numbered(text: list[str], known: Array, raw: Array, where: str) -> Labels:
    """Return what `read_labels` does, where every label is a number: `7` and `7.0` are one
    class.
    """
    values = [exact(word) if is_known else -1 for word, is_known in zip(text, known, strict=True)]
    _refuse_no_classes(values, text, where)
    spellings: dict[int, set[str]] = {}
    for value, word in zip(values, text, strict=True):
        if value >= 0:
            spellings.setdefault(int(value), set()).add(word)
    found = sorted(spellings)
    index = {value: i for i, value in enumerate(found)}
    labels = np.array([index.get(int(value), -1) for value in values], np.int64)
    changes = _notes_on_numbers(spellings, raw.dtype.kind == "f")
    names = tuple(_name_of(value, spellings[value]) for value in found)
    return labels, names, tuple(changes)


def _notes_on_numbers(spellings: dict[int, set[str]], floats: bool) -> Iterator[str]:
    """Say what was made of labels that are numbers."""
    found = sorted(spellings)
    words = set().union(*spellings.values())
    if floats or not all(word.isdigit() for word in words):
        yield "labels that are whole numbers stored as floats taken as classes"
    if found and found != list(range(len(found))):
        yield (
            f"labels {found[0]}..{found[-1]} renumbered 0..{len(found) - 1}; their names keep the "
            "numbers"
        )
    merged = [sorted(of_one) for of_one in spellings.values() if len(of_one) > 1]
    if merged:
        yield f"labels spelled differently are one number, so one class: {', '.join(merged[0])}"


def _name_of(value: int, words: set[str]) -> str:
    """Return the one spelling of a number in digits, else the number."""
    first = next(iter(words))
    return first if len(words) == 1 and first.isdigit() else str(value)


def _refuse_no_classes(values: list[float | int], text: list[str], where: str) -> None:
    broken = [row for row, value in enumerate(values) if value != int(value)]
    if broken:
        raise BadRows(
            f"{where}: label {shown(text[broken[0]])} at row {broken[0]} is no whole number",
            "a label is a class, not a quantity; cut it into classes, or name another column",
            broken,
        )
    negative = [row for row, value in enumerate(values) if value < -1]
    if negative:
        raise BadRows(
            f"{where}: label {shown(text[negative[0]])} at row {negative[0]} is negative",
            "-1 means unlabelled, and --unlabelled another number; number classes from 0",
            negative,
        )


def _from_one_hot(raw: Array, where: str) -> Array:
    """Return the column of the one in every row, -1 for a row of zeros."""
    if not raw.shape[1]:
        raise TaamctlError(
            f"{where}: labels of shape {raw.shape} hold no class",
            "a node has one class; give one column",
        )
    if raw.dtype.kind not in "iufb":
        raise TaamctlError(
            f"{where}: labels of shape {raw.shape} are not one-hot: they are {raw.dtype}",
            "a node has one class; give one column",
        )
    other = ~np.isin(raw, (0, 1))
    wrong = np.flatnonzero(other.any(1) | (raw.sum(1) > 1))
    if len(wrong):
        some = "; ".join(_not_one_hot(raw[row], other[row], row) for row in wrong[:SHOWN])
        more = f"; and {len(wrong) - SHOWN:,} more rows" * (len(wrong) > SHOWN)
        raise TaamctlError(
            f"{where}: labels of shape {raw.shape} are not one-hot (row {wrong[0]}): {some}{more}",
            "a node has one class; give one column, or mend those rows",
        )
    return np.where(raw.any(1), raw.argmax(1), -1)


def _not_one_hot(cells: Array, other: Array, row: int) -> str:
    """Say what is wrong in a row."""
    if other.any():
        at = int(other.argmax())
        return f"row {row} holds {cells[at]} in column {at}"
    ones = ", ".join(map(str, np.flatnonzero(cells)[:SHOWN]))
    return f"row {row} has a one in the columns {ones}"
