"""torch, imported when something of it is first asked for.

Importing torch takes two seconds of CPU. Modules that take it from here can be imported without
it: a run that reuses everything, and commands that only read what methods declare, never need it.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from types import ModuleType
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch as torch
    from torch.nn import functional as functional


class _Late:
    """What a module has; the module is imported for the first name that is asked for."""

    def __init__(self, load: Callable[[], ModuleType]) -> None:
        self._load = load

    def __getattr__(self, name: str) -> object:
        if name.startswith("__"):  # what Python itself asks of anything
            raise AttributeError(name)
        value: object = getattr(self._load(), name)
        setattr(self, name, value)  # from then on it is found without coming here
        return value


if not TYPE_CHECKING:
    torch = _Late(lambda: importlib.import_module("torch"))
    functional = _Late(lambda: importlib.import_module("torch.nn.functional"))
