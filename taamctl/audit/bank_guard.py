"""Prove that a bank that grows sees training nodes only: it is taught, updated and made to forget,
once on the data as it is and once after every change of all other nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from taamctl.audit import perturb
from taamctl.audit.checks import Check, judged
from taamctl.audit.isolated import Watch
from taamctl.audit.variants import Case, Run, changed
from taamctl.bank import add, store
from taamctl.bank.config import Config, from_params
from taamctl.bank.forget import forget
from taamctl.bank.graph_source import Source
from taamctl.bank.node_record import names_of
from taamctl.bank.update import update
from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array, Given, NodeGraph
from taamctl.features.raw_features import take_rows
from taamctl.graph.canonical import from_scipy, to_scipy
from taamctl.params.sections import Params
from taamctl.params.split_params import SplitParams
from taamctl.runtime.raw_files import raw_files
from taamctl.runtime.stage_table import STAGES

TRAIN, TEST = 0, 2  # parts; validation nodes are test nodes here: the bank may look at none of both
SAID = "the bank's sums, models and router are equal in every number"


@dataclass(frozen=True)
class Life:
    """What a bank lives through.

    Attributes:
        taught: nodes of the graph that it is taught, with all that are not for training. forgets:
            names of nodes that it forgets in the end.
    """

    taught: Array
    forgets: list[str]


def guard(case: Case, run: Run) -> Iterator[Check]:
    """Yield the checks of one method in a bank: what it reads, and what changes it."""
    label = f"{case.dataset}/{run[0]}/seed-{run[1]}"
    try:
        config = config_of(case, run)
    except TaamctlError as error:
        yield Check("bank", label, "not run", error.message)
        return
    life = life_of(case)
    right, opened = _lived(case, config, life, case.raw, "plain")
    culprit = None
    if opened:
        culprit = f"the bank opens {opened[0]}"
    yield judged("bank", f"{label}: reads", culprit, "update and forget open the bank's files only")
    for kind in perturb.KINDS:
        graph = perturb.perturb(case.raw, case.split, kind).graph
        made, _ = _lived(case, config, life, graph, kind)
        moved = different(right, made)
        culprit = None
        if moved:
            culprit = f"{moved[0]} changes with the {kind} of other nodes; {len(moved)} in all"
        yield judged("bank", f"{label}: {kind}", culprit, SAID)


def config_of(case: Case, run: Run) -> Config:
    """Return a bank's parameters that keep exact sums, and take parts as they are given.

    Raises:
        TaamctlError: a bank cannot keep the method.
    """
    tree: dict[str, Plain] = {**case.context.params.tree}
    tree["bank"] = {**tree["bank"], "sums": "class"}
    tree["split"] = {**tree["split"], "parts": "as_given"}
    tree["infer"] = {**tree["infer"], "router": "auto"}
    return from_params(Params("the audit's parameters", tree), *run)


def life_of(case: Case) -> Life:
    """Return a life in which every class keeps a node: half of its training nodes are taught, the
    others come later, and of each half some are forgotten.
    """
    names = names_of(case.raw)
    trained = case.split.orig_id[case.split.in_train]
    place = np.zeros(len(trained), np.int64)  # of a node among those of its class
    y = case.split.y[case.split.in_train]
    for c in np.unique(y):
        place[y == c] = np.arange(int((y == c).sum()))
    taught = np.ones(case.raw.num_nodes, bool)
    taught[trained[place % 2 == 1]] = False
    gone = trained[np.isin(place % 10, (4, 5))]
    return Life(np.flatnonzero(taught), [names[node] for node in gone])


def _lived(
    case: Case, config: Config, life: Life, graph: NodeGraph, name: str
) -> tuple[Path, Sequence[str]]:
    """Let a bank live through it; return its folder, and what update and forget opened of the
    outputs and the raw data.
    """
    folder = case.temporary / f"bank-{name}"
    source = source_of(case, graph)
    params = case.context.params.section(SplitParams)
    store.create(folder, config)
    add.add(folder, some(source, life.taught), per_task=params.classes_per_task)
    closed = [*(case.context.layout.root / stage for stage in STAGES)]
    closed += raw_files(case.context.data_root, case.source)
    watch = Watch([str(path) for path in closed], [])
    watch.install("")
    with watch.looking() as opened:
        update(folder, source)
        if life.forgets:
            forget(folder, source, life.forgets)
    return folder, opened


def source_of(case: Case, graph: NodeGraph) -> Source:
    """Return a graph with the parts of the split, as a bank takes it."""
    part = np.full(graph.num_nodes, -1, np.int8)
    part[case.split.orig_id] = np.where(case.split.in_train, TRAIN, TEST)
    names = np.array(names_of(graph), object)
    meta = case.source.meta
    return Source(
        replace(graph, given=Given(part=part, node_id=names)),
        meta.directed,
        meta.unlabelled_as,
        meta.feature_norm,
    )


def some(source: Source, rows: Array) -> Source:
    """Return the subgraph of some nodes, ascending."""
    graph = source.graph
    assert graph.given.part is not None
    assert graph.given.node_id is not None
    edges = to_scipy(graph.adjacency, np.int8)[rows][:, rows]
    made = replace(
        graph,
        adjacency=from_scipy(edges, binary=True),
        features=take_rows(graph.features, rows),
        labels=graph.labels[rows],
        given=Given(part=graph.given.part[rows], node_id=graph.given.node_id[rows]),
    )
    return replace(source, graph=made)


def different(one: Path, other: Path) -> list[str]:
    """Return the arrays in which two banks differ; records of nodes, whose keys are drawn by
    chance, are left out.
    """
    mine, theirs = (_files(store.current(folder).files) for folder in (one, other))
    if mine.keys() != theirs.keys():
        return ["the list of files"]
    found = []
    for name, file in sorted(mine.items()):
        moved = changed(one / file, other / theirs[name])
        found += [f"{array} of {name}" for array in moved if not array.startswith("known/")]
    return found


def _files(files: Mapping[str, str]) -> dict[str, str]:
    return {file.partition("/")[0] + file[-11:]: file for file in files}
