"""Every parameter of params.yaml: its key, its packaged value, and what its class says of it."""

from __future__ import annotations

import dataclasses
import importlib
import typing
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.core.plain_values import canonical_json
from taamctl.params import binding
from taamctl.params.params_file import PACKAGED, read
from taamctl.params.sections import SECTIONS

SIGNS = {"ge": ">=", "gt": ">", "le": "<=", "lt": "<"}


@dataclass(frozen=True)
class ParameterRow:
    """One parameter.

    Attributes:
        key: as `--set` takes it.
        value: the packaged one, as JSON.
        allowed: choices, or type and bounds.
        doc: what it means.
    """

    key: str
    value: str
    allowed: str
    doc: str

    def sentence(self) -> str:
        """Return all of it in one sentence."""
        return f"`{self.key}`: {self.doc}. Packaged value: {self.value}. Allowed: {self.allowed}."


def rows() -> Iterator[ParameterRow]:
    """Yield the parameters in the order of the file: sections, data sets, methods."""
    tree = read(PACKAGED)
    for name, target in SECTIONS.items():
        module, kind = target.split(":")
        yield from _of(getattr(importlib.import_module(module), kind), tree.get(name), name)
    for name in registry.builtin("taamctl.datasets"):
        of = data_set(name).meta.params
        yield from _of(of, _within(tree, "datasets", name), f"datasets.{name}")
    for name in registry.builtin("taamctl.methods"):
        of = registry.method_params(name)
        yield from _of(of, _within(tree, "methods", name), f"methods.{name}")


def _within(tree: Mapping[str, object], kind: str, name: str) -> object:
    sections = tree.get(kind)
    return sections.get(name) if isinstance(sections, Mapping) else None


def _of(cls: type[object] | None, values: object, where: str) -> Iterator[ParameterRow]:
    """Yield the fields of a section's class; those of a class within it by their longer key."""
    if cls is None or not isinstance(values, Mapping):
        return
    hints = typing.get_type_hints(cls)
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        key, kind = f"{where}.{field.name}", hints[field.name]
        if dataclasses.is_dataclass(kind) and isinstance(kind, type):
            yield from _of(kind, values.get(field.name), key)
            continue
        value = canonical_json(values.get(field.name))
        yield ParameterRow(key, value, _allowed(field, kind), str(field.metadata.get("doc", "")))


def _allowed(field: dataclasses.Field[object], kind: object) -> str:
    choices = field.metadata.get("choices") or ()
    if choices:
        return ", ".join(map(str, choices))
    bounds = field.metadata.get("bounds") or {}
    limits = [f"{SIGNS[sign]} {value}" for sign, value in bounds.items() if value is not None]
    word = binding.kind_name(kind).replace("finite ", "")
    if type(None) in typing.get_args(kind):
        word += " or null"
    return ", ".join([word, *limits])
