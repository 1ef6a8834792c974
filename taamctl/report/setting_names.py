"""The settings of a run in words: in what they differ from the packaged ones, and what tells rows
of one method apart. Pure functions.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

from taamctl.core.plain_values import Plain, canonical
from taamctl.params.params_file import PACKAGED, read

RESOLVED = ("device", "feature_norm")  # by a stage itself


class Ran(NamedTuple):
    """Who ran on what, and how its parameters differ from the packaged ones."""

    who: str
    dataset: str
    changes: Sequence[str]


def changes(settings: Mapping[str, Any], dataset: str, method: str) -> list[str]:
    """Return what distinguishes parameters from the packaged ones, as `--set` takes it.

    Left out are values that a stage resolves itself: the device, and the feature normalisation of
    the data set.

    Args:
        settings: of an evaluation or a lens file.
    """
    packaged = _packaged()
    usual = {
        "split": packaged["split"],
        "infer": packaged["infer"],
        "precompute": packaged["precompute"],
        "train": packaged["train"],
        "lens": packaged["lens"],
        f"datasets.{dataset}": packaged["datasets"].get(dataset, {}),
        f"methods.{method}": packaged["methods"].get(method, {}),
    }
    infer = dict(settings.get("infer") or {})
    linear = infer.pop("linear", settings.get("lens"))  # what `infer` reads of the lens section
    made = (
        settings.get("split"),
        infer,
        settings.get("precompute"),
        settings["train"].get("train"),
        linear,
        settings.get("dataset"),
        settings["train"].get("method"),
    )
    return [
        f"{section}.{key}={json.dumps(value).replace(chr(34), '')}"
        for (section, known), values in zip(usual.items(), made, strict=True)
        for key, value in (values or {}).items()
        if value != known.get(key) and key not in RESOLVED
    ]


@cache
def _packaged() -> Plain:
    return canonical(read(PACKAGED))


def apart(rows: Sequence[Ran]) -> list[str]:
    """Return what tells every row apart from others of its name, such as `train.lr=0.01`; empty
    where it has the usual settings, or those that all rows of that name have. The same settings
    get the same words on every data set.
    """
    known: dict[str, list[Ran]] = {}
    for row in rows:
        known.setdefault(row.who, []).append(row)
    return [", ".join(_own(row, known[row.who])) for row in rows]


def _own(row: Ran, same: Sequence[Ran]) -> list[str]:
    shared = set(row.changes).intersection(*(other.changes for other in same))
    several = sum(other.dataset == row.dataset for other in same) > 1
    # What is set for one data set alone tells nothing apart beside other data sets.
    return [
        change
        for change in row.changes
        if change not in shared and (several or not change.startswith("datasets."))
    ]


def named(name: str, *more: str) -> str:
    """Return a name, and in brackets what more is known of it."""
    inside = ", ".join(filter(None, more))
    return f"{name} ({inside})" if inside else name
