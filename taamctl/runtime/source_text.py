"""Read a module's source as definitions: what each of them says and which names it uses.

What cannot reach a result is left out: comments, formatting, docstrings, annotations of functions,
and everything that is only said to people (the arguments of errors, warnings and messages). So a
better error text is the same code.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

SAYS = ("tell", "say", "warn")  # calls whose arguments only people read
SAID = ("Error", "Warning", "Exit")  # so end the names of classes whose arguments only people read
NO_CODE = (ast.Import, ast.ImportFrom, ast.expr_context)  # imports count by what is used of them
BY_TEXT = "import "  # before the name of a module that is imported by its name as a text
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
ASSIGNMENTS = (ast.Assign, ast.AnnAssign)
EVERYTHING = "*"  # all definitions of a module
NOT_RUN = {"returns", "annotation", "type_comment", "type_params"}  # fields of a function


@dataclass(frozen=True)
class Definition:
    """One function, class or value of a module.

    Attributes:
        digest: sha256 of what it says.
        names: the names that it uses: `loss`, or `loop.train` for an attribute of `loop`, or
            `import ogb.io` for a module that it imports by name.
        texts: the strings in it.
    """

    digest: str
    names: frozenset[str]
    texts: frozenset[str]


@dataclass(frozen=True)
class Target:
    """What an imported name stands for: a module, a `symbol` of it, or `EVERYTHING` in it."""

    module: str
    symbol: str = ""


@dataclass(frozen=True)
class Source:
    """A module.

    Attributes:
        definitions: name -> what defines it; more than one where branches do.
        imports: local name -> what it stands for, imports inside functions included.
        effects: what runs when the module is imported and defines nothing.
        sha256: of the file, as it was read.
    """

    definitions: Mapping[str, tuple[Definition, ...]]
    imports: Mapping[str, tuple[Target, ...]]
    effects: tuple[Definition, ...]
    sha256: str


@cache
def read(file: Path, module: str) -> Source:
    """Return the source of `module`, which lies in `file`."""
    content = file.read_bytes()
    tree = ast.parse(content, str(file))
    package = module if file.name == "__init__.py" else module.rpartition(".")[0]
    imports = _imports(tree, package)
    definitions: dict[str, tuple[Definition, ...]] = {}
    effects: list[Definition] = []
    for statement in _without_docstring(tree.body):
        if isinstance(statement, (ast.Import, ast.ImportFrom)) or _for_type_checkers(statement):
            continue
        made = _definition(statement, imports)
        defined = tuple(_defined(statement))
        for name in defined:
            definitions[name] = (*definitions.get(name, ()), made)
        if not defined or not isinstance(statement, (*FUNCTIONS, ast.ClassDef, *ASSIGNMENTS)):
            effects.append(made)
    return Source(definitions, imports, tuple(effects), hashlib.sha256(content).hexdigest())


def _defined(statement: ast.stmt) -> Iterable[str]:
    """Yield the names that a statement of a module defines, in whatever branch of it."""
    if isinstance(statement, (*FUNCTIONS, ast.ClassDef)):
        yield statement.name
        return
    for node in ast.walk(statement):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id
        elif isinstance(node, (*FUNCTIONS, ast.ClassDef)):
            yield node.name


def _imports(tree: ast.Module, package: str) -> dict[str, tuple[Target, ...]]:
    found: dict[str, tuple[Target, ...]] = {}
    todo: list[ast.AST] = [tree]
    while todo:
        node = todo.pop()
        if _for_type_checkers(node):
            continue
        todo += ast.iter_child_nodes(node)
        for name, target in _imported(node, package):
            found[name] = (*found.get(name, ()), target)
    return found


def _imported(node: ast.AST, package: str) -> Iterable[tuple[str, Target]]:
    """Yield what an import statement binds: local name and what it stands for."""
    if isinstance(node, ast.Import):
        for alias in node.names:
            first = alias.name.partition(".")[0]
            if alias.asname or first == alias.name:
                yield alias.asname or first, Target(alias.name)
            else:  # `import a.b` binds `a`: what is used of `a.b` is not followed
                yield first, Target(alias.name, EVERYTHING)
    elif isinstance(node, ast.ImportFrom):
        above = package.split(".")[: len(package.split(".")) - node.level + 1]
        start = ".".join(above) if node.level else ""
        module = ".".join(part for part in (start, node.module) if part)
        for alias in node.names:
            yield alias.asname or alias.name, Target(module, alias.name)


def _for_type_checkers(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def _without_docstring(body: list[ast.stmt]) -> list[ast.stmt]:
    first = body[0] if body else None
    if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant):
        return body[1:]
    return body


def _definition(statement: ast.stmt, imports: Mapping[str, tuple[Target, ...]]) -> Definition:
    said: list[str] = []
    names: set[str] = set()
    texts: set[str] = set()
    _collect(statement, said, names, texts)
    for first in sorted({name.partition(".")[0] for name in names} & imports.keys()):
        said += [f"{first} is {target}" for target in imports[first]]
    digest = hashlib.sha256("\0".join(said).encode("utf-8", "surrogatepass")).hexdigest()
    return Definition(digest, frozenset(names), frozenset(texts))


def _collect(node: object, said: list[str], names: set[str], texts: set[str]) -> None:
    """Add what a node says, in order, and the names and strings in it."""
    if isinstance(node, list):
        said.append("[")
        for item in node:
            _collect(item, said, names, texts)
        said.append("]")
    elif not isinstance(node, ast.AST):
        said.append(repr(node))
    elif not isinstance(node, NO_CODE) and not _for_type_checkers(node):
        said.append(type(node).__name__)
        names |= _names(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.add(node.value)
        for field, value in _fields(node):
            said.append(field)
            _collect(value, said, names, texts)


def _names(node: ast.AST) -> set[str]:
    """Return the name that a node is, or the module that it imports by name."""
    if isinstance(node, ast.Name):
        return {node.id}
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        return {f"{node.value.id}.{node.attr}"}
    if module := _imported_by_text(node):
        return {f"{BY_TEXT}{module}"}
    return set()


def _fields(node: ast.AST) -> Iterable[tuple[str, object]]:
    """Yield the fields of a node that can reach a result."""
    called = _only_said(node)
    if called is not None:
        yield "called", called
    elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield "attribute", f"{node.value.id}.{node.attr}"  # its first name alone is not used
    else:
        function = isinstance(node, (*FUNCTIONS, ast.arg))
        for field, value in ast.iter_fields(node):
            if field == "body" and isinstance(node, (*FUNCTIONS, ast.ClassDef)):
                yield field, _without_docstring(value)
            elif not (function and field in NOT_RUN):
                yield field, value


def _only_said(node: ast.AST) -> ast.expr | None:
    """Return what is called where a node only says something to people (an error, a warning, a
    message), else None.
    """
    if isinstance(node, ast.Raise) and isinstance(node.exc, ast.Call):
        return node.exc.func
    if not isinstance(node, ast.Call):
        return None
    name = _last_name(node.func)
    if name in SAYS or name.endswith(SAID):
        return node.func
    return None


def _last_name(called: ast.expr) -> str:
    if isinstance(called, ast.Name):
        return called.id
    if isinstance(called, ast.Attribute):
        return called.attr
    return ""


def _imported_by_text(node: ast.AST) -> str:
    """Return the module of `import_module("library.module")`; empty for all else."""
    if isinstance(node, ast.Call) and _last_name(node.func) == "import_module" and node.args:
        first = node.args[0]
        if isinstance(first, ast.Constant):
            return str(first.value)
    return ""
