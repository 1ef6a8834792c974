"""params.yaml -> frozen dataclasses.

Every fault of the file is reported at once, with file, key, value and a suggestion.
"""

from __future__ import annotations

import dataclasses
import difflib
import importlib
import json
import operator
import types
import typing
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from taamctl.core import registry
from taamctl.core.errors import TaamctlError

# The sections of params.yaml that a stage or the whole run reads. The classes live beside the code
# that they steer.
SECTIONS = {
    "run": "taamctl.runtime.run_params:RunParams",
    "split": "taamctl.stream.params:SplitParams",
    "precompute": "taamctl.features.params:PrecomputeParams",
    "train": "taamctl.learning.params:TrainParams",
    "infer": "taamctl.learning.params:InferParams",
    "lens": "taamctl.learning.params:LensParams",
    "bank": "taamctl.bank.params:BankParams",
    "eval": "taamctl.evaluation.params:EvalParams",
    "report": "taamctl.report.params:ReportParams",
}
PLUGIN_SECTIONS = ("datasets", "methods")
BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "ge": (">=", operator.ge),
    "gt": (">", operator.gt),
    "le": ("<=", operator.le),
    "lt": ("<", operator.lt),
}
PACKAGED = Path(__file__).resolve().parent.parent / "params.yaml"


def locate(option: Path | None) -> tuple[Path, bool]:
    """Return the parameter file to use and whether it is the packaged default."""
    if option is not None:
        if not option.is_file():
            raise TaamctlError(
                f"no parameter file {option}",
                "pass --params FILE, or leave it out to use the packaged default",
            )
        return option, False
    here = Path("params.yaml")
    return (here, False) if here.is_file() else (PACKAGED, True)


def read(path: Path, overrides: Iterable[str] = ()) -> dict[str, Any]:
    """Read a parameter file and apply `key.sub=value` overrides (values are YAML).

    Raises:
        TaamctlError: the file is no YAML mapping, or an override names a key that is not there.
    """
    import yaml

    try:
        tree = yaml.load(path.read_text(encoding="utf-8"), Loader=_strict_loader())
    except yaml.YAMLError as error:
        raise TaamctlError(f"{path} is no valid YAML: {' '.join(str(error).split())}") from None
    except OSError as error:
        raise TaamctlError(f"cannot read {path}: {error.strerror}") from None
    except UnicodeDecodeError:
        raise TaamctlError(f"{path} is not UTF-8 text") from None
    if not isinstance(tree, dict):
        raise TaamctlError(
            f"{path} holds no mapping of sections", f"it needs the sections {', '.join(SECTIONS)}"
        )
    for override in overrides:
        set_value(tree, override)
    return tree


def _strict_loader() -> Any:
    """Return a safe YAML loader that refuses a key given twice, as DVC's does; plain YAML would
    take the last.
    """
    import yaml

    class Loader(yaml.SafeLoader):
        pass

    def mapping(loader: Any, node: Any) -> dict[Any, Any]:
        keys = [loader.construct_object(key, deep=True) for key, _ in node.value]
        for at, key in enumerate(keys):
            if key in keys[:at]:
                raise yaml.constructor.ConstructorError(
                    None, None, f"the key {key!r} stands twice", node.start_mark
                )
        return dict(
            zip(
                keys,
                (loader.construct_object(value, deep=True) for _, value in node.value),
                strict=True,
            )
        )

    Loader.add_constructor(yaml.resolver.BaseResolver.DEFAULT_MAPPING_TAG, mapping)
    return Loader


def set_value(tree: dict[str, Any], override: str) -> None:
    """Apply one `key.sub=value` override to a parameter tree, in place.

    Raises:
        TaamctlError: it names a key that is not there, or its value is no YAML.
    """
    import yaml

    key, equals, text = override.partition("=")
    *parents, last = key.strip().split(".")
    node: Any = tree
    for name in parents:
        node = node.get(name) if isinstance(node, dict) else None
    if not equals:
        raise TaamctlError(
            f"--set {override}: no value", "write it as section.key=value, such as train.lr=0.01"
        )
    if not isinstance(node, dict) or last not in node:
        known = sorted(_leaves(tree))
        near = difflib.get_close_matches(key.strip(), known, n=1)
        raise TaamctlError(
            f"--set {override}: no such parameter",
            f"did you mean {near[0]}=...?" if near else "write it as section.key=value",
        )
    try:
        node[last] = yaml.safe_load(text)
    except yaml.YAMLError:
        raise TaamctlError(
            f"--set {override}: {text!r} is no YAML value", "write it as section.key=value"
        ) from None


def _leaves(tree: Mapping[str, Any], prefix: str = "") -> Iterable[str]:
    for key, value in tree.items():
        if isinstance(value, Mapping):
            yield from _leaves(value, f"{prefix}{key}.")
        yield f"{prefix}{key}"


@dataclasses.dataclass(frozen=True)
class Params:
    """A whole, checked parameter file.

    Attributes:
        source: where it was read from, for messages.
        tree: the plain mapping, as read.
    """

    source: str
    tree: Mapping[str, Any]

    def section(self, name: str) -> Any:
        """Return the section `name` as its dataclass."""
        faults: list[str] = []
        value = bind(_load_class(SECTIONS[name]), self.tree.get(name), name, faults)
        raise_faults(self.source, faults)
        return value

    def plugin(self, kind: str, name: str, cls: type[Any] | None) -> Any:
        """Return the section of a method or data set, such as `methods.taam`; None for a plug-in
        without parameters.
        """
        faults: list[str] = []
        value = _bind_plugin(cls, self.tree[kind].get(name), f"{kind}.{name}", faults)
        raise_faults(self.source, faults)
        return value


def check(
    source: str, tree: Mapping[str, Any], plugins: Mapping[str, Mapping[str, type[Any] | None]]
) -> Params:
    """Check a whole parameter tree and report all its faults together.

    Args:
        plugins: for `datasets` and `methods`, the plug-ins that the run needs, each with its
            parameter class or None.
    """
    faults: list[str] = []
    for name in tree:
        if name not in SECTIONS and name not in PLUGIN_SECTIONS:
            faults.append(_unknown(str(name), "", [*SECTIONS, *PLUGIN_SECTIONS]))
    bound = {
        name: bind(_load_class(target), tree.get(name), name, faults)
        for name, target in SECTIONS.items()
    }
    for kind in PLUGIN_SECTIONS:
        if not isinstance(tree.get(kind), Mapping):
            faults.append(f"{kind}: {tree.get(kind)!r} is no mapping of plug-ins to their sections")
            continue
        known = registry.names(f"taamctl.{kind}")
        faults.extend(
            _unknown(str(name), f"{kind}.", known) for name in tree[kind] if name not in known
        )
        for name, cls in plugins.get(kind, {}).items():
            _bind_plugin(cls, tree[kind].get(name), f"{kind}.{name}", faults)
    faults.extend(_cross_faults(bound))
    raise_faults(source, faults)
    return Params(source, tree)


def _cross_faults(bound: Mapping[str, Any]) -> Iterable[str]:
    """Yield what is wrong between sections: found here, not after training."""
    infer, pre = bound["infer"], bound["precompute"]
    if (
        infer is not None
        and pre is not None
        and infer.profile in ("amp", "as_published")
        and max(infer.hops) > pre.max_hop
    ):
        yield (
            f"infer.hops: hop {max(infer.hops)} is beyond precompute.max_hop {pre.max_hop}; "
            "raise the latter"
        )


def _bind_plugin(cls: type[Any] | None, values: Any, where: str, faults: list[str]) -> Any:
    """Bind a plug-in's section; one without parameters has the section `{}`."""
    if cls is not None:
        return bind(cls, values, where, faults)
    if values is not None and not isinstance(values, Mapping):
        faults.append(
            f"{where}: {values!r} is no mapping; write {{}} where there is nothing to set"
        )
        return None
    faults.extend(
        _unknown(str(key), f"{where}.", ("none: this plug-in has no parameters",))
        for key in values or ()
    )
    return None


def raise_faults(source: str, faults: list[str]) -> None:
    """Raise one error for all faults found in `source`."""
    if faults:
        head = f"{source}: {len(faults)} fault{'s' if len(faults) > 1 else ''}"
        raise TaamctlError(
            "\n  ".join([head, *faults]), "every key is explained by a comment in params.yaml"
        )


def _load_class(target: str) -> type[Any]:
    module, name = target.split(":")
    cls: type[Any] = getattr(importlib.import_module(module), name)
    return cls


def _unknown(key: str, where: str, known: Iterable[str]) -> str:
    known = list(known)
    near = difflib.get_close_matches(key, known, n=1)
    return f"{where}{key}: unknown key" + (
        f"; did you mean {near[0]}?" if near else f"; known: {', '.join(known)}"
    )


def bind(cls: type[Any], values: Any, where: str, faults: list[str]) -> Any:
    """Build the dataclass `cls` from a mapping; append what is wrong to `faults` and return None
    where anything is.
    """
    if not isinstance(values, Mapping):
        faults.append(
            f"{where}: section missing" if values is None else f"{where}: {values!r} is no mapping"
        )
        return None
    hints = typing.get_type_hints(cls)
    fields = {f.name: f for f in dataclasses.fields(cls)}
    before = len(faults)
    faults.extend(_unknown(str(k), f"{where}.", fields) for k in values if k not in fields)
    made: dict[str, Any] = {}
    for name, field in fields.items():
        if name not in values:
            faults.append(f"{where}.{name}: missing; {field.metadata.get('doc', '')}")
            continue
        made[name] = _convert(hints[name], values[name], f"{where}.{name}", field.metadata, faults)
    if len(faults) > before:
        return None
    try:
        return cls(**made)
    except TaamctlError as error:  # a cross-check in __post_init__
        faults.append(f"{where}: {error.message}")
        return None


def recorded(cls: type[Any] | None, values: Any, path: Path, made_by: str) -> Any:
    """Return the parameters that an artefact records of its making; None where the class is None.

    Raises:
        TaamctlError: another version recorded them, with other parameters.
    """
    if cls is None:
        return None
    faults: list[str] = []
    made = bind(cls, values, "recorded", faults)
    if faults:
        raise TaamctlError(
            f"{path} was made by another version, with other parameters: {faults[0]}",
            f"make it again with: {made_by}",
        )
    return made


def _convert(kind: Any, value: Any, where: str, meta: Mapping[str, Any], faults: list[str]) -> Any:
    if dataclasses.is_dataclass(kind) and isinstance(kind, type):
        return bind(kind, value, where, faults)
    try:
        made = _coerce(kind, value)
    except (TypeError, ValueError, OverflowError):
        faults.append(f"{where}: {value!r} is no {kind_name(kind)}")
        return None
    choices, bounds = meta.get("choices"), meta.get("bounds") or {}
    if choices and made is not None and made not in choices:
        near = difflib.get_close_matches(str(made), [str(c) for c in choices], n=1)
        hint = f"; did you mean {near[0]}?" if near else ""
        faults.append(f"{where}: {value!r} is not one of {', '.join(map(str, choices))}{hint}")
    for name, bound in bounds.items():
        sign, holds = BOUNDS[name]
        if made is not None and not all(
            holds(v, bound) for v in (made if isinstance(made, tuple) else (made,))
        ):
            faults.append(f"{where}: {value!r} must be {sign} {bound}")
    return made


def _coerce(kind: Any, value: Any) -> Any:
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin in (typing.Union, types.UnionType):
        if value is None and type(None) in args:
            return None
        return _coerce(next(a for a in args if a is not type(None)), value)
    if origin is tuple:
        if not isinstance(value, (list, tuple)):
            raise TypeError
        return tuple(_coerce(args[0], v) for v in value)
    if origin is dict:
        if isinstance(value, list) and len(set(value)) == len(value):
            value = dict.fromkeys(value, 1)  # a bare list stands for equal weights
        if not isinstance(value, Mapping):
            raise TypeError
        if args[0] is int:  # JSON, which artefacts record their parameters in, has text as keys
            value = {
                int(k) if isinstance(k, str) and k.isdecimal() else k: v for k, v in value.items()
            }
        return {_coerce(args[0], k): _coerce(args[1], v) for k, v in sorted(value.items())}
    if kind is bool or isinstance(value, bool):
        if kind is not bool or not isinstance(value, bool):
            raise TypeError
        return value
    if kind is int:
        if (isinstance(value, float) and value != int(value)) or isinstance(value, str):
            raise TypeError
        return int(value)
    if kind is float:
        if isinstance(value, str):
            value = float(value)  # YAML reads 5e-4 (without a dot) as text
        number = float(value)
        if number != number or number in (float("inf"), float("-inf")):
            raise ValueError
        return number
    if kind is str and not isinstance(value, str):
        raise TypeError
    return value


def kind_name(kind: Any) -> str:
    """Return a parameter's type in words."""
    names = {int: "whole number", float: "finite number", bool: "true or false", str: "text"}
    args = typing.get_args(kind)
    if typing.get_origin(kind) is tuple:
        return f"list of {kind_name(args[0])}s"
    if typing.get_origin(kind) is dict:
        return f"mapping of {kind_name(args[0])}s to {kind_name(args[1])}s"
    if args:
        return " or null, nor ".join(kind_name(a) for a in args if a is not type(None))
    return names.get(kind, str(kind))


def canonical(value: Any) -> Any:
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


def canonical_json(value: Any) -> str:
    """Return the one JSON text of a parameter value: sorted keys, no spaces, no NaN."""
    return json.dumps(canonical(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
