"""What a report of a bug needs to know of an installation, as Markdown: no name and no path of the
user is in it.
"""

from __future__ import annotations

import getpass
import platform
import re
from collections.abc import Mapping
from pathlib import Path

from taamctl.cli.versions_text import lines

PATHS = re.compile(r"(?<![\w.])(?:[A-Za-z]:[\\/]|/)[^\s'\",;:()]*[\\/][^\s'\",;:()]*")
PARAMETERS = Path("params.yaml")


def text(facts: Mapping[str, object]) -> str:
    """Return the report.

    Args:
        facts: `versions`, `device`, `threads`, `backends`, each by name, and `clashes`.
    """
    parts = ["```text", *lines(), _machine(), ""]
    for section in ("device", "backends", "threads"):
        values = facts[section]
        assert isinstance(values, Mapping)
        parts += [f"{section}: " + ", ".join(f"{name} {value}" for name, value in values.items())]
    clashes = facts["clashes"]
    assert isinstance(clashes, list)
    parts += [f"clash: {clash['what']}" for clash in clashes] or ["no clash found"]
    parts += [_plugins(), _parameters(), "```"]
    return without_names("\n".join(parts))


def _machine() -> str:
    import psutil

    from taamctl.core.units import format_bytes

    memory = format_bytes(psutil.virtual_memory().total)
    cores = psutil.cpu_count()
    system = f"{platform.system()} {platform.release()}, {platform.machine()}"
    return f"{system}, {cores} cores, {memory} of memory"


def _plugins() -> str:
    from taamctl.core import registry

    found = [
        f"{name} ({registry.origin(kind, name)})"
        for kind in ("taamctl.methods", "taamctl.datasets")
        for name in registry.offers(kind)
    ]
    return f"plug-ins: {', '.join(found) or 'none'}"


def _parameters() -> str:
    """Return in what the params.yaml of this folder differs from the packaged one."""
    from taamctl.core.errors import TaamctlError
    from taamctl.params.params_file import PACKAGED, read

    if not PARAMETERS.is_file():
        return "parameters: the packaged ones"
    try:
        here, usual = _leaves(read(PARAMETERS)), _leaves(read(PACKAGED))
    except TaamctlError as error:
        return f"parameters: {error.message}"
    changed = [f"{key}={value}" for key, value in here.items() if usual.get(key) != value]
    changed = [each for each in changed if not each.startswith(("run.", "datasets."))]
    return f"parameters: {', '.join(changed) or 'as packaged, but for the run section'}"


def _leaves(tree: object, above: str = "") -> dict[str, object]:
    if not isinstance(tree, Mapping) or not tree:
        return {above.removesuffix("."): tree}
    found: dict[str, object] = {}
    for key, value in tree.items():
        found |= _leaves(value, f"{above}{key}.")
    return found


def without_names(said: str) -> str:
    """Return a text without paths, and without the names of user and machine."""
    said = PATHS.sub("PATH", said)
    for name in (_user(), platform.node()):
        if len(name) > 1:
            said = re.sub(rf"\b{re.escape(name)}\b", "NAME", said)
    return said


def _user() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):  # nobody says who it is
        return ""
