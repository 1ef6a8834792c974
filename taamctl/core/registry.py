"""Find plug-ins by name: a name is a file in a package, and the file is imported only when asked for."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
from functools import cache
from pathlib import Path
from types import ModuleType

from taamctl.core.errors import TaamctlError


@cache
def names(package: str) -> tuple[str, ...]:
    """List the plug-ins of `package` (for example `taamctl.methods`), sorted, without importing any of them."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise TaamctlError(f"no package {package}")
    found = pkgutil.iter_modules([str(Path(p)) for p in spec.submodule_search_locations])
    return tuple(sorted(m.name for m in found if not m.name.startswith("_")))


def require(package: str, name: str) -> None:
    """Make sure that `package` has a plug-in `name`, without importing it.

    Raises:
        TaamctlError: no such plug-in; the message lists the known ones and the hint the nearest.
    """
    known = names(package)
    if name not in known:
        kind = package.rsplit(".", 1)[-1].removesuffix("s")
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else ""
        raise TaamctlError(f"no {kind} called {name!r}; there are: {', '.join(known)}", hint)


def load(package: str, name: str) -> ModuleType:
    """Import the plug-in `name` of `package`; raise as `require` does where there is none."""
    require(package, name)
    return importlib.import_module(f"{package}.{name}")
