"""A method by its name: the one place that looks into a plug-in's module for it."""

from __future__ import annotations

from taamctl.core import registry
from taamctl.core.late_torch import torch
from taamctl.core.types import StreamInfo
from taamctl.learning.contract.method import Method
from taamctl.params.train_params import TrainParams

PACKAGE = registry.METHODS


def method_class(name: str) -> type[Method]:
    """Return the class of a method, ours or another package's.

    Raises:
        TaamctlError: there is no such method, or its module cannot be imported.
    """
    found: type[Method] = registry.load(PACKAGE, name).Method
    return found


def declaring(name: str, params: object, info: StreamInfo, train: TrainParams) -> Method:
    """Return a method that is only asked what it declares of itself; for those of ours nothing is
    drawn, so that torch is not needed.

    Raises:
        TaamctlError: as `method_class`.
    """
    cls = method_class(name)
    if registry.is_outside(PACKAGE, name):  # what it declares may rest on what it draws
        return cls(params, info, train, 0, torch.device("cpu"))
    method = cls.__new__(cls)
    method.params = params
    method.info = info
    method.train = train
    return method
