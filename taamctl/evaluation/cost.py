"""Additional cost in float32 words: what a method keeps beside the backbone, counted as papers do (`paper`) and in full (`full`).

Paper rule (reconstructed from the tables to 4 digits): parameters of the method beside its backbone, plus stored rows at F + 2
words each (an int64 label counts as two). Prototypes, importances, teachers and edges are left out; `full` adds them.
"""

from __future__ import annotations

import numpy as np

from taamctl.core.types import Array


def paper(parameters: int, rows: int, num_features: int) -> int:
    """Return the paper's count."""
    return parameters + rows * (num_features + 2)


def full(parameters: int, rows: int, num_features: int, uncounted: int, prototypes: int) -> int:
    """Return the full count.

    Args:
        uncounted: words that the paper's rule leaves out. prototypes: words of all task prototypes.
    """
    return paper(parameters, rows, num_features) + uncounted + prototypes


def taam_parameters(num_features: int, num_tasks: int, num_classes: int, *, d_task: int = 6, heads: int = 2, rank: int = 4) -> int:
    """Return TAAM's total in closed form: T (10F + 64) + 257 C + 2F for the published sizes. Source: TAAM (2026), cost table."""
    per_task = (d_task * heads * rank + heads * rank) + rank * 2 * num_features + (num_features * heads + heads) + d_task
    return num_tasks * per_task + 257 * num_classes + 2 * num_features


def taam_l_parameters(num_features: int, num_tasks: int, num_classes: int, *, d_task: int = 6, heads: int = 2) -> int:
    """Return TAAM-L's total in closed form: T (30F + 8) + 257 C + 2F for the published sizes."""
    per_task = (d_task * heads * 2 * num_features + heads * 2 * num_features) + (num_features * heads + heads) + d_task
    return num_tasks * per_task + 257 * num_classes + 2 * num_features


def tpp_parameters(num_features: int, num_tasks: int, prompts: int = 3) -> int:
    """Return TPP's total: (T-1)(2PF + P) + T (256 * 2 + 2). Source: TPP (2024), as counted in TAAM's cost table."""
    return (num_tasks - 1) * (2 * prompts * num_features + prompts) + num_tasks * (256 * 2 + 2)


def rows_kept(class_sizes: Array, budget: int) -> int:
    """Return the rows that a replay method with `budget` rows per class keeps: the sum of min(budget, N_c)."""
    return int(np.minimum(class_sizes, budget).sum())
