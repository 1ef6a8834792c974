"""The pages below `taamctl/docs`: what there is, one by its name, and those that speak of a word.

A page is a Markdown file. Its first line says in a comment what kind it is: `<!-- how-to -->`, or
with its place among them: `<!-- tutorial 1 -->`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from taamctl.core.errors import TaamctlError

FOLDER = Path(__file__).resolve().parents[1] / "docs"
# The kinds, in the order in which they are listed, with what each is for.
KINDS = {
    "tutorial": "to follow from top to bottom",
    "how-to": "one job each",
    "reference": "to look things up",
    "explanation": "why it is as it is",
    "project": "taamctl itself",
}
KIND = re.compile(r"<!-- ([a-z-]+)(?: (\d))? -->")
LAST = "9"  # place of a page that does not say one
LINK = re.compile(r"\[([^\]\[]+)\]\(([\w-]+)\.md(?:#[\w-]+)?\)")  # to another page
COMMENT = re.compile(r"^<!-- .* -->\n", flags=re.MULTILINE)
SHOWN = 100  # characters of a line that is found


@dataclass(frozen=True)
class Page:
    """One page.

    Attributes:
        name: as `taamctl docs NAME` takes it: the file's name in lower case.
        kind: one of `KINDS`; what says nothing is an explanation.
        place: among those of its kind; of one place, the title decides.
        title: its first heading.
        text: the Markdown, without the line of the kind.
        file: where it lies.
    """

    name: str
    kind: str
    place: str
    title: str
    text: str
    file: Path


@dataclass(frozen=True)
class Hit:
    """A section of a page in which all words of a search occur.

    Attributes:
        page: the page's name.
        heading: of the section.
        line: the first line in which one of the words occurs.
    """

    page: str
    heading: str
    line: str


@cache
def pages() -> tuple[Page, ...]:
    """Return all pages, by kind and then by title."""
    found = [_read(file) for file in sorted(FOLDER.glob("*.md"))]
    order = list(KINDS)
    return tuple(
        sorted(found, key=lambda page: (order.index(page.kind), page.place, page.title.lower()))
    )


def _read(file: Path) -> Page:
    text = file.read_text(encoding="utf-8")
    first, _, rest = text.partition("\n")
    said = KIND.fullmatch(first.strip())
    kind, place = "explanation", LAST
    if said and said[1] in KINDS:
        kind, place, text = said[1], said[2] or LAST, rest.lstrip("\n")
    heading = re.search(r"^# (.+)$", text, flags=re.MULTILINE)
    title = file.stem
    if heading:
        title = heading[1]
    return Page(file.stem.lower(), kind, place, title, text, file)


def page(name: str) -> Page:
    """Return a page by its name, in any case, with or without `.md`.

    Raises:
        TaamctlError: there is none; the hint names the nearest.
    """
    wanted = name.lower().removesuffix(".md")
    known = {each.name: each for each in pages()}
    if wanted in known:
        return known[wanted]
    near = difflib.get_close_matches(wanted, known, n=1)
    hint = "taamctl docs lists the pages; taamctl docs --search WORD looks inside"
    raise TaamctlError(
        f"no page called {name[:60]!r}", f"did you mean {near[0]}? {hint}" if near else hint
    )


def for_terminal(text: str) -> str:
    """Return a page's text with the command that shows a page in place of every link to one."""
    text = LINK.sub(lambda found: f"{found[1]} (`taamctl docs {found[2].lower()}`)", text)
    return COMMENT.sub("", text)


def search(words: str) -> list[Hit]:
    """Return the sections in which all words occur, in any case: those first that have them in
    their heading.
    """
    wanted = [word for word in words.lower().split() if word]
    found: list[tuple[int, Hit]] = []
    for each in pages():
        for heading, body in _sections(each.text):
            text = f"{heading}\n{body}".lower()
            if wanted and all(word in text for word in wanted):
                missed = sum(word not in heading.lower() for word in wanted)
                found.append((missed, Hit(each.name, heading, _line(body, wanted))))
    return [hit for _, hit in sorted(found, key=lambda pair: pair[0])]


def _sections(text: str) -> Iterator[tuple[str, str]]:
    """Yield every heading with what stands below it; `#` in a block of code is no heading."""
    heading, in_code = "", False
    lines: list[str] = []
    for line in text.splitlines():
        in_code ^= line.startswith("```")
        if line.startswith("#") and not in_code:
            yield heading, "\n".join(lines)
            heading, lines = line.lstrip("# "), []
        else:
            lines.append(line)
    yield heading, "\n".join(lines)


def _line(body: str, wanted: list[str]) -> str:
    """Return the first line with one of the words, cut around it."""
    for line in body.splitlines():
        at = min((p for p in map(line.lower().find, wanted) if p >= 0), default=-1)
        if at >= 0:
            start = max(0, at - SHOWN // 2)
            return "... " * (start > 0) + line[start : start + SHOWN].strip()
    return ""
