"""The parameters of plug-ins that other packages offer: from params.yaml where it has their
section, else their own `DEFAULTS`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.runtime import params

EVERY = "all"  # stands for every plug-in there is; no plug-in may be called so


def expand(kind: str, names: Iterable[str] | None) -> list[str] | None:
    """Return names with `all` replaced by every plug-in there is, each once; None stays None."""
    if names is None:
        return None
    found = [
        n
        for name in names
        for n in (registry.names(f"taamctl.{kind}") if name == EVERY else (name,))
    ]
    return list(dict.fromkeys(found))


def read(
    path: Path, overrides: Iterable[str], methods: Iterable[str] | None = None, *, used: bool = True
) -> dict[str, Any]:
    """Read a parameter file, complete it with the sections of other packages' plug-ins, then apply
    the overrides.

    Overrides of plug-ins' parameters come last: the section that they change may come from the
    plug-in.

    Args:
        methods: methods that replace those of the `run` section.
        used: whether the methods of the run are used, so that their sections have to be there; else
            only overridden ones are.
    """
    overrides = list(overrides)
    late = [
        o
        for o in overrides
        if o.strip().startswith(tuple(f"{kind}." for kind in params.PLUGIN_SECTIONS))
    ]
    tree = params.read(path, [o for o in overrides if o not in late])
    run = tree.get("run") if isinstance(tree.get("run"), dict) else {}
    for kind in params.PLUGIN_SECTIONS:
        named = [
            o.partition("=")[0].split(".")[1].strip()
            for o in late
            if o.strip().startswith(f"{kind}.")
        ]
        chosen = methods if kind == "methods" and methods else (run or {}).get(kind)
        if (used or kind == "datasets") and isinstance(chosen, (list, tuple)):
            named += [name for name in chosen if isinstance(name, str)]
        for name in dict.fromkeys(named):
            complete(tree, kind, name)
    for override in late:
        params.set_value(tree, override)
    return tree


def complete(tree: dict[str, Any], kind: str, name: str) -> None:
    """Put another package's plug-in's `DEFAULTS` into a parameter tree that has no section for it,
    in place.

    Raises:
        TaamctlError: the plug-in cannot be imported, or has parameters and no values for them.
    """
    sections = tree.get(kind)
    if (
        not isinstance(sections, dict)
        or name in sections
        or not registry.is_outside(f"taamctl.{kind}", name)
    ):
        return
    sections[name] = defaults(kind, name)


def defaults(kind: str, name: str) -> dict[str, Any]:
    """Return a copy of the `DEFAULTS` of another package's plug-in; `{}` where it has no
    parameters.
    """
    package = f"taamctl.{kind}"
    module = registry.load(package, name)
    cls = module.Params if kind == "methods" else module.META.params
    given = getattr(module, "DEFAULTS", None if cls is not None else {})
    if not isinstance(given, Mapping):
        raise TaamctlError(
            f"{name!r} of {registry.origin(package, name)} has parameters but no values for them",
            "give its module a mapping DEFAULTS with every parameter, or write a section "
            f"{kind}.{name} into params.yaml",
        )
    return copy.deepcopy(dict(given))
