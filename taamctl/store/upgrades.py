"""The page's table of all kinds of files and their versions."""

from __future__ import annotations

from collections.abc import Iterator

from taamctl.core import json_kinds
from taamctl.store import schema


def table() -> str:
    """Return all kinds of files with their versions as Markdown, for docs/formats.md."""
    return "\n".join(_rows())


def _rows() -> Iterator[str]:
    yield "| kind | version | earliest that is read | stated as | what it is |"
    yield "|---|---|---|---|---|"
    for name, kind in schema.KINDS.items():
        earliest = kind.versions.earliest
        yield f"| `{name}` | {kind.version} | {earliest} | `schema_version` | {kind.doc} |"
    for of in json_kinds.ALL:
        found = of.versions
        doc = f"{of.doc}: `{of.file}`"
        yield f"| `{found.kind}` | {found.present} | {found.earliest} | `{of.key}` | {doc} |"
