"""The paper's bound on the task-ID error, of a split that has not been propagated yet."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TypedDict

import scipy.sparse as sp

from taamctl.core import subnormals
from taamctl.core.rows import of_whole
from taamctl.core.types import CSR, PARTS, Array
from taamctl.features import column_sizes
from taamctl.features.raw_features import in_memory
from taamctl.features.split_parts import Parts
from taamctl.graph.canonical import to_scipy
from taamctl.learning.routing.error_bound import TaskSpread, separations, task_spread
from taamctl.params.precompute_params import PrecomputeParams
from taamctl.params.train_params import InferParams
from taamctl.propagation.operator import with_self_loops
from taamctl.stream.task_split import Split

SAYS_NOTHING = 0.5  # a bound above it is no better than a coin


class IdBound(TypedDict):
    """The least and the most of the tasks' bounds on the share of wrong task IDs, of AMP."""

    least: float
    most: float


@subnormals.flushed()  # as precompute
def of_split(
    raw: Array | CSR, split: Split, precompute: PrecomputeParams, norm: str, infer: InferParams
) -> IdBound | None:
    """Return the bound over the tasks of a split; None where a task has no training node, or there
    is one task only.

    Args:
        raw: [N, F] features of all nodes. norm: the resolved feature normalisation.

    Source: the appendix of TAAM (AAMAS 2026); `taamctl reproduce theory` shows it task by task.
    """
    if len(split.stream.tasks) < 2:
        return None
    spreads = list(_spreads(raw, split, precompute, norm, infer))
    if None in spreads:
        return None
    bounds = [apart.bound for apart in separations([each for each in spreads if each])]
    return {"least": min(bounds), "most": max(bounds)}


def _spreads(
    raw: Array | CSR, split: Split, precompute: PrecomputeParams, norm: str, infer: InferParams
) -> Iterator[TaskSpread | None]:
    """Yield the spread of every task's training part."""
    parts = Parts.of(split.orig_id, split.offset, split.edges)
    scaled = column_sizes.resolved(norm, of_whole(raw), parts.first_train)
    for low, high in parts.bounds[:: len(PARTS)]:
        if low == high:
            yield None
            continue
        x = in_memory(raw, split.orig_id[low:high], scaled).x
        values = to_scipy(x) if isinstance(x, CSR) else sp.csr_matrix(x)
        edges = to_scipy(with_self_loops(parts.edges(low, high), precompute.self_loops))
        yield task_spread(values, edges, infer)


def line(bound: IdBound) -> str:
    """Return the bound as a line for people."""
    least, most = (f"{bound[end]:.3g}" for end in ("least", "most"))
    shown = least if least == most else f"{least} to {most}"
    text = f"the paper's bound on the share of wrong ones, for amp: {shown}"
    if bound["most"] > SAYS_NOTHING:
        text += "; a bound near 1 says nothing (taamctl reproduce theory)"
    return text
