"""Where things lie inside an artefact."""

from __future__ import annotations


def group(task: int, part: str) -> str:
    """Return the folder of a (task, part) inside an artefact."""
    return f"tasks/{task:02d}/{part}"
