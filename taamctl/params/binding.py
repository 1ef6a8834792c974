"""A mapping from a file -> a frozen dataclass, with every fault found at once.

msgspec checks the types. What is ours: the spellings that YAML and JSON force on people, bounds,
choices, and words that say what is wrong.
"""

from __future__ import annotations

import dataclasses
import difflib
import math
import operator
import types
import typing
from collections.abc import Iterable, Mapping
from typing import TypeVar

from taamctl.core.errors import TaamctlError

P = TypeVar("P")
BOUNDS = {
    "ge": (">=", operator.ge),
    "gt": (">", operator.gt),
    "le": ("<=", operator.le),
    "lt": ("<", operator.lt),
}
MOST_SHOWN = 60  # characters of a value in a message
KINDS = {int: "whole number", float: "finite number", bool: "true or false", str: "text"}


def bind(cls: type[P], values: object, where: str, faults: list[str]) -> P | None:
    """Build the dataclass `cls` from a mapping; append what is wrong to `faults` and return None
    where anything is.
    """
    if values is None:
        faults.append(f"{where}: section missing")
        return None
    if not isinstance(values, Mapping):
        faults.append(f"{where}: {_shown(values)} is no mapping")
        return None
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}  # type: ignore[arg-type]
    before = len(faults)
    faults.extend(unknown(str(k), f"{where}.", fields) for k in values if k not in fields)
    bound: dict[str, object] = {}
    for name, field in fields.items():
        place = f"{where}.{name}"
        if name not in values:
            faults.append(f"{place}: missing; {field.metadata.get('doc', '')}")
        elif dataclasses.is_dataclass(hints[name]):
            bound[name] = bind(hints[name], values[name], place, faults)
        else:
            bound[name] = _value(hints[name], values[name], place, field.metadata, faults)
    if len(faults) > before:
        return None
    try:
        return cls(**bound)
    except TaamctlError as error:  # a cross-check in __post_init__
        faults.append(f"{where}: {error.message}")
        return None


def unknown(key: str, where: str, known: Iterable[str]) -> str:
    """Return the fault of a key that is not there, with the nearest that is."""
    known = list(known)
    near = difflib.get_close_matches(key, known, n=1)
    if near:
        return f"{where}{key}: unknown key; did you mean {near[0]}?"
    return f"{where}{key}: unknown key; known: {', '.join(known)}"


def raise_faults(source: str, faults: list[str]) -> None:
    """Raise one error for all faults found in `source`."""
    if faults:
        plural = "s" if len(faults) > 1 else ""
        raise TaamctlError(
            "\n  ".join([f"{source}: {len(faults)} fault{plural}", *faults]),
            "every key is explained by a comment in params.yaml",
        )


def _shown(value: object) -> str:
    """Return a value as a message shows it: cut where it is long."""
    text = repr(value)
    if len(text) > MOST_SHOWN:
        text = f"{text[: MOST_SHOWN - 3]}..."
    return text


def _colons(value: object) -> str:
    """Say how a mapping is written that YAML takes for a list of names: `{2:1}` has no blank."""
    if not isinstance(value, Mapping):
        return ""
    names = [key for key, held in value.items() if held is None and ":" in str(key)]
    if not names:
        return ""
    meant = ", ".join(str(name).replace(":", ": ", 1) for name in names)
    return f"; a blank belongs behind a colon: {{{meant[:MOST_SHOWN]}}}"


def kind_name(kind: object) -> str:
    """Return a parameter's type in words."""
    args = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return f"list of {kind_name(args[0])}s"
    if typing.get_origin(kind) is dict:
        return f"mapping of {kind_name(args[0])}s to {kind_name(args[1])}s"
    if args:
        return " or null, nor ".join(kind_name(a) for a in args if a is not type(None))
    return KINDS.get(kind, str(kind))  # type: ignore[call-overload, no-any-return]


def _value(
    kind: object, value: object, where: str, meta: Mapping[str, object], faults: list[str]
) -> object:
    """Convert one value, and hold it to its choices and bounds."""
    import msgspec

    try:
        made = msgspec.convert(_respelled(kind, value), kind)
        _require_finite(made)
    except (msgspec.ValidationError, TypeError, ValueError, OverflowError):
        faults.append(f"{where}: {_shown(value)} is no {kind_name(kind)}{_colons(value)}")
        return None
    if made is None:
        return None
    choices = meta.get("choices")
    if isinstance(choices, tuple) and made not in choices:
        near = difflib.get_close_matches(str(made), [str(c) for c in choices], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        faults.append(
            f"{where}: {_shown(value)} is not one of {', '.join(map(str, choices))}{hint}"
        )
    numbers = made if isinstance(made, tuple) else (made,)
    bounds = meta.get("bounds")
    for name, bound in (bounds if isinstance(bounds, Mapping) else {}).items():
        sign, holds = BOUNDS[name]
        if not all(holds(number, bound) for number in numbers):
            faults.append(f"{where}: {_shown(value)} must be {sign} {bound}")
    return made


def _respelled(kind: object, value: object) -> object:
    """Return a value as its type is spelt in Python.

    YAML reads 5e-4 (without a dot) as text, people write 200.0 for 200, JSON has text as keys, and
    a bare list of hops stands for equal weights.
    """
    origin = typing.get_origin(kind)
    args = typing.get_args(kind)
    if origin in (typing.Union, types.UnionType) and value is not None:
        inner = next(a for a in args if a is not type(None))
        return _respelled(inner, value)
    if origin is tuple and isinstance(value, (list, tuple)):
        return [_respelled(args[0], item) for item in value]
    if origin is dict:
        return _mapping(args[0], args[1], value)
    return _number(kind, value)


def _number(kind: object, value: object) -> object:
    if kind is float and isinstance(value, str):
        return float(value)
    if kind is int and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def _mapping(key_kind: object, value_kind: object, value: object) -> object:
    if isinstance(value, list) and len(set(value)) == len(value):
        value = dict.fromkeys(value, 1)
    if not isinstance(value, Mapping):
        return value
    pairs = (
        (int(k) if key_kind is int and isinstance(k, str) and k.isdecimal() else k, v)
        for k, v in value.items()
    )
    return {_respelled(key_kind, k): _respelled(value_kind, v) for k, v in sorted(pairs)}


def _require_finite(value: object) -> None:
    """Refuse NaN and infinity, also inside a list or mapping."""
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple):
        for item in value:
            _require_finite(item)
    elif isinstance(value, float) and not math.isfinite(value):
        raise ValueError
