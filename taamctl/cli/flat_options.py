"""Groups of options as single ones: a verb takes a dataclass, and typer sees its fields."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from dataclasses import is_dataclass
from typing import get_type_hints

from taamctl.cli import only_here


def flat(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command that takes the fields of its option groups as parameters of their own, and
    refuses URLs where it takes none.
    """
    hints = get_type_hints(command, include_extras=True)
    groups: dict[str, type[object]] = {}
    found: dict[str, inspect.Parameter] = {}
    for name, parameter in inspect.signature(command).parameters.items():
        kind = hints[name]
        single = {name: parameter}
        if is_dataclass(kind) and isinstance(kind, type):
            groups[name] = kind
            single = dict(inspect.signature(kind).parameters)
            hints |= get_type_hints(kind, include_extras=True)
        for key, each in single.items():
            found[key] = each.replace(kind=each.KEYWORD_ONLY, annotation=hints[key])

    def call(**given: object) -> None:
        only_here.require(given)
        built = {}
        for name, group in groups.items():
            members = given.keys() & inspect.signature(group).parameters.keys()
            built[name] = group(**{member: given.pop(member) for member in members})
        command(**given, **built)

    call.__name__ = command.__name__
    call.__doc__ = command.__doc__
    call.__annotations__ = {key: each.annotation for key, each in found.items()}
    vars(call)["__signature__"] = inspect.Signature(list(found.values()))
    return call
