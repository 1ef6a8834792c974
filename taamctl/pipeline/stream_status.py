"""The replays in time that lie in an outputs folder: done, or interrupted. `taamctl run` neither
makes nor needs one.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from taamctl.pipeline.status import Line
from taamctl.runtime import provenance
from taamctl.runtime.artefact_key import altered
from taamctl.runtime.layout import Layout

STAGE = "stream"


def lines(root: Path) -> list[Line]:
    """Return the state of every replay below an outputs folder, sorted: `done`; `interrupted`,
    where the same command goes on after the last kept snapshot; or `damaged`. What `taamctl run`
    would do is to `leave` it.
    """
    return list(_lines(Layout(root)))


def _lines(layout: Layout) -> Iterator[Line]:
    for folder in sorted((layout.root / STAGE).glob("*/*/seed-*")):
        dataset, method, seed = folder.parts[-3:]
        number = seed.removeprefix("seed-")
        if not number.isdecimal():
            continue
        which = (STAGE, dataset, method, int(number))
        main = layout.file(*which)
        kept = sorted((folder / "unfinished").glob("*.h5"))
        if kept:
            after = int(kept[-1].stem.rpartition("-")[2]) + 1
            why = f"kept after snapshot {after}: the same taamctl stream goes on from there"
            yield Line(*which, "interrupted", [why], "leave", str(main))
        elif main.is_file() and (wrong := _faults(main)):
            yield Line(*which, "damaged", wrong, "leave", str(main))
        elif main.is_file():
            yield Line(*which, "done", [], "leave", str(main))


def _faults(main: Path) -> list[str]:
    record = provenance.recorded(main)
    if record is None:
        return ["there is no record of how it was made"]
    return altered(record, (main,))
