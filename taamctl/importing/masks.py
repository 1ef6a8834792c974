"""Masks and lists of rows that say which nodes are for training, validation and test; where
several splits stand side by side, the one that the user names.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.importing.column_names import guess, plain
from taamctl.importing.messages import quoted
from taamctl.importing.ways import Unclear

MASKS = {
    "train": ("trainmask", "trainindex", "trainidx"),
    "val": ("valmask", "validmask", "valindex", "validx", "valididx"),
    "test": ("testmask", "testindex", "testidx"),
}


def mask_keys(keys: list[str]) -> dict[str, str]:
    """Return part -> the key of its mask, by the usual names."""
    return {word: key for word, words in MASKS.items() if (key := guess(keys, words))}


def read_masks(
    arrays: Mapping[str, Array], masks: Mapping[str, str], n: int, chosen: str, where: str
) -> dict[str, Array]:
    """Return part -> [N] booleans.

    Args:
        masks: part -> key. chosen: `KEY:NUMBER`, which of several splits is meant; empty: there is
            one.

    Raises:
        TaamctlError: another shape or other values; several splits, and none of them chosen.
    """
    made = {word: _booleans(np.asarray(arrays[key]), key, n, where) for word, key in masks.items()}
    count = _splits(made, masks, n, where)
    number = _number(chosen, count, masks, where)
    return {word: _one(mask, number, n) for word, mask in made.items()}


def _one(mask: Array, number: int, n: int) -> Array:
    if mask.ndim < 2:
        return mask
    return mask[:, number] if mask.shape[0] == n else mask[number]


def _splits(made: Mapping[str, Array], masks: Mapping[str, str], n: int, where: str) -> int:
    """Return how many splits stand side by side in masks of shape [N, S] or [S, N]."""
    counts = {}
    for word, mask in made.items():
        if mask.ndim == 2 and n in mask.shape:
            counts[masks[word]] = mask.shape[1] if mask.shape[0] == n else mask.shape[0]
        elif mask.shape != (n,):
            raise TaamctlError(
                f"{where}: the {word} mask has shape {mask.shape} for {n:,} nodes",
                f"{masks[word]} holds true or false for every node",
            )
    if len(set(counts.values())) > 1:
        each = ", ".join(f"{key} {count}" for key, count in counts.items())
        raise TaamctlError(
            f"{where}: the masks hold different numbers of splits: {each}",
            "every split has a mask of each part",
        )
    return max(counts.values(), default=1)


def _number(chosen: str, count: int, masks: Mapping[str, str], where: str) -> int:
    """Return the number of the split that is meant."""
    first = next(iter(masks.values()))
    example = f"--split-column {quoted(f'{first}:{min(3, count - 1)}')}"
    if not chosen:
        if count > 1:
            raise Unclear(
                f"{where}: {', '.join(masks.values())} hold {count} splits, expected one",
                f"say which one, from {first}:0 to {first}:{count - 1}: {example}",
                [f"--split-column {quoted(f'{first}:{number}')}" for number in range(count)],
                example,
            )
        return 0
    key, _, number = chosen.rpartition(":")
    known = key in masks.values() and number.isascii() and number.isdigit()
    if not known or int(number) >= count:
        raise TaamctlError(
            f"{where}: --split-column {chosen}: there is no such split; there are {count}, in "
            f"{', '.join(masks.values())}",
            f"name a mask and a number from 0 to {count - 1}: {example}",
        )
    return int(number)


def _booleans(values: Array, key: str, n: int, where: str) -> Array:
    """Return a mask as booleans, made from row numbers where it is called an index."""
    if plain(key).endswith("mask") or values.dtype.kind == "b":
        if values.dtype.kind != "b" and not np.isin(values, (0, 1)).all():
            raise TaamctlError(
                f"{where}: {key} holds other values than 0 and 1",
                "a mask holds true and false, or 1 and 0",
            )
        return values.astype(bool).squeeze() if 1 in values.shape[1:] else values.astype(bool)
    if values.ndim > 1 and min(values.shape) > 1:
        raise TaamctlError(
            f"{where}: {key} holds lists of rows of the shape {values.shape}, expected one list",
            "save the one list that is meant, or masks with a column for every split",
        )
    values = values.ravel()
    if values.dtype.kind not in "iu" or (len(values) and not 0 <= values.min() <= values.max() < n):
        raise TaamctlError(
            f"{where}: {key} holds no row numbers from 0 to {n - 1}",
            "a part lists rows of the features",
        )
    return np.isin(np.arange(n), values)
