"""Additional cost in float32 words: what a method keeps beside the backbone, counted as papers do
(`paper`) and in full (`full`).

Paper rule (reconstructed from the tables to 4 digits): parameters of the method beside its
backbone, plus stored rows at F + 2 words each (an int64 label counts as two). Prototypes,
importances, teachers and edges are left out; `full` adds them.
"""

from __future__ import annotations


def paper(parameters: int, rows: int, num_features: int) -> int:
    """Return the paper's count."""
    return parameters + rows * (num_features + 2)


def full(parameters: int, rows: int, num_features: int, uncounted: int, prototypes: int) -> int:
    """Return the full count.

    Args:
        uncounted: words that the paper's rule leaves out. prototypes: words of all task prototypes.
    """
    return paper(parameters, rows, num_features) + uncounted + prototypes
