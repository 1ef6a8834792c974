"""Columns of a table that say which nodes are for training, validation and test: one for each part,
or one for each part of several splits, as `train_mask_0`, `train_mask_1`, ...
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from taamctl.core.errors import TaamctlError
from taamctl.importing.column_names import MASKS, plain
from taamctl.importing.messages import quoted, shown
from taamctl.importing.ways import Unclear

_NUMBERED = re.compile(r"([a-z]+mask)([0-9]+)")
Masks = dict[str, str]  # part -> column


def mask_columns(names: Sequence[str], chosen: str, where: str) -> tuple[Masks, tuple[str, ...]]:
    """Return the columns of the one split that is meant, and those of other splits.

    Args:
        names: columns without another meaning. chosen: `train_mask:3`; empty: there is one split.

    Raises:
        Unclear: several splits, and none is chosen.
        TaamctlError: no such split.
    """
    single = {MASKS[plain(name)]: name for name in names if plain(name) in MASKS}
    splits = _splits(names)
    if single and not chosen:
        return single, tuple(name for split in splits.values() for name in split.values())
    if not splits:
        _refuse_chosen(chosen, where)
        return single, ()
    number = _number(splits, chosen, where)
    others = [split for key, split in splits.items() if key != number]
    left = [*single.values(), *(name for split in others for name in split.values())]
    return splits[number], tuple(left)


def _splits(names: Sequence[str]) -> dict[int, Masks]:
    """Return number -> part -> column."""
    found: dict[int, Masks] = {}
    for name in names:
        match = _NUMBERED.fullmatch(plain(name))
        if match and match[1] in MASKS:
            found.setdefault(int(match[2]), {})[MASKS[match[1]]] = name
    return found


def _number(splits: dict[int, Masks], chosen: str, where: str) -> int:
    """Return the number of the split that is meant."""
    numbers = sorted(splits)
    if not chosen and len(numbers) == 1:
        return numbers[0]
    ways = [f"--split-column {quoted(f'{_stem(splits[n], n)}:{n}')}" for n in numbers]
    columns = ", ".join(splits[numbers[0]].values())
    if not chosen:
        raise Unclear(
            f"{where}: {len(numbers)} splits stand side by side ({columns}, ...), expected one",
            f"say which one, such as {ways[0]}",
            ways,
            ways[0],
        )
    key, _, number = chosen.rpartition(":")
    known = plain(key) in MASKS and number.isascii() and number.isdigit()
    if not known or int(number) not in splits:
        raise TaamctlError(
            f"{where}: --split-column {shown(chosen)}: there is no such split; there are "
            f"{len(numbers)}, from {numbers[0]} to {numbers[-1]}",
            f"name a mask and a number, such as {ways[0]}",
        )
    return int(number)


def _stem(split: Masks, number: int) -> str:
    """Return the name of a split's first column without its number."""
    first = next(iter(split.values()))
    return re.sub(rf"[^0-9a-zA-Z]*0*{number}[^0-9a-zA-Z]*$", "", first)


def _refuse_chosen(chosen: str, where: str) -> None:
    if chosen:
        raise TaamctlError(
            f"{where}: --split-column {shown(chosen)}: there are no splits side by side",
            "they stand in columns such as train_mask_0, val_mask_0 and test_mask_0; else leave it "
            "out",
        )
