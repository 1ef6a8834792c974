"""What a method says about itself, as plain values."""

from __future__ import annotations

import dataclasses
import inspect
import typing
from collections.abc import Mapping
from typing import Any

from taamctl.core import plain_values, registry
from taamctl.core.errors import TaamctlError
from taamctl.params import binding, sections

PACKAGE = "taamctl.methods"
SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


def summary(name: str) -> dict[str, Any]:
    """Return one method's row of the list; a method that cannot be used has its reason under
    `broken`, and no facts.
    """
    try:
        facts = registry.load(PACKAGE, name).Method.facts
    except TaamctlError as error:
        row: dict[str, Any] = dict.fromkeys(
            ("title", "family", "sees", "task_id", "needs", "query_needs", "memory")
        )
        return {
            "name": name,
            **row,
            "from": registry.origin(PACKAGE, name),
            "broken": error.message,
        }
    return {
        "name": name,
        "title": facts.title,
        "family": facts.family,
        "sees": facts.sees,
        "task_id": facts.task_id,
        "needs": list(facts.needs),
        "query_needs": list(facts.query_needs),
        "memory": facts.memory,
        "from": registry.origin(PACKAGE, name),
        "broken": None,
    }


def describe(name: str, section: Any, where: str) -> dict[str, Any]:
    """Return everything that a method declares.

    Args:
        section: the values of its parameters, `methods.<name>` of a parameter file or the plug-in's
            `DEFAULTS`.
        where: what the values are from, for messages.

    Raises:
        TaamctlError: no such method, it cannot be imported, or the values do not fit.
    """
    import torch

    from taamctl.testing.toy_stream import INFO, TOY_TRAIN

    module = registry.load(PACKAGE, name)
    own = sections.Params(where, {"methods": {name: section}}).plugin(
        "methods", name, module.Params
    )
    made = module.Method(own, INFO, TOY_TRAIN, 1, torch.device("cpu"))
    row = {key: value for key, value in summary(name).items() if key != "broken"}
    return {
        **row,
        "source": made.facts.source,
        "specification": inspect.getdoc(module.Method) or "",
        "routing": list(made.facts.routing),
        "scope": made.scope,
        "independent": made.independent,
        "reading": made.variant,
        "files": [str(path) for path in registry.sources(PACKAGE, name)],
        "values_from": where,
        "parameters": [] if module.Params is None else _parameters(module.Params, section),
    }


def _parameters(cls: type[Any], section: Mapping[str, Any]) -> list[dict[str, Any]]:
    hints = typing.get_type_hints(cls)
    rows = []
    for field in dataclasses.fields(cls):
        bounds = [
            f"{SIGNS[sign]} {value}"
            for sign, value in (field.metadata.get("bounds") or {}).items()
            if value is not None
        ]
        choices = field.metadata.get("choices")
        rows.append(
            {
                "name": field.name,
                "value": plain_values.canonical(section[field.name]),
                "type": binding.kind_name(hints[field.name]),
                "range": ", ".join(bounds),
                "choices": list(choices) if choices else None,
                "doc": field.metadata.get("doc", ""),
            }
        )
    return rows
