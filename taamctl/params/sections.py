"""A whole, checked parameter file: its sections and the plug-ins' sections as dataclasses.

Every fault of the file is reported at once, with file, key, value and a suggestion.
"""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Iterator, Mapping
from typing import TypeVar

from taamctl.core import registry
from taamctl.core.plain_values import Plain, canonical
from taamctl.params import recorded_params
from taamctl.params.binding import bind, raise_faults, unknown

P = TypeVar("P")

# The sections of params.yaml that a stage or the whole run reads. The classes live beside the code
# that they steer.
SECTIONS = {
    "run": "taamctl.params.run_params:RunParams",
    "split": "taamctl.params.split_params:SplitParams",
    "precompute": "taamctl.params.precompute_params:PrecomputeParams",
    "train": "taamctl.params.train_params:TrainParams",
    "infer": "taamctl.params.train_params:InferParams",
    "lens": "taamctl.params.train_params:LensParams",
    "bank": "taamctl.params.bank_params:BankParams",
    "eval": "taamctl.params.eval_params:EvalParams",
    "report": "taamctl.params.report_params:ReportParams",
}
PLUGIN_SECTIONS = ("datasets", "methods")


@dataclasses.dataclass(frozen=True)
class Params:
    """A whole, checked parameter file.

    Attributes:
        source: where it was read from, for messages.
        tree: the plain mapping, as read.
    """

    source: str
    tree: Mapping[str, Plain]

    def section(self, cls: type[P]) -> P:
        """Return the section that `cls` is the dataclass of, such as `TrainParams`."""
        place = recorded_params.place(cls)
        name = next(name for name, target in SECTIONS.items() if target == place)
        return self._bound(cls, self.tree.get(name), name)

    def plain(self, name: str) -> Plain:
        """Return a section of that name, such as `split` or `methods.taam`, as plain values."""
        kind, _, plugin = name.partition(".")
        if plugin:
            return (self.tree.get(kind) or {}).get(plugin)
        return canonical(self.section(_load_class(SECTIONS[kind])))

    def plugin(self, kind: str, name: str, cls: type[P] | None) -> P | None:
        """Return the section of a method or data set, such as `methods.taam`; None for a plug-in
        without parameters.
        """
        faults: list[str] = []
        value = _bind_plugin(cls, self.tree[kind].get(name), f"{kind}.{name}", faults)
        raise_faults(self.source, faults)
        return value

    def _bound(self, cls: type[P], values: object, where: str) -> P:
        faults: list[str] = []
        value = bind(cls, values, where, faults)
        raise_faults(self.source, faults)
        assert value is not None
        return value


def check(
    source: str, tree: Mapping[str, Plain], plugins: Mapping[str, Mapping[str, type[object] | None]]
) -> Params:
    """Check a whole parameter tree and report all its faults together.

    Args:
        plugins: for `datasets` and `methods`, the plug-ins that the run needs, each with its
            parameter class or None.
    """
    faults: list[str] = []
    for name in tree:
        if name not in SECTIONS and name not in PLUGIN_SECTIONS:
            faults.append(unknown(str(name), "", [*SECTIONS, *PLUGIN_SECTIONS]))
    bound = {
        name: bind(_load_class(target), tree.get(name), name, faults)
        for name, target in SECTIONS.items()
    }
    for kind in PLUGIN_SECTIONS:
        sections = tree.get(kind)
        if not isinstance(sections, Mapping):
            faults.append(f"{kind}: {sections!r} is no mapping of plug-ins to their sections")
            continue
        known = registry.names(f"taamctl.{kind}")
        faults.extend(
            unknown(str(name), f"{kind}.", known) for name in sections if name not in known
        )
        for name, cls in plugins.get(kind, {}).items():
            _bind_plugin(cls, sections.get(name), f"{kind}.{name}", faults)
    faults.extend(_cross_faults(bound))
    raise_faults(source, faults)
    return Params(source, tree)


def _cross_faults(bound: Mapping[str, object]) -> Iterator[str]:
    """Yield what is wrong between sections: found here, not after training."""
    infer = canonical(bound["infer"])
    precompute = canonical(bound["precompute"])
    if not isinstance(infer, dict) or not isinstance(precompute, dict):
        return
    highest = max(map(int, infer["hops"]))
    if infer["profile"] in ("amp", "as_published") and highest > precompute["max_hop"]:
        yield (
            f"infer.hops: hop {highest} is beyond precompute.max_hop {precompute['max_hop']}; "
            "raise the latter"
        )


def _bind_plugin(cls: type[P] | None, values: object, where: str, faults: list[str]) -> P | None:
    """Bind a plug-in's section; one without parameters has the section `{}`."""
    if cls is not None:
        return bind(cls, values, where, faults)
    if values is None:
        return None
    if not isinstance(values, Mapping):
        faults.append(
            f"{where}: {values!r} is no mapping; write {{}} where there is nothing to set"
        )
        return None
    none = ("none: this plug-in has no parameters",)
    faults.extend(unknown(str(key), f"{where}.", none) for key in values)
    return None


def _load_class(target: str) -> type[object]:
    module, name = target.split(":")
    cls: type[object] = getattr(importlib.import_module(module), name)
    return cls
