"""report.json as what the terminal and Python show of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from taamctl.core.json_kinds import REPORT
from taamctl.report.leading import Leading
from taamctl.report.report_rows import SeedsRow
from taamctl.store import atomic_files


@dataclass(frozen=True)
class ReportFile:
    """What a report.json says.

    Attributes:
        rows: over seeds, all in one logit scope; of a report from before that was so, each in its
            method's own. mixed: methods on one mixed graph.
    """

    rows: list[SeedsRow]
    mixed: list[Leading] = field(default_factory=list)


def read_report(path: Path) -> ReportFile:
    """Return what a report.json says.

    Raises:
        TaamctlError: missing, or no report that can be read.
    """
    made = REPORT.read(atomic_files.read_json(path, "taamctl report"), str(path))
    try:
        return ReportFile(
            msgspec.convert(made.get("compared", made.get("rows")), list[SeedsRow]),
            msgspec.convert(made.get("mixed", []), list[Leading]),
        )
    except msgspec.ValidationError:
        raise REPORT.unreadable(str(path)) from None
