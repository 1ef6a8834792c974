"""Parameters that a file records, as the present classes take them: a file outlives the classes.

What a file lacks means what it meant when the file was made. What it has too many has no effect,
is told, and stays in the file.
"""

from __future__ import annotations

import dataclasses
import logging
import typing
from collections.abc import Mapping
from pathlib import Path
from typing import TypeVar, overload

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain, canonical
from taamctl.params import binding

P = TypeVar("P")
Values = Mapping[str, Plain]
log = logging.getLogger("taamctl")
HOME = "taamctl.params"

# Class -> field that it was given later -> the value that says what was done before there was the
# field. One line for every field that is added to a class of parameters; lines are never removed.
# Classes of other packages' plug-ins give such a field a default instead.
BEFORE: dict[str, dict[str, Plain]] = {
    "taamctl.params.split_params:SplitParams": {"tasks": "by_size", "parts": "drawn"},
    "taamctl.params.train_params:InferParams": {"router": "prototype"},
    "taamctl.params.bank_params:BankParams": {"sums": "task", "val_rows": 0, "edges": "task"},
    "taamctl.methods.taam:Params": {"layer_norm": True, "residual": True, "precision": "float32"},
    "taamctl.methods.taam_l:Params": {"precision": "float32"},
    "taamctl.methods.analytic:Params": {"rank": None, "ridge_factor": 1.0, "random_weight": 1.0},
    "taamctl.methods.tpp:Params": {"pretrain_nodes": 50_000},
    "taamctl.methods.gpf:Params": {"pretrain_nodes": 50_000},
    "taamctl.methods.ssm:Params": {"drawn_per": "class", "include_current": False},
}


def bind(
    cls: type[P] | None, values: object, where: str, source: str, faults: list[str]
) -> P | None:
    """Build the dataclass `cls` from what a file records; append what is wrong to `faults` and
    return None where anything is.

    Args:
        cls: None where there are no parameters now; there may have been some.
        values: None where there were no parameters then; there may be some now.
        where: name of the section. source: the file. Both for messages.
    """
    values = {} if values is None else values
    if not isinstance(values, Mapping):
        faults.append(f"{where}: {values!r} is no mapping")
        return None
    for name, value in unknown(cls, values, where).items():
        log.warning(
            "%s records %s = %s, a parameter that this taamctl does not know: it stays in the file "
            "and has no effect",
            source,
            name,
            value,
        )
    if cls is None:
        return None
    return binding.bind(cls, known(cls, completed(cls, values)), where, faults)


@overload
def recorded(cls: type[P], values: object, path: Path, made_by: str) -> P: ...


@overload
def recorded(cls: type[P] | None, values: object, path: Path, made_by: str) -> P | None: ...


def recorded(cls: type[P] | None, values: object, path: Path, made_by: str) -> P | None:
    """Return the parameters that an artefact records of its making; None where the class is None.

    One that the artefact lacks means what it meant then; one too many is told and left aside.

    Raises:
        TaamctlError: one is missing of which it is not known what it meant, or has an impossible
            value.
    """
    faults: list[str] = []
    made = bind(cls, values, "recorded", str(path), faults)
    if faults:
        raise TaamctlError(
            f"{path} was made by another version, with other parameters: {faults[0]}",
            f"make it again with: {made_by}",
        )
    return made


def completed(cls: type[object], values: Values) -> dict[str, Plain]:
    """Return recorded values with those that the file lacks, where it is known what they meant
    then; none is taken away.
    """
    found = {**meant_before(cls), **values}
    for name, inner in _sections(cls).items():
        if isinstance(found.get(name), Mapping):
            found[name] = completed(inner, found[name])
    return found


def meant_before(cls: type[object]) -> dict[str, Plain]:
    """Return what fields meant before they were there: as `BEFORE` has it, else their default."""
    found: dict[str, Plain] = {}
    for field in dataclasses.fields(cls):  # type: ignore[arg-type]
        if field.default is not dataclasses.MISSING:
            found[field.name] = canonical(field.default)
        elif field.default_factory is not dataclasses.MISSING:
            found[field.name] = canonical(field.default_factory())
    for each in reversed(cls.__mro__):
        found |= BEFORE.get(place(each), {})
    return found


def settings_in_full(settings: Values, method: str) -> dict[str, Plain]:
    """Return the settings behind a result with the parameters that came after it, so that one from
    before and one that says the same are seen to be alike. Only `BEFORE` is asked: the method
    itself need not be there.

    Args:
        settings: as in eval.json, by stage.
    """
    train = {
        **settings["train"],
        **_meant(settings["train"], "train", f"{HOME}.train_params:TrainParams"),
        **_meant(settings["train"], "method", f"taamctl.methods.{method}:Params"),
    }
    split = _meant(settings, "split", f"{HOME}.split_params:SplitParams")
    infer = _meant(settings, "infer", f"{HOME}.train_params:InferParams")
    return {**settings, **split, **infer, "train": train}


def _meant(recorded: Values, name: str, of: str) -> dict[str, Plain]:
    """Return the section `name` with what `BEFORE` adds to it; nothing where either is not there.

    Args:
        of: place of the section's class.
    """
    if name not in recorded or of not in BEFORE:
        return {}
    return {name: {**BEFORE[of], **(recorded[name] or {})}}


def known(cls: type[object], values: Values) -> dict[str, Plain]:
    """Return those values that are fields of a class, and of the classes inside it."""
    found = {name: values[name] for name in _fields(cls) if name in values}
    for name, inner in _sections(cls).items():
        if isinstance(found.get(name), Mapping):
            found[name] = known(inner, found[name])
    return found


def unknown(cls: type[object] | None, values: Values, where: str) -> dict[str, Plain]:
    """Return the other values, each by its full name."""
    names = _fields(cls)
    found = {f"{where}.{name}": value for name, value in values.items() if name not in names}
    for name, inner in _sections(cls).items():
        if isinstance(values.get(name), Mapping):
            found |= unknown(inner, values[name], f"{where}.{name}")
    return found


def place(cls: type[object]) -> str:
    """Return where a class of parameters stands, such as
    `taamctl.params.train_params:TrainParams`.
    """
    return f"{cls.__module__}:{cls.__qualname__}"


def _fields(cls: type[object] | None) -> list[str]:
    """Return the names of a dataclass's fields; none for None."""
    if cls is None:
        return []
    return [field.name for field in dataclasses.fields(cls)]  # type: ignore[arg-type]


def _sections(cls: type[object] | None) -> dict[str, type[object]]:
    """Return the fields that are dataclasses themselves."""
    hints = {} if cls is None else typing.get_type_hints(cls)
    return {name: hints[name] for name in _fields(cls) if dataclasses.is_dataclass(hints[name])}
