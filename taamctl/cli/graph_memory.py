"""`--max-memory` of the verbs that hold a whole graph: those that change a bank, and the replay in
time. What does not fit is refused before the graph is read.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from taamctl.cli.memory_size import size
from taamctl.cli.one_graph import OneGraph, own_params
from taamctl.core.data_set import data_set

if TYPE_CHECKING:
    from collections.abc import Iterable

    from taamctl.planning.counts import Graph
    from taamctl.prequential.stream_options import StreamOptions
    from taamctl.propagation.room import Room
    from taamctl.runtime.job import Context


def room_of(
    what: str,
    folder: Path,
    named: OneGraph,
    max_memory: str | None,
    params: Path | None,
    overrides: list[str] | None,
    *,
    per_task: int | None = None,
    wide: bool = False,
    before: Path | None = None,
) -> Room:
    """Return how much memory a change of a bank has; refuse a graph that cannot do with it.

    Args:
        what: is done, for the message.
        per_task: classes of a task; None: as the graph says, else all.
        wide: a task's rows before and after are needed at once.
        before: file of a second graph that is held beside it.
    """
    from taamctl.propagation.room import UNLIMITED, Room

    limit = size(max_memory)
    if limit is None or (named.graph is None and named.dataset is None):
        return UNLIMITED
    from taamctl.bank import manifest, store
    from taamctl.bank.config import from_plain
    from taamctl.cli.bank_work import work_of
    from taamctl.planning import counts, graph_need

    now = store.current(folder)
    config = from_plain(now.config, str(folder / manifest.NAME))
    own = _counted(named, params, overrides)
    graph = _with_context(own, named)
    beside = graph.nodes - own.nodes
    work = work_of(now, config, graph, per_task, wide=wide, beside=beside)
    held = 0.0
    if before is not None:
        held = graph_need.held(counts.of_file(before))
    graph_need.require(what, graph, work, limit, held)
    return Room(limit, int(graph_need.solving(graph, work)))


def _counted(named: OneGraph, params: Path | None, overrides: list[str] | None) -> Graph:
    """Return the graph of a call in numbers; no array of it is read."""
    from taamctl.planning import counts
    from taamctl.runtime import remote_files

    if named.graph is not None:
        return counts.of_file(remote_files.local(named.graph))
    dataset = named.dataset or ""
    return counts.of_source(data_set(dataset), own_params(dataset, params, overrides))


def _with_context(graph: Graph, named: OneGraph) -> Graph:
    """Return a graph and its context as one, in numbers."""
    if not named.context:
        return graph
    from taamctl.importing.upgrade_graph import file_of
    from taamctl.planning import counts

    other = counts.of_file(file_of(named.context))
    stored = graph.stored + other.stored
    nodes = graph.nodes + other.nodes
    return replace(graph, nodes=nodes, stored=stored, joined=other.joined)


def require_replays(context: Context, options: StreamOptions) -> None:
    """Refuse data sets whose replay does not fit into the context's limit."""
    if context.max_memory is None:
        return
    from taamctl.params.bank_params import BankParams
    from taamctl.params.precompute_params import PrecomputeParams
    from taamctl.params.run_params import RunParams
    from taamctl.planning import counts, graph_need

    router = context.params.section(BankParams).router
    hops = {context.params.section(PrecomputeParams).hops, *router.hops}
    read = len(hops) * _share_read(context.params.section(RunParams).methods, options)
    for name in context.params.section(RunParams).datasets:
        graph = counts.of_dataset(context, name)
        # the sums are those of every class
        work = graph_need.GraphWork(1.0, read, router, graph.classes, experts=False)
        graph_need.require("the replay of", graph, work, context.max_memory)


def _share_read(methods: Iterable[str], options: StreamOptions) -> float:
    """Return the share of the nodes whose rows are in memory at once: those of a snapshot, those
    that are held back, or all that are shown, where something is learned from them again.
    """
    from taamctl.prequential import choose_follower

    if any(choose_follower.learns_again(method, options) for method in methods):
        return 1.0 - options.held
    snapshot = 1.0 / options.count
    if options.snapshots is None and options.every is not None:
        snapshot = 1.0  # of a span nobody knows how many nodes it has
    return max(snapshot, options.held)
