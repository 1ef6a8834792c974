"""`taamctl explain`."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

from typer import Argument

from taamctl.cli.console import sheet
from taamctl.cli.shared_options import AsJson
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.manual.topics import Topic

WHOLE = 4  # topics that are told in full; of more, the names


def command(
    word: Annotated[
        list[str],
        Argument(
            metavar="WORD...",
            help="A term, a column of a table, a method, a data set, a parameter, an option, a "
            "verb, an array of an artefact, or the text of an error.",
            show_default=False,
        ),
    ],
    as_json: AsJson = False,
) -> None:
    """Explain a word of the field or of taamctl, from the same source as the pages of `taamctl
    docs`.
    """
    from taamctl.manual import topics

    wanted = " ".join(word)
    known = _known()
    found = topics.matching(known, wanted) or topics.of_message(wanted)
    if not found:
        near = topics.nearest(known, wanted)
        hint = f"taamctl docs --search {wanted[:40]!r} looks in the pages"
        if near:
            hint = f"did you mean {', '.join(near)}? {hint}"
        raise TaamctlError(f"nothing is known of {wanted[:60]!r}", hint)
    if as_json:
        print(json.dumps([_plain(topic) for topic in found], indent=1))
        return
    for topic in found[:WHOLE]:
        _show(topic)
    if len(found) > WHOLE:
        rest = ", ".join(topic.names[0] for topic in found[WHOLE:])
        sheet().print(f"also: {rest}", soft_wrap=True)


def _known() -> list[Topic]:
    from taamctl.cli import verbs_page
    from taamctl.manual import topics

    return [*topics.built_in(), *verbs_page.topics()]


def _show(topic: Topic) -> None:
    out = sheet()
    out.print(f"{', '.join(dict.fromkeys(topic.names))} ({topic.kind})", style="bold")
    out.print(topic.tell(), soft_wrap=not out.is_terminal)
    out.print(f"more: {topic.more}\n", style="dim")


def _plain(topic: Topic) -> dict[str, object]:
    return {"names": topic.names, "kind": topic.kind, "text": topic.tell(), "more": topic.more}
