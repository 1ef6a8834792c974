"""Labels as people write them -> class ids and class names."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing import no_label
from taamctl.importing.no_label import Said
from taamctl.importing.words import exact, numbers_of, spelled

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
    none = no_label.words_for_none(counts, said or Said(), where)
    known = np.array([word not in none for word in text], bool)
    stated = [word for word in counts if word not in none]
    if stated and numbers_of(stated) is not None:
        labels, names, changes = _numbered(text, known, raw, where)
    else:
        labels, names, changes = _named(text, stated, where)
    return labels, names, (*notes, *changes, *no_label.notes(counts, none))


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
        row = next(row for row, word in enumerate(text) if word in endless)
        raise TaamctlError(
            f"{where}: label {text[row]} at row {row} is no class",
            "leave it empty where it is unknown",
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
    for row, value in enumerate(values):
        if value != int(value):
            raise TaamctlError(
                f"{where}: label {text[row]} at row {row} is no whole number",
                "a label is a class, not a quantity; cut it into classes, or name another column",
            )
    for row, value in enumerate(values):
        if value < -1:
            raise TaamctlError(
                f"{where}: label {text[row]} at row {row} is negative",
                "-1 means unlabelled, and --unlabelled another number; number classes from 0",
            )


def _from_one_hot(raw: Array, where: str) -> Array:
    """Return the column of the one in every row, -1 for a row of zeros."""
    wrong = np.zeros(len(raw), bool)
    numeric = raw.dtype.kind in "iufb"
    if numeric:
        wrong = (~np.isin(raw, (0, 1))).any(1) | (raw.sum(1) > 1)
    if not numeric or wrong.any():
        at = f" (row {int(np.argmax(wrong))})" if wrong.any() else ""
        raise TaamctlError(
            f"{where}: labels of shape {raw.shape} are not one-hot{at}",
            "a node has one class; give one column",
        )
    return np.where(raw.any(1), raw.argmax(1), -1)
