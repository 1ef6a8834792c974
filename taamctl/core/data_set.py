"""A data set as the program sees it, wherever it comes from: a file of ours, another package, or a
graph of the working folder.

Whoever offers a data set writes a module with `META` and `load`; what else such a module may hold
is read here, once, and nowhere else.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from taamctl.core import registry

if TYPE_CHECKING:
    from taamctl.core.edge_rows import GraphRows
    from taamctl.core.rows import FeatureRows
    from taamctl.core.types import NodeGraph

PACKAGE = "taamctl.datasets"
Sizes = tuple[int, int, int, int]  # nodes, edges, features, classes


@dataclass(frozen=True)
class RawFile:
    """One downloadable raw file.

    Attributes:
        name: file name under the data root's own folder for the data set.
        url: where it comes from.
        sha256: known checksum; empty where the publisher gives none (then the first download's is
            recorded).
    """

    name: str
    url: str
    sha256: str = ""


@dataclass(frozen=True)
class Meta:
    """Facts about a data set, checked against what the loader returns.

    Attributes:
        nodes, edges, features, classes: counts; `edges` are the stored directed entries of the raw
            graph after duplicates are dropped (methods that symmetrise get more); `classes` counts
            before any class is dropped. -1 in `nodes` marks a generated data set whose size is a
            parameter.
        directed: True where the published experiments use the edges as directed (only ogbn-arxiv).
        feature_norm: normalisation that the usual reader applies on load: `none` or `row` (divide
            by the row sum).
        unlabelled_as: label that the usual reader gives to unlabelled nodes, or None where they are
            dropped.
        reordered: the usual reader numbers the nodes anew on load, which decides what
            `split.node_order` `reader` means.
        files: what `taamctl data fetch` downloads; empty for embedded and generated data.
        licence, citation, homepage: as the publisher states them.
        order: the documented node order, in one sentence.
        params: the dataclass of the data set's own section under `datasets:` in params.yaml, or
            None.
    """

    nodes: int
    edges: int
    features: int
    classes: int
    licence: str
    citation: str
    homepage: str
    order: str
    directed: bool = False
    feature_norm: str = "none"
    unlabelled_as: int | None = None
    reordered: bool = True
    files: tuple[RawFile, ...] = ()
    params: type[object] | None = None


@dataclass(frozen=True)
class DataSet:
    """One data set.

    Attributes:
        name: its name.
        meta: what it says about itself.
        load: (data root, own parameters) -> the whole graph.
        rows: (data root, own parameters) -> its features a few rows at a time (`features` in the
            module); None where it offers only the whole graph.
        large: (data root, own parameters) -> the whole graph, of which nothing large is in memory
            (`graph_rows` in the module); None where it does not offer that.
        layouts: where its main raw file may lie below a data root (`LAYOUTS`).
        beside: patterns of what else belongs to it, in the same folder (`RAW`).
        imported: the file in the working folder that it was imported into, or None (`IMPORTED`).
        tasks: number of tasks that it states, or None (`TASKS`).
        states: what it states of its stream: `arrival`, `part`, `time` (`STATES`).
        sizes: of a generated one, preset -> its size (`SIZES`).
        module: import path of its module; empty for an imported graph.
    """

    name: str
    meta: Meta
    load: Callable[[Path | None, object], NodeGraph]
    rows: Callable[[Path | None, object], FeatureRows] | None = None
    large: Callable[[Path | None, object], GraphRows] | None = None
    layouts: tuple[str, ...] = ()
    beside: tuple[str, ...] = ()
    imported: Path | None = None
    tasks: int | None = None
    states: tuple[str, ...] = ()
    sizes: Mapping[str, Sizes] = field(default_factory=dict)
    module: str = ""

    def graph_rows(self, root: Path | None, own: object) -> GraphRows:
        """Return its graph a range of rows at a time, which may be loaded as a whole for that."""
        if self.large is not None:
            return self.large(root, own)
        from taamctl.core.edge_rows import in_rows

        return in_rows(self.load(root, own))


def data_set(name: str) -> DataSet:
    """Return a data set by its name.

    Raises:
        TaamctlError: there is none of that name, or its module cannot be imported.
    """
    return described(name, registry.load(PACKAGE, name))


def described(name: str, module: ModuleType) -> DataSet:
    """Return a data set by what stands for its module."""
    imported: Path | None = getattr(module, "IMPORTED", None)
    return DataSet(
        name=name,
        meta=module.META,
        load=module.load,
        rows=getattr(module, "features", None),
        large=getattr(module, "graph_rows", None),
        layouts=getattr(module, "LAYOUTS", ()),
        beside=getattr(module, "RAW", ()),
        imported=imported,
        tasks=getattr(module, "TASKS", None),
        states=getattr(module, "STATES", ()),
        sizes=getattr(module, "SIZES", {}),
        module="" if imported is not None else module.__name__,
    )
