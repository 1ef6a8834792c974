"""The `split` section: which classes form which task, and which nodes form which part."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.spec import param


@dataclass(frozen=True)
class SplitParams:
    """Task stream and parts."""

    node_order: str = param("file: the raw file's order; reader: the order that DGL's readers give", choices=("file", "reader"))
    symmetrize: str = param("as_released: as the published experiments use the data set; always; never",
                            choices=("as_released", "always", "never"))
    unlabelled: str = param("as_released: as the usual reader does (Citeseer gives them label 0); drop",
                            choices=("as_released", "drop"))
    class_order: str = param("natural: label order; seeded_permutation: shuffled by order_seed",
                             choices=("natural", "seeded_permutation"))
    order_seed: int = param("seed of the class permutation", ge=0, lt=2**32)
    classes_per_task: int = param("classes per task", ge=1)
    odd_class: str = param("leftover classes at the end: drop, merge_into_last or singleton_task",
                           choices=("drop", "merge_into_last", "singleton_task"))
    min_class_size: int = param("nodes a class needs", ge=1)
    small_class: str = param("classes below min_class_size: drop (before pairing) or refuse", choices=("drop", "refuse"))
    train: float = param("fraction of every class for training", gt=0, lt=1)
    val: float = param("fraction for validation", ge=0, lt=1)
    test: float = param("fraction for test", gt=0, lt=1)
    seed: int = param("seed of the per-class split; the published one is 42", ge=0, lt=2**32)

    def __post_init__(self) -> None:
        if abs(self.train + self.val + self.test - 1) > 1e-9:
            raise TaamctlError(f"train {self.train} + val {self.val} + test {self.test} must be 1")
