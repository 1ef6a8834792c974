"""Names of nodes from a file: one per line."""

from __future__ import annotations

from pathlib import Path

from taamctl.core.errors import TaamctlError


def node_list(path: Path) -> list[str]:
    """Return the names in a file of UTF-8 text, blank lines left out.

    Raises:
        TaamctlError: no such file, or no text.
    """
    hint = "write one name of a node per line, as UTF-8 text"
    if not path.is_file():
        raise TaamctlError(f"no file {path}", hint)
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError:
        raise TaamctlError(f"{path} is no UTF-8 text", hint) from None
    names = [line.strip() for line in text.splitlines()]
    return [name for name in names if name]
