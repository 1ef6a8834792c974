"""Counts of a graph and of its split, before there is a split or even raw data: from META, an
imported file, or numbers given.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.data_set import DataSet, data_set, described
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.datasets import _graph_file
from taamctl.datasets._imported import module
from taamctl.params.split_params import SplitParams
from taamctl.planning.costs import Counts, reach
from taamctl.runtime import provenance
from taamctl.runtime.job import Context
from taamctl.store.artefacts import Artefact
from taamctl.store.atomic_files import read_json
from taamctl.store.split_kind import SPLIT

PACKAGE = "taamctl.datasets"
SHARE = (0.5, 0.8, 0.95)  # of the edges that join nodes of one task: low, middle, high
MEASURED = "measured: 0.50 on Debian, 0.78 to 0.89 on Citeseer, Computer and Photo"
# training rows of the largest task over those of the mean one: 1.2 to 2 on small graphs, more where
# class sizes are skewed
LARGEST = 4.0
MOST = 1 << 48  # more nodes, edges or features than any machine holds
SAMPLE = 200  # nodes whose features are counted, and one neighbour is asked for the reverse edge
GIVEN_RULES = (
    "every edge is taken as stored in one direction and used in both; --set "
    "split.symmetrize=never counts it as given",
    "features are taken as dense",
)
LABELLED_RULE = (
    "labelled nodes are taken to have their share of all edges to each other (at random they would "
    "have its square)"
)
UNKNOWN_RULE = "every edge is taken as stored in one direction, features as dense"
PARTS_RULE = "the graph states its parts; they are taken to follow split.train, val and test"

# data set -> (entries after symmetrising per stored one, share of X that is not 0), as `taamctl
# data doctor` and the publishers count them
KNOWN = {
    "citeseer": (1.0, 0.0085),
    "photo": (1.658, 0.347),
    "computer": (1.712, 0.348),
    "debian": (1.991, 0.0317),
    "corafull": (1.94, 0.0066),
    "wikics": (1.0, 1.0),
    "reddit": (1.0, 1.0),
    "arxiv": (1.0, 1.0),
    "products": (1.0, 1.0),
}


@dataclass(frozen=True)
class Graph:
    """A whole graph in numbers.

    Attributes:
        joined: entries after symmetrising, per `stored` one. filled: share of X that is not 0.
        dense: X is held densely, zeros and all.
        directed: used as directed where `split.symmetrize` is `as_released`.
        tasks: how many the graph itself states. share: of edges inside a task (low, middle, high).
        labelled: share of the nodes that have a label.
        streams: its source gives X a few rows at a time. large: its edges likewise.
        file: `data/NAME.h5` of an imported graph.
        brought: there may be raw data of it, and so a split. notes: what was assumed.
    """

    name: str
    nodes: int
    stored: int
    features: int
    classes: int
    joined: float = 2.0
    filled: float = 1.0
    dense: bool = False
    directed: bool = False
    tasks: int | None = None
    share: tuple[float, float, float] = SHARE
    labelled: float = 1.0
    streams: bool = False
    large: bool = False
    file: Path | None = None
    brought: bool = True
    notes: tuple[str, ...] = ()


def given(
    nodes: int, edges: int, features: int, classes: int, labelled: int | None = None
) -> Graph:
    """Return a graph of which nothing but counts is there.

    Args:
        labelled: nodes with a label, which the parts are made of; None: all.

    Raises:
        TaamctlError: a count that no graph has.
    """
    given = {"--nodes": nodes, "--edges": edges, "--features": features, "--classes": classes}
    for option, value in given.items():
        least = 0 if option == "--edges" else 1
        if not least <= value <= MOST:
            raise TaamctlError(
                f"{option} {value}: no count of a graph", f"a whole number from {least} to {MOST:,}"
            )
    known = nodes if labelled is None else labelled
    if not classes <= known <= nodes:
        raise TaamctlError(
            f"--classes {classes}, labelled nodes {known}, --nodes {nodes}: each must be at most "
            "the next",
            "check which number is which",
        )
    return Graph(
        "given",
        nodes,
        edges,
        features,
        classes,
        labelled=known / nodes,
        streams=True,
        large=True,
        brought=False,
        notes=(*GIVEN_RULES, LABELLED_RULE) if known < nodes else GIVEN_RULES,
    )


def of_dataset(context: Context, name: str) -> Graph:
    """Return the counts of a data set from its META, its generator's sizes, or the shapes in
    `data/NAME.h5`; raw data is not read.
    """
    source = data_set(name)
    return of_source(source, context.params.plugin("datasets", name, source.meta.params))


def of_file(path: Path) -> Graph:
    """Return the same of a graph file, wherever it lies."""
    return of_source(described(path.stem, module(path)), None)


def class_sizes(path: Path) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many nodes of a graph file every class has, and the task that it arrives with: 0
    where the graph has no tasks.
    """
    with _graph_file.opened(path) as graph:
        labels, names = graph.read("labels"), graph.read("classes/name").tolist()
        task = [0] * len(names)
        if graph.has("given/arrival"):
            task = graph.read("given/arrival").tolist()
    sizes = np.bincount(labels[labels >= 0], minlength=len(names)).tolist()
    return dict(zip(names, sizes, strict=True)), dict(zip(names, task, strict=True))


def of_source(source: DataSet, own: object) -> Graph:
    """Return the same of a data set with its own parameters."""
    name = source.name
    meta = source.meta
    if meta.nodes < 0:
        return _generated(source, own)
    notes: tuple[str, ...] = ()
    dense = False
    if source.imported is not None:
        joined, filled, dense = _looked_at(source.imported, meta.nodes, meta.features)
    elif name in KNOWN:
        joined, filled = KNOWN[name]
    else:
        joined, filled = 2.0, 1.0
        notes = (UNKNOWN_RULE,)
    if "part" in source.states:
        notes = (*notes, PARTS_RULE)
    return Graph(
        name,
        meta.nodes,
        meta.edges,
        meta.features,
        meta.classes,
        joined,
        filled,
        dense,
        meta.directed,
        source.tasks,
        streams=source.rows is not None,
        large=source.large is not None,
        file=source.imported,
        notes=notes,
    )


def _generated(source: DataSet, own: object) -> Graph:
    counts = source.sizes.get(getattr(own, "preset", ""))
    if counts is None:
        raise TaamctlError(
            f"the data set {source.name} is generated and does not say how large it becomes",
            "give --nodes, --edges, --features and --classes instead of --dataset",
        )
    inside = float(getattr(own, "homophily", SHARE[1]))
    spread = (inside, min(1.0, inside + 0.1 * (1 - inside)), min(1.0, inside + 0.3 * (1 - inside)))
    return Graph(source.name, *counts, share=spread, streams=source.rows is not None)


def _looked_at(file: Path, nodes: int, features: int) -> tuple[float, float, bool]:
    """Return (entries after symmetrising per stored one, by looking up the reverse of a sample of
    edges; share of X that is not 0, where it is held densely of a sample of rows; whether it is).
    """
    with _graph_file.opened(file) as graph:
        some = np.random.default_rng(0).integers(0, max(1, nodes), min(SAMPLE, nodes)).tolist()
        dense = graph.has("features/dense")
        if dense:
            rows = [graph.rows("features/dense", v, v + 1) for v in some]
            filled = float(np.mean([np.count_nonzero(row) / row.size for row in rows]))
        else:
            filled = graph.shape("features/indices")[0] / max(1, nodes * features)
        mutual = []
        for v in some:
            row = _row(graph, v)
            proper = row[row != v]
            if len(proper):
                mutual.append(v in _row(graph, int(proper[len(proper) // 2])))
    return 2.0 - sum(mutual) / len(mutual) if mutual else 1.0, filled, dense


def _row(graph: Artefact, v: int) -> Array:
    low, high = graph.rows("adjacency/indptr", v, v + 2).tolist()
    return graph.rows("adjacency/indices", low, high)


def tasks_of(classes: int, params: SplitParams) -> tuple[int, int]:
    """Return how many tasks C classes make, and how many classes are in them."""
    whole, left = divmod(classes, params.classes_per_task)
    if not left or params.odd_class == "drop":
        return whole, classes - left
    if params.odd_class == "singleton_task" or not whole:
        return whole + 1, classes
    return whole, classes


def estimated(graph: Graph, params: SplitParams, hops: int, share: float) -> Counts:
    """Return the counts of a split that has not been made.

    An edge is kept where both ends lie in one task (`share` of them) and in one part: a^2 + b^2 +
    c^2 for fractions a, b, c, as parts are drawn at random. Edges inside all val, or inside all
    test nodes need no assumption: b^2 + c^2.

    Raises:
        TaamctlError: too few classes for one task.
    """
    tasks, classes = tasks_of(graph.classes, params)
    if graph.tasks and params.tasks == "as_given":
        tasks, classes = graph.tasks, graph.classes
    if not tasks:
        raise TaamctlError(
            f"{graph.classes} classes make no task of {params.classes_per_task}",
            "lower split.classes_per_task, but not below 2",
        )
    as_directed = params.symmetrize == "as_released" and graph.directed
    one_way = params.symmetrize == "never" or as_directed
    used = graph.stored if one_way else int(graph.stored * graph.joined)
    in_stream = classes / graph.classes * graph.labelled
    a, b, c = params.train, params.val, params.test
    rows = int(graph.nodes * in_stream)
    train, val = int(rows * a), int(rows * b)
    return _counts(
        graph,
        hops,
        used=used,
        kept=int(used * in_stream * share * (a * a + b * b + c * c)),
        mixed=int(used * in_stream * (b * b + c * c)),
        classes=classes,
        tasks=tasks,
        parts=(train, val, rows - train - val),
        largest=int(min(train, LARGEST * train / tasks)),
    )


def _counts(graph: Graph, hops: int, kept: int, parts: tuple[int, int, int], **own: int) -> Counts:
    """Return the counts of a split, with those that follow from the graph."""
    train, val, test = parts
    return Counts(
        nodes=graph.nodes,
        features=graph.features,
        filled=graph.filled,
        dense=graph.dense,
        filled_h=reach(graph.filled, kept / max(1, train + val + test), hops),
        streams=graph.streams,
        large=graph.large,
        kept=kept,
        train=train,
        val=val,
        test=test,
        **own,
    )


def exact(graph: Graph, file: Path, hops: int) -> Counts:
    """Return the counts of a split that is there.

    Raises:
        TaamctlError: the file is damaged, unfinished or no split.
    """
    with Artefact(file, SPLIT) as split:
        table, bounds = split.read("account/table"), split.read("stream/bounds")
        used = int(json.loads(split.attribute("account"))["edges_used"])
        mixed = int(split.shape("mixed/indices")[0])
    return _counts(
        graph,
        hops,
        used=used,
        kept=int(table[:, 1].sum()),
        mixed=mixed,
        classes=int(bounds[-1, 1]),
        tasks=len(bounds),
        parts=tuple(table.reshape(-1, 3, 4)[:, :, 0].sum(0).tolist()),
        largest=int(table[::3, 0].max()),
    )


def split_file(context: Context, graph: Graph, params: object) -> Path | None:
    """Return the split artefact where there is one that was made with these parameters of `split`
    and of the data set.

    One that cannot be read, that another version wrote, or that an earlier import of the graph is
    in, is made anew by a run, so it counts as not there. A graph in numbers has none, whatever it
    is called.
    """
    file = context.layout.file("split", graph.name)
    if not graph.brought or not file.is_file():
        return None
    try:
        with Artefact(file, SPLIT) as split:
            same = split.params == params
    except TaamctlError:
        return None
    if not same or (graph.file is not None and not _made_from(file, graph.file)):
        return None
    return file


def _made_from(split: Path, imported: Path) -> bool:
    """Tell whether the sidecar of a split records the bytes that an imported graph has now; they
    are read only if the file was touched.
    """
    try:
        record = read_json(provenance.sidecar_of(split))
        digest = record["key"]["raw"][imported.name]
        stamp = provenance.stamp_of(record["raw"], imported)
        return bool(digest == provenance.digest_of(imported, stamp))
    except (KeyError, TypeError, AttributeError, OSError, TaamctlError):
        return False
