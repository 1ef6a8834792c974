"""Names that the shell completes."""

from __future__ import annotations


def datasets(begun: str) -> list[str]:
    """Return the data sets whose names begin so, those of the working folder too."""
    return _names("taamctl.datasets", begun)


def methods(begun: str) -> list[str]:
    """Return the methods whose names begin so."""
    return _names("taamctl.methods", begun)


def pages(begun: str) -> list[str]:
    """Return the pages of `taamctl docs` whose names begin so."""
    from taamctl.manual.pages import pages as every

    return [page.name for page in every() if page.name.startswith(begun)]


def _names(package: str, begun: str) -> list[str]:
    from taamctl.core import registry

    return [name for name in registry.names(package) if name.startswith(begun)]
