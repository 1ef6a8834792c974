"""A method by its name: the one place that looks into a plug-in's module for it."""

from __future__ import annotations

from taamctl.core import registry
from taamctl.learning.contract.method import Method

PACKAGE = registry.METHODS


def method_class(name: str) -> type[Method]:
    """Return the class of a method, ours or another package's.

    Raises:
        TaamctlError: there is no such method, or its module cannot be imported.
    """
    found: type[Method] = registry.load(PACKAGE, name).Method
    return found
