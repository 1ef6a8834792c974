"""Write a method to start from: a package of three files that can be installed, run and tested
as it is.
"""

from __future__ import annotations

import importlib.util
import keyword
import string
from pathlib import Path

from taamctl.core import registry
from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.params.plugin_params import EVERY

PACKAGE = "taamctl.methods"
TEMPLATES = Path(__file__).resolve().parent / "templates"
FILES = {
    "pyproject.toml": "pyproject.toml.txt",
    "{name}.py": "method.py.txt",
    "test_{name}.py": "test_method.py.txt",
}


def write(name: str, folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the package of a new method `name` into `folder`, all of its files or none; return
    their paths.

    Raises:
        TaamctlError: the name cannot be a method's or is taken, a file is there already, or the
            folder cannot be written.
    """
    paths = {folder / pattern.format(name=name): template for pattern, template in FILES.items()}
    check_name(name, folder / f"{name}.py")
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise TaamctlError(
            f"{', '.join(map(str, there))}: there already",
            "name another folder with --into, or pass --force to overwrite",
        )
    title = name.replace("_", " ").capitalize()
    texts = {
        path: string.Template((TEMPLATES / template).read_text(encoding="utf-8")).substitute(
            name=name, title=title, distribution=f"taamctl-{name.replace('_', '-').strip('-')}"
        )
        for path, template in paths.items()
    }
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, text in texts.items():
            path.write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise explain_os_error(error, error.filename or folder) from None
    return list(texts)


def check_name(name: str, target: Path) -> None:
    """Refuse a name that a method cannot have.

    Args:
        target: the file that the module will be; one that is there is no clash with itself.

    Raises:
        TaamctlError: the name is no lower-case identifier, or it is taken by a method or an
            importable module.
    """
    if not registry.NAME.fullmatch(name) or keyword.iskeyword(name):
        raise TaamctlError(
            f"{name!r} cannot be a method's name",
            "take lower-case letters, digits and _, a letter first, and no Python keyword: "
            "my_method",
        )
    if name == EVERY:
        raise TaamctlError(
            f"{name!r} cannot be a method's name: it stands for every method", "take another name"
        )
    if name in registry.names(PACKAGE):
        raise TaamctlError(
            f"there is a method {name!r} already, from {registry.origin(PACKAGE, name)}",
            "take another name; taamctl methods list shows those that are taken",
        )
    found = importlib.util.find_spec(name)
    if (
        found is not None
        and found.origin is not None
        and Path(found.origin).resolve() != target.resolve()
    ):
        raise TaamctlError(
            f"there is a Python module {name!r} already ({found.origin}), and the method's module "
            "would hide it",
            "take another name",
        )
