"""torch, imported when something of it is first asked for.

Importing torch takes two seconds of CPU. Modules that take it from here can be imported without
it: a run that reuses everything, and commands that only read what methods declare, never need it.
"""

from __future__ import annotations

import importlib
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
    from torch.nn import functional as functional


class _Late:
    """What a module has; the module is imported for the first name that is asked for."""

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what Python itself asks of anything
            raise AttributeError(name)
        value: object = getattr(self._module(), name)
        setattr(self, name, value)  # from then on it is found without coming here
        return value

    def _module(self) -> ModuleType:
        raise NotImplementedError


class _Torch(_Late):
    def _module(self) -> ModuleType:
        return importlib.import_module("torch")


class _Functional(_Late):
    def _module(self) -> ModuleType:
        return importlib.import_module("torch.nn.functional")


if not TYPE_CHECKING:
    torch = _Torch()
    functional = _Functional()
