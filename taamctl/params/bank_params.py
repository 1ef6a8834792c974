"""The `bank` section: how a bank routes nodes to tasks, and when it says that it knows no class
for a node.
"""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.spec import param
from taamctl.params.train_params import RidgeParams

DECISIONS = ("router", "expert", "soft")
ROUTERS = ("auto", "ridge", "prototype")
UNITS = ("node", "component", "graph")
SUMS = ("task", "class")
EDGES = ("task", "all")


@dataclass(frozen=True)
class BankParams:
    """What `taamctl bank create` fixes for the whole life of a bank, beside the method and its
    training.
    """

    decide: str = param(
        "router: the regression over all classes; expert: the task's own model for the node's "
        "likeliest task; soft: the likeliest tasks' models, weighted",
        choices=DECISIONS,
    )
    temperature: float = param(
        "by which the regression's outputs are multiplied before they become a posterior", gt=0
    )
    top: int = param("tasks that a soft decision asks", ge=1)
    unknown: float = param(
        "share of nodes of known classes that may be called unknown; 0 = never say unknown",
        ge=0,
        lt=1,
    )
    sums: str = param(
        "task: a task's sums in float32, which can only be replaced as a whole; class: a class's "
        "sums as whole numbers and a record of its nodes, for taamctl bank update and forget",
        choices=SUMS,
    )
    edges: str = param(
        "of exact sums: task: a node's row sees the training nodes of its own task; all: those of "
        "all tasks, and rows of older tasks are exchanged when edges come to them",
        choices=EDGES,
    )
    val_rows: int = param(
        "validation nodes of a task whose features are kept, from which probabilities are "
        "calibrated, sets made and unknown nodes told; 0 = none",
        ge=0,
    )
    router: RidgeParams = param("node profiles and their regression; as for methods.analytic")

    def __post_init__(self) -> None:
        if self.edges == "all" and self.sums != "class":
            raise TaamctlError(
                f"edges: all, with sums: {self.sums}: rows of older tasks are exchanged, which "
                "takes exact sums and a record of their nodes",
                "add sums: class, or leave edges: task",
            )
