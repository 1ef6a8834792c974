"""Where things lie inside an artefact, and below the outputs folder beside the artefacts."""

from __future__ import annotations

CHECKPOINTS = ".checkpoints"  # folder of unfinished training runs


def group(task: int, part: str) -> str:
    """Return the folder of a (task, part) inside an artefact."""
    return f"tasks/{task:02d}/{part}"
