"""What `forget` did, as a statement to keep: JSON with a checksum over itself."""

from __future__ import annotations

import hashlib
import json
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path

from taamctl.bank.forget import Forgot
from taamctl.core.json_kinds import FORGOTTEN
from taamctl.core.plain_values import Plain
from taamctl.runtime import provenance

EXACT = (
    "the sums are whole numbers: those of a bank that never saw the nodes, but for the rounding of "
    "single profiles to 2^-20; logits of the regression differ from that bank's by less than 1e-5"
)
NOT_REACHED = (
    "files that taamctl bank export wrote, and copies of the folder",
    "answers that were given before, and the graphs that the nodes came from",
    "blocks of the disk that the deleted files lay on",
)


def statement(folder: Path, done: Forgot) -> dict[str, Plain]:
    """Return the statement, JSON-ready. It holds no name of a node.

    The nodes' count, tasks and deleted files are as they were; `sha256` is the checksum of all the
    rest, with sorted keys.
    """
    said: dict[str, Plain] = {
        **FORGOTTEN.stamp,
        "what": "taamctl bank forget",
        "bank": folder.name,
        "at": datetime.now(UTC).isoformat(timespec="seconds"),
        "nodes": done.nodes,
        "generation_before": done.before.generation,
        "manifest_before": done.before.digest,
        "generation": done.after.generation,
        "manifest": done.after.digest,
        "tasks": [asdict(task) for task in done.tasks],
        "deleted": done.deleted,
        "exact": EXACT,
        "not_reached": list(NOT_REACHED),
        "versions": dict(provenance.versions()),
    }
    return {**said, "sha256": checksum(said)}


def checksum(said: dict[str, Plain]) -> str:
    """Return the checksum of a statement without its own."""
    plain = {key: value for key, value in said.items() if key != "sha256"}
    return hashlib.sha256(json.dumps(plain, sort_keys=True).encode()).hexdigest()
