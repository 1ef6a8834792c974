"""Which code can change a byte of an artefact: every definition that can be reached from a stage's
module and its plug-in, and the libraries that these use.

A definition is reached where a reached one names it. So a changed function counts for the stages
and methods that can call it, and for no other.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from functools import cache
from importlib import metadata
from pathlib import Path

from taamctl.core import registry
from taamctl.runtime import source_text
from taamctl.runtime.provenance import LIBRARIES, installed, sha256
from taamctl.runtime.source_text import EVERYTHING, Definition, Source, Target

OURS = "taamctl"
FILE_NAME = re.compile(r"[\w-]+(\.[a-z0-9]+)+")
# What these do reaches no byte of an artefact. They decide when a stage runs, wait for a file, show
# progress, find a plug-in, or turn text into the parameters, which are in the key by their values.
# How subnormal numbers are treated is in the key as a rule of its own. A stage names the kinds of
# files that it reads and writes; the table of all kinds is for files of whatever kind.
NOT_IN_THE_BYTES = (
    "taamctl.runtime",
    "taamctl.store.lock",
    "taamctl.store.schema",
    "taamctl.core.errors",
    "taamctl.core.memory",
    "taamctl.core.progress",
    "taamctl.core.registry",
    "taamctl.core.subnormals",
    "taamctl.params.binding",
    "taamctl.params.params_file",
    "taamctl.params.plugin_params",
    "taamctl.params.sections",
)


@dataclass(frozen=True)
class Reached:
    """What can be reached from some modules.

    Attributes:
        code: module -> digest of what is reached of it. Files that lie beside a module and are
            named in reached code are in it too.
        symbols: module -> what is reached of it.
        libraries: the distributions that are used, sorted.
        files: module -> sha256 of its file: while no file changes, nothing of this does.
        paths: the files themselves.
    """

    code: dict[str, str]
    symbols: dict[str, frozenset[str]]
    libraries: tuple[str, ...]
    files: dict[str, str]
    paths: tuple[Path, ...]


@cache
def reached(modules: tuple[str, ...], plugins: tuple[tuple[str, str], ...] = ()) -> Reached:
    """Return what can be reached from all definitions of some modules and plug-ins.

    Args:
        modules: such as `taamctl.stages.train`.
        plugins: (package, name), such as (`taamctl.methods`, `taam`). Modules of another package
            count whole.

    Raises:
        TaamctlError: there is no such plug-in, or it has no source.
    """
    walk = _Walk()
    for package, name in plugins:
        walk.outside |= _plugin_files(package, name)
    for module in (*modules, *walk.outside):
        walk.use(Target(module, EVERYTHING))
    walk.follow()
    code = {}
    for module, symbols in sorted(walk.symbols.items()):
        digest = hashlib.sha256()
        for symbol in sorted(symbols):
            digest.update(f"{symbol}\0".encode())
            for definition in symbols[symbol]:
                digest.update(definition.digest.encode())
        code[module] = digest.hexdigest()
    files = {module: walk.source(module).sha256 for module in code}
    code |= {name: sha256(path) for name, path in sorted(walk.data.items())}
    files |= {name: code[name] for name in walk.data}
    names = {module: frozenset(found) for module, found in walk.symbols.items()}
    paths = tuple(walk.file(module) for module in walk.symbols)
    return Reached(code, names, tuple(sorted(walk.libraries)), files, paths)


def unchanged(files: Mapping[str, str]) -> bool:
    """Tell whether every file that some code was reached in is still the same; those of other
    packages count as changed.
    """
    return bool(files) and all(_sha256_of(name) == digest for name, digest in files.items())


@cache
def _sha256_of(name: str) -> str:
    """Return the sha256 of a module's file, or of a file beside one; empty where it is gone."""
    package, _, beside = name.partition("/")
    file = _file_of(package)
    if beside and file is not None:
        file = file.with_name(beside)
    return sha256(file) if file is not None and file.is_file() else ""


@dataclass
class _Walk:
    """A walk over definitions that name each other.

    Attributes:
        symbols: module -> symbol -> its definitions, all that was reached.
        outside: the modules of other packages' plug-ins, with their files.
        data: files beside modules that reached code names.
    """

    symbols: dict[str, dict[str, tuple[Definition, ...]]] = field(default_factory=dict)
    outside: dict[str, Path] = field(default_factory=dict)
    libraries: set[str] = field(default_factory=set)
    data: dict[str, Path] = field(default_factory=dict)
    _seen: set[Target] = field(default_factory=set)
    _todo: list[Target] = field(default_factory=list)

    def file(self, module: str) -> Path:
        """Return the file of a module that is walked."""
        return self.outside.get(module) or _file_of(module) or Path()

    def source(self, module: str) -> Source:
        """Return what a module that is walked says."""
        return source_text.read(self.file(module), module)

    def use(self, target: Target) -> None:
        """Note that a symbol, or a whole module, is used."""
        if target not in self._seen:
            self._seen.add(target)
            self._todo.append(target)

    def follow(self) -> None:
        """Go on until nothing new is named."""
        while self._todo:
            target = self._todo.pop()
            if is_machinery(target.module):
                continue
            if target.module in self.outside or _file_of(target.module) is not None:
                self._reach(target, self.source(target.module))
            else:
                library = LIBRARIES.get(target.module.partition(".")[0])
                if library:
                    self.libraries.add(library)

    def _reach(self, target: Target, source: Source) -> None:
        """Add a symbol of a module of ours, and use what it names."""
        found = self.symbols.setdefault(target.module, {})
        if "" not in found:  # what runs when it is imported
            found[""] = source.effects
            self._names(target.module, source, source.effects)
        if target.symbol == EVERYTHING:
            for symbol in source.definitions:
                self.use(Target(target.module, symbol))
        elif target.symbol in source.definitions:
            found[target.symbol] = source.definitions[target.symbol]
            self._names(target.module, source, source.definitions[target.symbol])
        elif target.symbol in source.imports:
            self._imported(source, target.symbol, EVERYTHING)
        elif _file_of(f"{target.module}.{target.symbol}") is not None:
            self.use(Target(f"{target.module}.{target.symbol}", EVERYTHING))

    def _names(self, module: str, source: Source, made: Iterable[Definition]) -> None:
        for definition in made:
            for name in definition.names:
                if name.startswith(source_text.BY_TEXT):
                    self.use(Target(name.removeprefix(source_text.BY_TEXT), EVERYTHING))
                first, _, attribute = name.partition(".")
                if first in source.definitions:
                    self.use(Target(module, first))
                if first in source.imports:
                    self._imported(source, first, attribute or EVERYTHING)
                    if module in self.outside:  # any library may matter to another package
                        tops = {t.module.partition(".")[0] for t in source.imports[first]}
                        self.libraries |= {name for top in tops for name in _distributions(top)}
            for text in definition.texts:
                self._beside(module, text)

    def _imported(self, source: Source, name: str, attribute: str) -> None:
        """Use what an imported name stands for: a symbol, or an attribute of a module."""
        for target in source.imports[name]:
            inner = f"{target.module}.{target.symbol}"
            if target.symbol == EVERYTHING:
                self.use(target)
            elif not target.symbol:
                self.use(Target(target.module, attribute))
            elif inner in self.outside or _file_of(inner) is not None:
                self.use(Target(inner, attribute))
            else:
                self.use(target)

    def _beside(self, module: str, text: str) -> None:
        """Count a file that lies beside a module and is named in its code."""
        if not FILE_NAME.fullmatch(text):
            return
        path = self.file(module).with_name(text)
        if path.suffix != ".py" and path.is_file():
            self.data[f"{module.rpartition('.')[0]}/{text}"] = path


def _plugin_files(package: str, name: str) -> dict[str, Path]:
    """Return module -> file of a plug-in; several where another package offers it."""
    files = registry.sources(package, name)
    if not registry.is_outside(package, name) or (len(files) == 1 and _is_ours(files[0])):
        return {f"{package}.{file.stem}": file for file in files}
    (offer,) = registry.offers(package)[name]
    top = offer.module.partition(".")[0]
    if len(files) == 1:
        return {offer.module: files[0]}
    root = min(files, key=lambda file: len(file.parts)).parent
    names = [(top, *file.relative_to(root).with_suffix("").parts) for file in files]
    return {
        ".".join(name).removesuffix(".__init__"): file
        for name, file in zip(names, files, strict=True)
    }


def is_machinery(module: str) -> bool:
    """Tell whether what a module does reaches no byte of an artefact."""
    return any(module == name or module.startswith(f"{name}.") for name in NOT_IN_THE_BYTES)


def _distributions(top: str) -> list[str]:
    """Return the distributions that a top-level module is of; none of Python's own and of ours."""
    if top in sys.stdlib_module_names or top == OURS:
        return []
    return _all_distributions().get(top, [])


@cache
def _all_distributions() -> Mapping[str, list[str]]:
    return metadata.packages_distributions()


def _is_ours(file: Path) -> bool:
    return file.is_relative_to(_package_folder())


@cache
def _package_folder() -> Path:
    return Path(__file__).resolve().parents[1]


@cache
def _stages_folder() -> Path:
    """Return where the stage modules lie: beside the package in a checkout, inside it in a
    wheel.
    """
    found = importlib.util.find_spec("taamctl.stages")
    if found is None or not found.submodule_search_locations:
        raise RuntimeError("taamctl.stages is not importable: install the package (pip install .)")
    return Path(next(iter(found.submodule_search_locations)))


@cache
def _file_of(module: str) -> Path | None:
    """Return the file of a module of ours; None where it is none."""
    first, *rest = module.split(".")
    if first != OURS:
        return None
    base = _package_folder()
    if rest[:1] == ["stages"]:
        base, rest = _stages_folder(), rest[1:]
    path = base.joinpath(*rest)
    for file in (path.with_suffix(".py"), path / "__init__.py"):
        if file.is_file():
            return file
    return None


def versions(distributions: Iterable[str]) -> dict[str, str]:
    """Return the versions of libraries, and Python's, which decides how floats are summed."""
    found = {"python": ".".join(map(str, sys.version_info[:2]))}
    return found | {name: installed(name) for name in distributions}
