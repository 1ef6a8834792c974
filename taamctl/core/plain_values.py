"""One text for equal parameters, whatever they are made of."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

Plain = Any  # what YAML and JSON hold: text, numbers, null, lists and mappings of such


def canonical(value: object) -> Plain:
    """Return a JSON-ready copy: dataclasses to mappings, tuples to lists, keys to text.

    Equal parameters give equal copies.
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {f.name: canonical(getattr(value, f.name)) for f in dataclasses.fields(value)}
    if isinstance(value, Mapping):
        return {str(k): canonical(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [canonical(v) for v in value]
    return value


def canonical_json(value: object) -> str:
    """Return the one JSON text of a parameter value: sorted keys, no spaces, no NaN."""
    return json.dumps(canonical(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
