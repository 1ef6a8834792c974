"""What a graph states of its stream: the task of a class, the part and the time of a node."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike

from taamctl.core.errors import TaamctlError
from taamctl.core.types import PARTS, Array
from taamctl.importing.bad_rows import BadRows
from taamctl.importing.messages import shown, some
from taamctl.importing.words import MISSING, PART_WORDS, exact, numbers_of, spelled, whole

if TYPE_CHECKING:
    from taamctl.importing.raw_graph import RawGraph


def arrival_of(raw: RawGraph, names: tuple[str, ...]) -> Array | None:
    """Return the task that every class arrives with, [C] int64; None where none is stated."""
    if raw.tasks is None:
        return None
    where = raw.tasks_where or raw.where
    stated = {_class_name(k, names): v for k, v in raw.tasks.items()}
    _require_classes(stated, names, where)
    spellings = [spelled(stated[c]) for c in names]
    numbers = numbers_of(spellings)
    if numbers is not None:
        return np.unique(numbers, return_inverse=True)[1].astype(np.int64)
    order = sorted(set(spellings), key=_natural)
    return np.array([order.index(word) for word in spellings], np.int64)


def _require_classes(stated: Mapping[str, object], names: tuple[str, ...], where: str) -> None:
    """Refuse tasks that are not of every class and of nothing else."""
    for name in names:
        if name not in stated:
            raise TaamctlError(
                f"{where}: no task is given for the class {shown(name)!r}",
                "name the task of every class, once",
            )
    for name in stated:
        if name not in names:
            raise TaamctlError(
                f"{where}: a task is given for {shown(name)!r}, which no node has as its class",
                f"there are: {some(names)}",
            )


def _natural(text: str) -> list[tuple[int, int, str]]:
    """Return a key that sorts `day 2` before `day 10`."""
    pieces = [piece for piece in re.split(r"(\d+)", text) if piece]
    return [_of_piece(piece) for piece in pieces]


def _of_piece(piece: str) -> tuple[int, int, str]:
    """Return the key of digits, or of other text: digits are compared as they are spelled, since
    Python makes no number of thousands of them.
    """
    if not piece.isdecimal():
        return (1, 0, piece)
    digits = piece.lstrip("0")
    return (0, len(digits), digits)


def _class_name(value: object, names: tuple[str, ...]) -> str:
    """Return the class that `value` names: as it is spelled, else as the number that it is."""
    text = spelled(whole(value))
    if text not in names and numbers_of([text]) is not None:
        return next((c for c in names if c.isdigit() and int(c) == exact(text)), text)
    return text


def part_of(raw: RawGraph, n: int) -> Array | None:
    """Return the part of every node, [N] int8; None where none is stated."""
    if raw.part is None:
        return None
    values = np.asarray(raw.part).ravel()
    if len(values) != n:
        raise TaamctlError(
            f"{raw.where}: parts are given for {len(values):,} of {n:,} nodes",
            "give one per node; leave it empty for none",
        )
    words = {**PART_WORDS, "0": 0, "1": 1, "2": 2, **dict.fromkeys(MISSING, -1)}
    cells = [spelled(whole(value)).lower() for value in values.tolist()]
    wrong = [row for row, cell in enumerate(cells) if cell not in words]
    if wrong:
        raise BadRows(
            f"{raw.where}: the part {shown(values[wrong[0]])!r} at row {wrong[0]} is none of "
            f"{', '.join(PARTS)}",
            "leave it empty for a node of no part",
            wrong,
        )
    return np.array([words[cell] for cell in cells], np.int8)


def time_of(raw: RawGraph, n: int) -> Array | None:
    """Return when every node appeared, [N] float64; None where it is not stated."""
    if raw.time is None:
        return None
    values = np.asarray(raw.time).ravel()
    if len(values) != n or values.dtype.kind not in "iuf":
        raise TaamctlError(
            f"{raw.where}: times are {values.dtype} {values.shape}, expected a number for each of "
            f"{n:,} nodes",
            "give one number per node, such as a year",
        )
    endless = np.flatnonzero(np.isinf(values))
    if len(endless):
        raise TaamctlError(
            f"{raw.where}: the time at row {endless[0]} is {values[endless[0]]}",
            "leave it empty where it is unknown",
        )
    return values.astype(np.float64)


def parts_from_masks(masks: Mapping[str, ArrayLike], n: int, where: str) -> Array | None:
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
        if mask.ndim == 2 and mask.shape[1] == 1:
            mask = mask[:, 0]
        if mask.shape != (n,):
            raise TaamctlError(
                f"{where}: the {word} mask has shape {mask.shape} for {n:,} nodes",
                "give a mask with one value per node",
            )
        twice = np.flatnonzero(mask.astype(bool) & (part >= 0))
        if len(twice):
            raise TaamctlError(
                f"{where}: node {twice[0]} is in {PARTS[part[twice[0]]]} and in {word}",
                "a node belongs to one part",
            )
        part[mask.astype(bool)] = p
    return part
