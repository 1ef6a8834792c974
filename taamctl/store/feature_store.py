"""Read features.h5 as tasks and query graphs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.paths import group
from taamctl.core.types import CSR, Array, QueryGraph, StreamInfo, Task, TaskData
from taamctl.store.artefacts import Artefact
from taamctl.store.precompute_kind import PRECOMPUTE

EXTRAS = {"x": ("x_indptr", "x_indices", "x_data"), "edges": ("indptr", "indices")}


class FeatureStore(Artefact):
    """A `precompute` artefact; every array is read when asked for, and checked."""

    def __init__(self, path: Path, made_by: str) -> None:
        super().__init__(path, PRECOMPUTE, made_by)
        bounds = self.read("stream/bounds")
        width = self.shape(f"{group(0, 'train')}/H")[1]
        self.info = StreamInfo(
            width, tuple((int(a), int(b)) for a, b in bounds), int(self.params["hops"])
        )

    def task(self, k: int, needs: Sequence[str] = ()) -> TaskData:
        """Return the training part of task `k`, with the extra arrays that a method needs.

        Args:
            needs: `x` (raw features as CSR: x_indptr, x_indices, x_data) or `edges` (indptr,
                indices).

        Raises:
            TaamctlError: an extra was not stored; the hint names the switch.
        """
        import torch

        where = group(k, "train")
        h, y, deg = (torch.from_numpy(self.read(f"{where}/{name}")) for name in ("H", "y", "deg"))
        return TaskData(Task(k, *self.info.bounds[k]), h, y, deg, self._extras(where, needs))

    def query(self, k: int, part: str, needs: Sequence[str] = ()) -> QueryGraph:
        """Return a part of task `k` without labels and task index, with the extra arrays that a
        method needs.
        """
        import torch

        where = group(k, part)
        h, deg = (torch.from_numpy(self.read(f"{where}/{name}")) for name in ("H", "deg"))
        return QueryGraph(h, deg, self._extras(where, needs))

    def _extras(self, where: str, needs: Sequence[str]) -> dict[str, Array]:
        self.require(needs)
        extras: dict[str, Array] = {}
        for need in needs:
            if need == "x" and self.has(f"{where}/x"):
                x = CSR.of_dense(self.read(f"{where}/x"))
                extras |= {
                    "x_indptr": x.indptr,
                    "x_indices": x.indices,
                    "x_data": np.asarray(x.data),
                }
            else:
                extras |= {name: self.read(f"{where}/{name}") for name in EXTRAS[need]}
        return extras

    def holds(self, needs: Sequence[str]) -> bool:
        """Tell whether the extra arrays that `needs` names were stored."""
        first = group(0, "train")
        return all(
            self.has(f"{first}/{need}") or all(self.has(f"{first}/{n}") for n in EXTRAS[need])
            for need in needs
        )

    def require(self, needs: Sequence[str]) -> None:
        """Refuse, before any training, features that lack what a method needs."""
        for need in needs:
            if not self.holds((need,)):
                raise TaamctlError(
                    f"{self.path} does not hold what this method needs: {need}",
                    f"set precompute.store_{need} to true and run taamctl precompute",
                )

    def labels(self, part: str) -> list[Array]:
        """Return every task's labels in a part."""
        return [self.read(f"{group(k, part)}/y") for k in range(self.info.num_tasks)]

    def means(self, part: str) -> list[tuple[Array, Array] | None]:
        """Return every task's hop means [J, F] and LS means [2, F] in a part; None for a part
        without a node.
        """
        return [
            (self.read(f"{group(k, part)}/hop_mean"), self.read(f"{group(k, part)}/ls_mean"))
            if self.shape(f"{group(k, part)}/y")[0]
            else None
            for k in range(self.info.num_tasks)
        ]

    def class_sizes(self) -> Array:
        """Return [C] training nodes per class."""
        return np.bincount(np.concatenate(self.labels("train")), minlength=self.info.num_classes)
