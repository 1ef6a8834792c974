"""What verbs need of memory that hold a whole graph: those that change a bank, and the replay in
time.
"""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.memory import mib
from taamctl.core.units import MIB, format_bytes
from taamctl.learning.kernels import ridge_memory
from taamctl.params.train_params import RidgeParams
from taamctl.planning import costs
from taamctl.planning.counts import Graph
from taamctl.planning.memory_need import SPARE

LOADED = 14.0  # bytes per entry used, while edges are joined with their reverses
KEPT = 10.0  # bytes per entry between the nodes at work
NODE = 200.0  # bytes per node: its name, its key, its label, and what the bank knows of it
COPIES = 4  # others in the places of every node that is kept
KEPT_COPIES = 4  # arrays of profiles of the nodes that are kept
ROW = 350.0  # bytes per node at work: its record, weights of hops, a few columns
FIXED = costs.TORCH + 100 * MIB


@dataclass(frozen=True)
class GraphWork:
    """What is done with a graph.

    Attributes:
        rows: share of the nodes that are learned at once.
        copies: N x F arrays of these that are in memory: features and hops, where they have no
            place in files.
        router: node profiles and their regression.
        sums: Gram matrices that are held.
        experts: tasks have models of their own.
        kept: nodes whose profiles are looked at, whatever the graph.
        beside: share of the nodes that are neighbours of all others.
    """

    rows: float
    copies: float
    router: RidgeParams
    sums: int
    experts: bool
    kept: int = 0
    beside: float = 0.0


def held(graph: Graph) -> float:
    """Return the bytes of a graph in memory."""
    sparse = graph.filled < 1 and not graph.dense
    value = 8.0 * graph.filled if sparse else 4.0
    return graph.nodes * (graph.features * value + NODE) + 4.0 * graph.stored


def needed(graph: Graph, work: GraphWork) -> float:
    """Return the least bytes at the peak, libraries included, with all in files that can be: the
    graph, and beside it either its edges as they are joined with their reverses, or the rows at
    work.
    """
    used = graph.stored * graph.joined
    rows = work.rows * graph.nodes
    seen = max(work.rows, work.beside)
    made = rows * 4.0 * graph.features * work.copies
    made += seen * (ROW * graph.nodes + KEPT * used)
    if work.experts:
        made += rows * 4.0 * costs.TRAIN_MODULATED[1] * costs.HIDDEN
    made += solving(graph, work)
    return FIXED + held(graph) + max(LOADED * used, 4.0 * used + made)


def solving(graph: Graph, work: GraphWork) -> float:
    """Return the bytes that sums take, and the regression that is solved from them."""
    width = work.router.profile_width(graph.features)
    rows = int(work.rows * graph.nodes)
    made = ridge_memory.bytes_of(width, work.sums, rows)
    return made + 4.0 * KEPT_COPIES * work.kept * width


def require(what: str, graph: Graph, work: GraphWork, limit: int, beside: float = 0.0) -> None:
    """Refuse a graph that needs more than `limit` bytes, before it is read.

    Args:
        what: is done, for the message. beside: bytes of what else is held.

    Raises:
        TaamctlError: it needs more; the hint has a limit that would do.
    """
    need = needed(graph, work) + beside
    if need > limit:
        raise TaamctlError(
            f"{what} {graph.name} needs about {format_bytes(need)} of memory, --max-memory allows "
            f"{format_bytes(limit)}",
            f"allow more: --max-memory {mib(int(SPARE * need))}M; or give the graph in parts, each "
            "with some of the classes",
        )
