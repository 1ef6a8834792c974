"""Declare a parameter: its bounds, its choices and the sentence that explains it, in one place."""

from __future__ import annotations

from dataclasses import field
from typing import Any


def param(
    doc: str,
    *,
    ge: float | None = None,
    gt: float | None = None,
    le: float | None = None,
    lt: float | None = None,
    choices: tuple[Any, ...] | None = None,
) -> Any:
    """Declare a field of a parameter dataclass. It has no default: params.yaml is complete.

    Args:
        doc: one sentence with unit, range and, where there is one, the symbol of the source.
        ge, gt, le, lt: bounds on a number.
        choices: the only values allowed.
    """
    bounds = {k: v for k, v in {"ge": ge, "gt": gt, "le": le, "lt": lt}.items() if v is not None}
    return field(metadata={"doc": doc, "bounds": bounds, "choices": choices})
