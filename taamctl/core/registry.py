"""Find plug-ins by name: a file in a package of ours, or a module that another installed package
offers; imported when asked for.

Another package offers a plug-in by an entry point of the group that is called as our package:
`taamctl.methods` or `taamctl.datasets`. The entry point's name is the plug-in's name, its value the
module. A graph that was imported into the working folder, `data/NAME.h5`, is the data set NAME.
"""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import pkgutil
import re
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from types import ModuleType

from taamctl.core.errors import TaamctlError

METHODS = "taamctl.methods"
NEEDED = {"taamctl.methods": ("Method", "Params"), "taamctl.datasets": ("META", "load")}
IMPORTED = {
    "taamctl.datasets": "data/*.h5"
}  # files of the working folder that are plug-ins too, read by the package's `_imported`
_FOLDER = ContextVar("working folder", default=Path())
# A name becomes a folder: none that Windows keeps for a device, and none told apart by case.
NAME = re.compile(r"(?!(?:con|prn|aux|nul|com[0-9]|lpt[0-9])$)[a-z][a-z0-9_]*")
NAME_RULE = (
    "a name has lower-case letters, digits and _, starts with a letter, and is no device of "
    "Windows (con, prn, aux, nul, com1, lpt1, ...)"
)


@dataclass(frozen=True)
class Offer:
    """A plug-in of another package.

    Attributes:
        module: the module's import path.
        package: the package that offers it, with its version, for messages.
    """

    module: str
    package: str


@cache
def builtin(package: str) -> tuple[str, ...]:
    """List the plug-ins that are files of `package` (for example `taamctl.methods`), sorted,
    without importing any of them.
    """
    spec = importlib.util.find_spec(package)
    if spec is None or spec.submodule_search_locations is None:
        raise TaamctlError(f"no package {package}", "install taamctl again")
    found = pkgutil.iter_modules([str(Path(p)) for p in spec.submodule_search_locations])
    return tuple(sorted(m.name for m in found if not m.name.startswith("_")))


@cache
def offers(package: str) -> dict[str, tuple[Offer, ...]]:
    """Return what other packages offer: name -> offers, more than one where they clash; nothing
    is imported.
    """
    from importlib import metadata

    found: dict[str, tuple[Offer, ...]] = {}
    for point in metadata.entry_points(group=package):
        by = "an unnamed package"
        if point.dist is not None:
            by = f"{point.dist.name} {point.dist.version}"
        found[point.name] = (*found.get(point.name, ()), Offer(point.value, by))
    return found


def imported(package: str) -> dict[str, Path]:
    """Return the plug-ins that are files of the working folder: name -> file.

    Nothing is opened, nothing is remembered.
    """
    if package not in IMPORTED:
        return {}
    files = sorted(_FOLDER.get().glob(IMPORTED[package]))
    return {path.stem: path for path in files if not path.name.startswith(".")}


@contextmanager
def working_in(folder: Path) -> Iterator[None]:
    """Find the plug-ins that are files of another working folder; holds for this thread."""
    before = _FOLDER.set(folder)
    try:
        yield
    finally:
        _FOLDER.reset(before)


def names(package: str) -> tuple[str, ...]:
    """List all plug-ins, ours, other packages' and the working folder's, sorted, without
    importing any of them.
    """
    return tuple(sorted({*builtin(package), *offers(package), *imported(package)}))


def is_outside(package: str, name: str) -> bool:
    """Tell whether `name` is offered by another package or lies in the working folder, and is no
    file of ours.
    """
    return name not in builtin(package) and (name in offers(package) or name in imported(package))


def origin(package: str, name: str) -> str:
    """Return who a plug-in is from: `taamctl`, the other package and its version, or the file in
    the working folder.
    """
    return " and ".join(_owners(package, name))


def _owners(package: str, name: str) -> list[str]:
    owners = [offer.package for offer in offers(package).get(name, ())]
    if name in builtin(package):
        owners.insert(0, "taamctl")
    file = imported(package).get(name)
    if file is not None:
        owners.append(str(file))
    return owners


def refuse_taken(package: str, name: str) -> None:
    """Make sure that a file of the working folder may be called `name`.

    Raises:
        TaamctlError: it is no name, or one of ours or of another package.
    """
    if not NAME.fullmatch(name):
        raise TaamctlError(f"{name!r} is no name for a {_kind(package)}", NAME_RULE)
    if name in builtin(package) or name in offers(package):
        raise TaamctlError(
            f"there is a {_kind(package)} {name!r} already, from {_owners(package, name)[0]}",
            "choose another name",
        )


def require(package: str, name: str) -> None:
    """Make sure that `package` has exactly one plug-in `name`, without importing it.

    Raises:
        TaamctlError: no such plug-in (the message lists the known ones and the hint the nearest),
            or more than one.
    """
    known = names(package)
    kind = _kind(package)
    if name not in known:
        near = difflib.get_close_matches(str(name), known, n=1)
        hint = f"did you mean {near[0]!r}?" if near else "choose one of them"
        hint += _how_to_bring_in(package, name) * (not near)
        raise TaamctlError(f"no {kind} called {name!r}; there are: {', '.join(known)}", hint)
    owners = _owners(package, name)
    file = imported(package).get(name)
    if len(owners) > 1 and file is not None:
        raise TaamctlError(
            f"{file} is called as a {_kind(package)} of {owners[0]}",
            f"a name belongs to one {_kind(package)}: rename the file, such as mv {file} "
            f"{file.with_stem('my_' + name)}",
        )
    if len(owners) > 1:
        raise TaamctlError(
            f"{len(owners)} packages have a {kind} called {name!r}: {', '.join(owners)}",
            f"a name belongs to one {kind}: rename the entry point, or uninstall "
            f"{owners[-1].split()[0]}",
        )
    # It becomes a folder, a section of params.yaml and a part of --set.
    if not NAME.fullmatch(name):
        raise TaamctlError(f"{owners[0]} calls a {kind} {name!r}", NAME_RULE)


def _how_to_bring_in(package: str, name: str) -> str:
    """Say how a plug-in of that name comes to be; nothing where no command makes one."""
    if package not in IMPORTED or not NAME.fullmatch(name):
        return ""
    return f", or bring in a graph of your own: taamctl data import NODES EDGES --name {name}"


def load(package: str, name: str) -> ModuleType:
    """Import the plug-in `name` of `package`; a file of the working folder gives a module with
    what such a module holds.

    Raises:
        TaamctlError: as `require`; or another package's plug-in cannot be imported, or is none.
    """
    require(package, name)
    file = imported(package).get(name)
    if file is not None:
        reader = importlib.import_module(f"{package}._imported")
        module: ModuleType = reader.module(file)
        return module
    if not is_outside(package, name):
        return importlib.import_module(f"{package}.{name}")
    (offer,) = offers(package)[name]
    where = f"the {_kind(package)} {name!r} of {offer.package}"
    distribution = offer.package.split()[0]
    try:
        module = importlib.import_module(offer.module)
    # whatever a stranger's module does while it is imported
    except (Exception, SystemExit) as error:
        raise TaamctlError(
            f"{where} cannot be imported: {type(error).__name__}: {error}",
            f"python -c 'import {offer.module}' shows where; mend it, or uninstall {distribution}",
        ) from error
    missing = [a for a in NEEDED.get(package, ()) if not hasattr(module, a)]
    if missing:
        place = getattr(module, "__file__", None) or "a folder without code"
        raise TaamctlError(
            f"{where} is the module {offer.module} ({place}), which lacks {' and '.join(missing)}",
            "taamctl docs add-method, or add-dataset, says what such a module holds",
        )
    return module


def method_params(name: str) -> type[object] | None:
    """Return the class of a method's own parameters; None where it has none.

    Raises:
        TaamctlError: as `load`.
    """
    found: type[object] | None = load(METHODS, name).Params
    return found


def sources(package: str, name: str) -> tuple[Path, ...]:
    """Return the source files that make a plug-in: its module, or the whole package that the module
    lies in. Nothing is run.

    Of an imported graph that is its reader; the file itself counts among a stage's raw data.

    Raises:
        TaamctlError: as `require`; or there is no source to be found.
    """
    require(package, name)
    if name in imported(package):
        return (_folder(package) / "_imported.py",)
    if not is_outside(package, name):
        return (_folder(package) / f"{name}.py",)
    (offer,) = offers(package)[name]
    files = _files_around(offer.module)
    if not files:
        raise TaamctlError(
            f"the {_kind(package)} {name!r} of {offer.package} has no source: no module "
            f"{offer.module}",
            f"install {offer.package.split()[0]} again",
        )
    return files


def _folder(package: str) -> Path:
    """Return the folder of a package of ours."""
    spec = importlib.util.find_spec(package)
    assert spec is not None
    return Path(next(iter(spec.submodule_search_locations or ())))


def _files_around(module: str) -> tuple[Path, ...]:
    """Return the source files of a module's top package, or of the module where it is alone."""
    top = importlib.util.find_spec(module.partition(".")[0])
    if top is None:
        return ()
    if top.submodule_search_locations:
        folders = map(Path, top.submodule_search_locations)
        return tuple(sorted(file for folder in folders for file in folder.rglob("*.py")))
    if top.origin is not None and Path(top.origin).is_file():
        return (Path(top.origin),)
    return ()


def _kind(package: str) -> str:
    return {"methods": "method", "datasets": "dataset"}.get(package.rsplit(".", 1)[-1], "plug-in")
