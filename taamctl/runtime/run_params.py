"""The `run` section: what the DAG and a bare `taamctl run` go over."""

from __future__ import annotations

from dataclasses import dataclass

from taamctl.core.spec import param


@dataclass(frozen=True)
class RunParams:
    """Datasets x methods x seeds."""

    datasets: tuple[str, ...] = param("data sets, by name (`taamctl data list`)")
    methods: tuple[str, ...] = param("methods, by name")
    seeds: tuple[int, ...] = param("base seeds; each gives its own backbone, modulators and heads", ge=0)
