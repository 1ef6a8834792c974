"""Which nodes have the same features."""

from __future__ import annotations

from itertools import pairwise

import numpy as np

from taamctl.core.types import CSR, Array


def row_codes(x: Array | CSR) -> Array:
    """Return [N] int64: equal for nodes with equal features (and, but for a collision of 64
    bits, only for those).
    """
    if not isinstance(x, CSR):
        return np.fromiter((hash(row.tobytes()) for row in x), np.int64, len(x))
    stored = [x.indices] if x.data is None else [x.indices, x.data]
    rows = (tuple(a[i:j].tobytes() for a in stored) for i, j in pairwise(x.indptr.tolist()))
    return np.fromiter((hash(row) for row in rows), np.int64, x.shape[0])
