"""The `split` section: which classes form which task, and which nodes form which part."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.spec import param


@dataclass(frozen=True)
class SplitParams:
    """Task stream and parts."""

    node_order: str = param(
        "of rows in a part, and of the nodes that parts are drawn from. file: the raw file's; "
        "reader: that of DGL's readers",
        choices=("file", "reader"),
    )
    symmetrize: str = param(
        "as_released: as the published experiments use the data set; always; never",
        choices=("as_released", "always", "never"),
    )
    unlabelled: str = param(
        "as_released: as the usual reader does (Citeseer gives them label 0); drop",
        choices=("as_released", "drop"),
    )
    tasks: str = param(
        "as_given: the graph's own tasks where it states any, else by_size: classes_per_task in "
        "class order",
        choices=("as_given", "by_size"),
    )
    class_order: str = param(
        "natural: label order; seeded_permutation: shuffled by order_seed; time: by a class's "
        "first node; given tasks move as wholes",
        choices=("natural", "seeded_permutation", "time"),
    )
    order_seed: int = param("seed of the class permutation", ge=0, lt=2**32)
    classes_per_task: int = param("classes per task", ge=1)
    odd_class: str = param(
        "leftover classes at the end: drop, merge_into_last or singleton_task",
        choices=("drop", "merge_into_last", "singleton_task"),
    )
    min_class_size: int = param("nodes a class needs", ge=1)
    small_class: str = param(
        "classes below min_class_size: drop (before pairing) or refuse", choices=("drop", "refuse")
    )
    parts: str = param(
        "as_given: the graph's own parts where it states any, else drawn: by seed; time: the "
        "oldest are train",
        choices=("as_given", "drawn", "time"),
    )
    train: float = param("fraction of every class for training", gt=0, lt=1)
    val: float = param("fraction for validation", ge=0, lt=1)
    test: float = param("fraction for test", gt=0, lt=1)
    seed: int = param("seed of the per-class split; the published one is 42", ge=0, lt=2**32)

    def __post_init__(self) -> None:
        if abs(self.train + self.val + self.test - 1) > 1e-9:
            raise TaamctlError(
                f"train {self.train} + val {self.val} + test {self.test} must be 1",
                "choose shares that add up to 1, such as 0.6, 0.2 and 0.2",
            )
