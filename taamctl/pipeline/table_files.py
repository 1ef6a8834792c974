"""The files of a table of `taamctl reproduce`: one JSON, and beside it the same for readers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from taamctl.core.json_kinds import REPRODUCED
from taamctl.report import published
from taamctl.runtime import provenance
from taamctl.store import atomic_files


def write(
    folder: Path,
    target: str,
    command: str,
    rows: Sequence[Mapping[str, object]],
    conditions: Sequence[str],
    texts: Mapping[str, str],
) -> Path:
    """Write a table as JSON and as other texts, and return the JSON's path.

    Args:
        target: name of the table, and of its files. command: what makes it again.
        rows: its lines. conditions: what has to be known to read them.
        texts: ending of a file -> what it holds, such as `.md`.
    """
    path = folder / f"{target}.json"
    made = {
        **REPRODUCED.stamp,
        "target": target,
        "title": published.title(target),
        "command": command,
        "versions": provenance.versions(),
        "rows": list(rows),
        "conditions": list(conditions),
    }
    atomic_files.write_json(path, made)
    for ending, text in texts.items():
        atomic_files.write_text(path.with_suffix(ending), text)
    return path
