"""A small logistic regression with a penalty, by Newton's steps."""

from __future__ import annotations

import numpy as np

from taamctl.core.types import Array

PENALTY = 0.02  # on squared weights, beside the mean loss
STEPS = 30


def logistic(x: Array, y: Array, mass: Array) -> Array:
    """Return the weights of the columns, [K]; the constant is not returned.

    Args:
        x: [N, K]. y: [N] bool. mass: [N], what a row weighs.
    """
    columns = np.concatenate([x, np.ones((len(x), 1))], 1)
    share = mass / mass.sum()
    penalty = np.full(columns.shape[1], PENALTY)
    penalty[-1] = 1e-6
    found = np.zeros(columns.shape[1])
    for _ in range(STEPS):
        p = 1 / (1 + np.exp(-np.clip(columns @ found, -30, 30)))
        slope = columns.T @ (share * (p - y)) + penalty * found
        curve = (columns * (share * p * (1 - p))[:, None]).T @ columns + np.diag(penalty)
        step = np.linalg.solve(curve, slope)
        found = found - step
        if np.abs(step).max() < 1e-10:
            break
    return found[:-1]
