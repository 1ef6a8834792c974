"""Every artefact kind in one table: for files of whatever kind, `taamctl inspect`, and the pages
`artefacts` and `formats`.

A stage names the kinds that it reads and writes, and no other: so this table is in no key
(`runtime/reached_code`).
"""

from __future__ import annotations

from taamctl.store import bank_kinds
from taamctl.store.graph_kind import GRAPH
from taamctl.store.infer_kind import INFER
from taamctl.store.precompute_kind import PRECOMPUTE
from taamctl.store.schema_entries import Entry, Kind
from taamctl.store.split_kind import SPLIT
from taamctl.store.stream_kind import STREAM
from taamctl.store.train_kind import CHECKPOINT, TRAIN

_STAGES = (GRAPH, SPLIT, PRECOMPUTE, TRAIN, CHECKPOINT, INFER, STREAM)
_BANK = (bank_kinds.BANK_SHARED, bank_kinds.BANK_ROUTER, bank_kinds.BANK_TASK)
KINDS: dict[str, Kind] = {kind.name: kind for kind in (*_STAGES, *_BANK)}


def markdown() -> str:
    """Return the table of kinds as Markdown: for docs/artefacts.md."""
    lines = []
    for name, kind in KINDS.items():
        further = ", and arrays of the method's own" if kind.open_entries else ""
        lines += [
            f"**{name}** (version {kind.version}): {kind.doc}{further}",
            "",
            "| array | dtype | dimensions | meaning |",
            "|---|---|---|---|",
        ]
        for path, entry in kind.entries.items():
            where = path.replace("{task}", "<task>").replace("{part}", "<part>")
            dims = " x ".join(entry.dims)
            lines.append(f"| `{where}` | {entry.dtype} | {dims} | {entry.doc}{_remark(entry)} |")
        lines.append("")
    return "\n".join(lines).rstrip()


def _remark(entry: Entry) -> str:
    """Return in brackets what is special about an array; empty where nothing is."""
    words = []
    if entry.optional:
        words.append("optional")
    if entry.since > 1:
        words.append(f"since version {entry.since}")
    return f" ({', '.join(words)})" if words else ""
