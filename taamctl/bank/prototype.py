"""Choose a task by AMP prototypes, as the published methods do: the mean profile of a unit
against every task's.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import torch

from taamctl.bank.hops import Hops
from taamctl.bank.open_bank import OpenBank
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.learning.routing import routers, task_id

if TYPE_CHECKING:
    from taamctl.bank.config import Config


class Prototypes:
    """The prototypes of a bank's tasks.

    Args:
        hop_means: per task its means of S^j X, [J, F].
        metric: None: as the bank was made.

    Attributes:
        table: [T, D] float64, a prototype a row.
    """

    def __init__(
        self, config: Config, hop_means: Sequence[Array], metric: str | None = None
    ) -> None:
        made = config.infer.routed(("amp", "cosine"))
        self._params = replace(made, profile="amp", metric=metric or made.metric)
        unused = np.zeros((2, 1))  # LS means, which a bank does not keep
        self.table = np.stack(
            [task_id.profile(hop_mean, unused, self._params) for hop_mean in hop_means]
        )

    def profiles(self, hops: Hops, low: int, high: int) -> Array:
        """Return the profiles of nodes [low, high), [n, D] float32."""
        wanted = range(max(self._params.hops) + 1)
        rows = {j: torch.from_numpy(hops.rows(j, low, high)) for j in wanted}
        return routers.amp_profiles(rows, self._params)

    def posterior(self, profiles: Array, temperature: float) -> Array:
        """Return softmax(temperature * similarity) over the tasks, [U, T]; a ranking, not a
        calibrated probability.
        """
        similar = np.stack(
            [task_id.similarity(p, self.table, self._params.metric) for p in profiles]
        )
        raised = np.exp(temperature * (similar - similar.max(1, keepdims=True)))
        return np.asarray(raised / raised.sum(1, keepdims=True))


def require_prototypes(bank: OpenBank) -> None:
    """Refuse prototypes where one was taken away."""
    for position, task in enumerate(bank.manifest.tasks):
        if not len(bank.task(position).hop_mean):
            raise TaamctlError(
                f"task {task.number} has no prototype: it was taken away when nodes were forgotten",
                "use --router ridge, or give all nodes of the task again: taamctl bank update",
            )
