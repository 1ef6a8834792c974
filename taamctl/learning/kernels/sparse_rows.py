"""The nodes of a task as sparse rows, from which a squeezed task follows without its Gram matrix.

Where nodes are fewer than features and most features are 0, that takes a fraction of the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.late_torch import torch
from taamctl.learning.kernels import ridge
from taamctl.learning.kernels.class_sums import views_of
from taamctl.params.train_params import RidgeParams

if TYPE_CHECKING:
    import scipy.sparse as sp

FULL = 0.25  # share of values that are not 0 from which a Gram matrix takes less time


@dataclass(frozen=True)
class SparseRows:
    """Profiles of N nodes in V views, each times sqrt(w_v / V), so that G = R^T R.

    Attributes:
        rows: R, [N V, P] float64.
        cross: [P, C] float64, class means.
        nodes: N.
    """

    rows: sp.csr_matrix
    cross: torch.Tensor
    nodes: int

    def within(self, basis: torch.Tensor) -> torch.Tensor:
        """Return the covariance within classes, S = G - Q Q^T, times a matrix [P, K] float64."""
        total = torch.from_numpy(self.rows.T @ (self.rows @ basis.numpy()))
        return total - self.cross @ (self.cross.T @ basis)

    def diagonal(self) -> torch.Tensor:
        """Return the diagonal of S, [P] float64."""
        squares = self.rows.multiply(self.rows).sum(0)
        return torch.from_numpy(np.asarray(squares)[0]) - self.cross.square().sum(1)


def few(
    hops: ridge.Hops, y: torch.Tensor, classes: int, lift: ridge.Lift, params: RidgeParams
) -> SparseRows | None:
    """Return one task's nodes as `ridge.collect` takes them; None where they are too many, or too
    full, for this to save time.
    """
    import scipy.sparse as sp

    views, width = views_of(params), params.profile_width(next(iter(hops.values())).shape[1])
    if len(y) * len(views) >= width:
        return None
    parts, room = [], FULL * len(y) * len(views) * width
    for view in views:
        parts.append(sp.csr_matrix(lift.profile(hops, view).cpu().numpy()).astype(np.float64))
        room -= parts[-1].nnz
        if room < 0:
            return None
    labels = y.cpu().numpy()
    weight = 1 / np.bincount(labels, minlength=classes).clip(min=1)[labels] / len(views)
    root = np.tile(np.sqrt(weight), len(views))
    rows = sp.csr_matrix(sp.diags(root) @ sp.vstack(parts, format="csr"))
    place = np.tile(labels, len(views)), np.arange(len(root))
    of_class = sp.csr_matrix((root, place), shape=(classes, len(root)))
    means = np.ascontiguousarray((of_class @ rows).toarray().T)
    return SparseRows(rows, torch.from_numpy(means), len(y))
