"""`taamctl docs`."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

from typer import Argument, Option

from taamctl.cli.console import Column, print_table, say, sheet
from taamctl.cli.name_completion import pages
from taamctl.cli.shared_options import AsJson
from taamctl.core.errors import TaamctlError

if TYPE_CHECKING:
    from taamctl.manual.pages import Hit, Page


def command(
    name: Annotated[
        str | None,
        Argument(metavar="[PAGE]", help="A page, as the list names it.", autocompletion=pages),
    ] = None,
    search: Annotated[
        str | None, Option("--search", help="Find the sections that have these words.")
    ] = None,
    renew: Annotated[
        bool,
        Option("--renew", help="In a checkout: write the generated parts of the pages anew."),
    ] = False,
    as_json: AsJson = False,
) -> None:
    """List the pages that come with taamctl, show one, or search in all of them."""
    from taamctl.manual import pages as manual

    if renew:
        write_generated()
    elif search is not None:
        _show_hits(manual.search(search), search, as_json=as_json)
    elif name is not None:
        _show_page(manual.page(name), as_json=as_json)
    else:
        _show_list(manual.pages(), as_json=as_json)


def write_generated() -> None:
    """Write the generated parts of all pages, and say which files changed."""
    from taamctl.cli import verbs_page
    from taamctl.manual.generated import BLOCKS, renewed
    from taamctl.manual.pages import FOLDER
    from taamctl.store.atomic_files import write_text

    blocks = {**BLOCKS, "verbs": verbs_page.markdown}
    for file in sorted(FOLDER.glob("*.md")):
        before = file.read_text(encoding="utf-8")
        after = renewed(before, blocks)
        if after != before:
            write_text(file, after)
            say(f"wrote {file}")


def _show_list(pages: tuple[Page, ...], *, as_json: bool) -> None:
    if as_json:
        rows = [{"name": p.name, "kind": p.kind, "title": p.title} for p in pages]
        print(json.dumps(rows, indent=1))
        return
    columns = [Column("page"), Column("kind"), Column("what it is about", wrap=True)]
    print_table(columns, [(page.name, page.kind, page.title) for page in pages])
    say("taamctl docs PAGE shows one; taamctl docs --search WORD looks inside")


def _show_page(page: Page, *, as_json: bool) -> None:
    if as_json:
        facts = {"name": page.name, "kind": page.kind, "title": page.title, "text": page.text}
        print(json.dumps(facts, indent=1))
        return
    out = sheet()
    if not out.is_terminal:
        print(page.text, end="")
        return
    from rich.markdown import Markdown

    from taamctl.manual.pages import for_terminal

    out.print(Markdown(for_terminal(page.text)))


def _show_hits(hits: list[Hit], words: str, *, as_json: bool) -> None:
    if as_json:
        print(json.dumps([asdict(hit) for hit in hits], indent=1))
        return
    if not hits:
        raise TaamctlError(f"no page has {words[:60]!r}", "try one word, or taamctl explain WORD")
    columns = [Column("page"), Column("section", wrap=True), Column("line", wrap=True)]
    print_table(columns, [(hit.page, hit.heading, hit.line) for hit in hits])
