"""`taamctl clean`."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

from taamctl.cli import reason_words
from taamctl.cli.clean_wishes import Wishes
from taamctl.cli.common import make_context
from taamctl.cli.console import Column, print_table, say
from taamctl.cli.shared_options import AsJson, Grid, RawSettings, Writing
from taamctl.core.errors import TaamctlError
from taamctl.core.units import format_bytes

if TYPE_CHECKING:
    from pathlib import Path

    from taamctl.pipeline.remains import Remain


def command(*, wishes: Wishes, settings: RawSettings, as_json: AsJson = False) -> None:
    """Show what is stale, of another place or left behind in the outputs folder, and remove it
    with --yes or when you say so.

    Stale is what `taamctl run` would make anew with any parameters, for the data sets, methods and
    seeds that lie there. What other parameters than those here made, such as --set train.lr=0.01,
    stays, and so do data, banks, files that taamctl did not write and what another process writes.
    """
    found = _found(settings, wishes)
    if as_json:
        gone = found
        if wishes.yes:
            gone = _removed(found, settings.outputs)
        print(json.dumps([_plain(remain) for remain in gone], indent=1))
        return
    _show(found)
    if found and (wishes.yes or _agreed(found)):
        _removed(found, settings.outputs)


def _removed(found: list[Remain], root: Path) -> list[Remain]:
    """Remove what may go, say what stays and why, and return what is gone."""
    from taamctl.pipeline.remove_remains import remove

    gone = []
    for remain in found:
        why = remove(remain, root)
        if why:
            say(f"kept {remain.main}: {why}")
        else:
            gone.append(remain)
    say(f"removed {_count(gone)}")
    return gone


def _found(settings: RawSettings, wishes: Wishes) -> list[Remain]:
    """Return what may go, each thing once."""
    from taamctl.pipeline import remains

    root = settings.outputs
    if not root.is_dir():
        raise TaamctlError(f"no folder {root}", "name the outputs folder with --outputs")
    if (root / "manifest.json").is_file():
        raise TaamctlError(f"{root} is a bank", "taamctl bank remove forgets a task of it")
    found = [*remains.left_behind(root), *remains.foreign(root)]
    found += remains.outdated(root)
    for dataset, methods, seeds in remains.held(root):
        grid = Grid([dataset], methods or None, seeds or None)
        try:
            context = make_context(grid, settings, Writing(quiet=True), check_methods=True)
            found += remains.stale(context)
        except TaamctlError as error:
            say(f"note: {dataset} was not judged: {error.message}")
    if not wishes.other_settings:
        found = _own_settings(found)
    if wishes.unfinished:
        found += remains.unfinished(root)
    if wishes.unknown:
        found += remains.unknown(root)
    return list({remain.main: remain for remain in reversed(found)}.values())[::-1]


def _own_settings(found: list[Remain]) -> list[Remain]:
    """Leave out what other parameters made, and say so."""
    others = [remain for remain in found if remain.kind == "other settings"]
    if others:
        say(
            f"note: {_count(others)} of other settings stay ({others[0].why}); to look at them: "
            "taamctl clean --other-settings"
        )
    return [remain for remain in found if remain.kind != "other settings"]


def _show(found: list[Remain]) -> None:
    rows = []
    for remain in found:
        why = "; ".join(reason_words.told("", remain.why.split("; ")))
        rows.append((str(remain.main), remain.kind, format_bytes(remain.size), why))
    columns = [Column("file"), Column("is"), Column("size", right=True), Column("why", wrap=True)]
    if rows:
        print_table(columns, rows)
    say(f"found {_count(found)}" if found else "nothing to remove")


def _count(found: list[Remain]) -> str:
    files = sum(len(remain.files) for remain in found)
    return f"{files} files, {format_bytes(sum(remain.size for remain in found))}"


def _agreed(found: list[Remain]) -> bool:
    """Ask on a terminal; elsewhere say how to go on."""
    if not (sys.stdin and sys.stdin.isatty() and sys.stderr.isatty()):
        say("nothing was removed; --yes removes it")
        return False
    say(f"remove {_count(found)}? yes or no")
    return sys.stdin.readline().strip().lower() in ("y", "yes")


def _plain(remain: Remain) -> dict[str, object]:
    files = [str(path) for path, _ in remain.files]
    return {"kind": remain.kind, "files": files, "bytes": remain.size, "why": remain.why}
