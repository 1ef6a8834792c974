"""What a method says about itself, as plain values."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

from taamctl.core import plain_values, registry
from taamctl.core.errors import TaamctlError
from taamctl.learning.contract.method_plugin import declaring, method_class
from taamctl.params import binding, sections

PACKAGE = "taamctl.methods"
SHOWN = ("title", "family", "sees", "task_id", "needs", "query_needs", "memory")
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def summary(name: str) -> dict[str, Any]:
    """Return one method's row of the list; a method that cannot be used has its reason under
    `broken`, and no facts.
    """
    row: dict[str, Any] = {"name": name, **dict.fromkeys(SHOWN)}
    row |= {"from": registry.origin(PACKAGE, name), "broken": None}
    try:
        facts = method_class(name).facts
    except TaamctlError as error:
        return {**row, "broken": error.message}
    shown = {key: getattr(facts, key) for key in SHOWN}
    lists = {key: list(shown[key]) for key in ("needs", "query_needs")}
    return {**row, **shown, **lists}


def describe(name: str, section: Any, where: str) -> dict[str, Any]:
    """Return everything that a method declares.

    Args:
        section: the values of its parameters, `methods.<name>` of a parameter file or the plug-in's
            `DEFAULTS`.
        where: what the values are from, for messages.

    Raises:
        TaamctlError: no such method, it cannot be imported, or the values do not fit.
    """
    from taamctl.testing.toy_stream import INFO, TOY_TRAIN

    params = sections.Params(where, {"methods": {name: section}})
    cls = registry.method_params(name)
    own = params.plugin("methods", name, cls)
    made = declaring(name, own, INFO, TOY_TRAIN)
    row = {key: value for key, value in summary(name).items() if key != "broken"}
    return {
        **row,
        "source": made.facts.source,
        "specification": inspect.getdoc(method_class(name)) or "",
        "routing": list(made.facts.routing),
        "scope": made.scope,
        "independent": made.independent,
        "reading": made.variant,
        "files": [str(path) for path in registry.sources(PACKAGE, name)],
        "values_from": where,
        "parameters": [] if cls is None else _parameters(cls, section),
    }


def _parameters(cls: type[Any], section: Mapping[str, object]) -> list[dict[str, object]]:
    hints = typing.get_type_hints(cls)
    rows: list[dict[str, object]] = []
    for field in dataclasses.fields(cls):
        bounds = field.metadata.get("bounds") or {}
        limits = [f"{SIGNS[sign]} {value}" for sign, value in bounds.items() if value is not None]
        rows.append(
            {
                "name": field.name,
                "value": plain_values.canonical(section[field.name]),
                "type": binding.kind_name(hints[field.name]),
                "range": ", ".join(limits),
                "choices": list(field.metadata.get("choices") or ()) or None,
                "doc": field.metadata.get("doc", ""),
            }
        )
    return rows
