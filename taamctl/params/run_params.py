"""The `run` section: what the DAG and a bare `taamctl run` go over."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.core.spec import param


@dataclass(frozen=True)
class RunParams:
    """Datasets x methods x seeds."""

    datasets: tuple[str, ...] = param("data sets, by name (`taamctl data list`)")
    methods: tuple[str, ...] = param("methods, by name")
    seeds: tuple[int, ...] = param(
        "base seeds; each gives its own backbone, modulators and heads", ge=0
    )

    def __post_init__(self) -> None:
        for name, values in (
            ("datasets", self.datasets),
            ("methods", self.methods),
            ("seeds", self.seeds),
        ):
            if not values or len(set(values)) < len(values):
                raise TaamctlError(
                    f"{name} {list(values)} must name at least one, and none twice",
                    "name each once",
                )
