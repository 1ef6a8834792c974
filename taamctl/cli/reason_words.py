"""Why an artefact is not up to date, in words for people; `--json` has the values themselves."""

from __future__ import annotations

from collections.abc import Sequence

OTHER_FILE = " is another file"
CODE = "code of "
LONGEST = 90  # letters of a reason that are worth reading
REPORT = {  # what a report depends on besides numbers
    "seconds": "the running times are others",
    "made": "the runs, or when they were made, are others",
    "usual": "the packaged parameters are others",
    "left_out": "other runs are left out",
}


def told(stage: str, reasons: Sequence[str]) -> list[str]:
    """Return the reasons in words, those of files as one."""
    files = [reason for reason in reasons if reason.endswith(OTHER_FILE)]
    others = [_told(stage, reason) for reason in reasons if not reason.endswith(OTHER_FILE)]
    if len(files) > 1:
        files = [f"{len(files)} files are others, such as {files[0].removesuffix(OTHER_FILE)}"]
    return [*files, *others]


def _told(stage: str, reason: str) -> str:
    name = reason.partition(" ")[0]
    if stage == "report" and name in REPORT and " -> " in reason:
        return REPORT[name]
    if reason.startswith(CODE):
        first, *more = reason.replace(" and ", ", ").split(", ")
        return first + " and of other modules" * bool(more)
    if len(reason) > LONGEST:
        return f"{name} is another" if " -> " in reason else f"{reason[:LONGEST]}..."
    return reason
