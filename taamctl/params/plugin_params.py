"""The parameters of plug-ins that other packages offer: from params.yaml where it has their
section, else their own `DEFAULTS`.
"""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping
from pathlib import Path

from taamctl.core import registry
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.params import params_file, sections

EVERY = "all"  # stands for every plug-in there is; no plug-in may be called so


def expand(kind: str, names: Iterable[str] | None) -> list[str] | None:
    """Return names with `all` replaced by every plug-in there is, each once; None stays None."""
    if names is None:
        return None
    found: dict[str, None] = {}
    for name in names:
        chosen = registry.names(f"taamctl.{kind}") if name == EVERY else (name,)
        found |= dict.fromkeys(chosen)
    return list(found)


def read(
    path: Path, overrides: Iterable[str], methods: Iterable[str] | None = None, *, used: bool = True
) -> dict[str, Plain]:
    """Read a parameter file, complete it with the sections of other packages' plug-ins, then apply
    the overrides.

    Overrides of plug-ins' parameters come last: the section that they change may come from the
    plug-in.

    Args:
        methods: methods that replace those of the `run` section.
        used: whether the methods of the run are used, so that their sections have to be there; else
            only overridden ones are.
    """
    early: list[str] = []
    late: list[tuple[str, str, str]] = []
    for override in overrides:
        kind, _, rest = override.strip().partition(".")
        if kind in sections.PLUGIN_SECTIONS:
            late.append((kind, rest.partition("=")[0].split(".")[0].strip(), override))
        else:
            early.append(override)
    tree = params_file.read(path, early)
    for kind in sections.PLUGIN_SECTIONS:
        named = [name for of, name, _ in late if of == kind]
        if used or kind == "datasets":
            named += _chosen(tree, kind, methods)
        for name in dict.fromkeys(named):
            complete(tree, kind, name)
    for _, _, override in late:
        params_file.set_value(tree, override)
    return tree


def _chosen(tree: params_file.Tree, kind: str, methods: Iterable[str] | None) -> list[str]:
    """Return the plug-ins that the `run` section names, where it is well-formed."""
    if kind == "methods" and methods:
        return list(methods)
    run = tree.get("run")
    names = run.get(kind) if isinstance(run, dict) else None
    if not isinstance(names, (list, tuple)):
        return []
    return [name for name in names if isinstance(name, str)]


def complete(tree: dict[str, Plain], kind: str, name: str) -> None:
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


def defaults(kind: str, name: str) -> dict[str, Plain]:
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
