"""The pages: their links, their generated parts, and that each can be found and shown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from taamctl.cli import verbs_page
from taamctl.manual import generated, pages, topics

ROOT = Path(__file__).resolve().parents[2]
FILES = [ROOT / "README.md", *sorted(pages.FOLDER.glob("*.md"))]
LINK = re.compile(r"(?<!`)\[[^\]\[]+\]\(([^)\s]+)\)")
BLOCKS = {**generated.BLOCKS, "verbs": verbs_page.markdown}


def anchor(heading: str) -> str:
    """Return what a code host makes of a heading."""
    return re.sub(r"[^\w\- ]", "", heading.lower()).strip().replace(" ", "-")


def prose(file: Path) -> str:
    """Return a page without its blocks of code."""
    return re.sub(r"^```.*?^```", "", file.read_text("utf-8"), flags=re.DOTALL | re.MULTILINE)


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_links_lead_somewhere(file: Path) -> None:
    for link in LINK.findall(prose(file)):
        if link.startswith(("http://", "https://")):
            continue
        path, _, part = link.partition("#")
        target = (file.parent / path).resolve() if path else file
        assert target.is_file(), link
        if part:
            headings = re.findall(r"^#+ (.+)$", prose(target), flags=re.MULTILINE)
            assert part in map(anchor, headings), link


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.name)
def test_generated_parts_are_as_the_code_has_them(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert generated.renewed(text, BLOCKS) == text, "write them again: taamctl docs --renew"


def test_every_page_says_its_kind_and_is_linked_from_the_readme_or_the_index() -> None:
    linked = (ROOT / "README.md").read_text("utf-8") + (pages.FOLDER / "index.md").read_text(
        "utf-8"
    )
    for page in pages.pages():
        assert pages.KIND.fullmatch(page.file.read_text("utf-8").splitlines()[0]), page.name
        assert f"{page.file.name})" in linked
    assert {page.kind for page in pages.pages()} == set(pages.KINDS)


def test_every_generated_block_is_used() -> None:
    used = {m["name"] for file in FILES for m in generated.BLOCK.finditer(file.read_text("utf-8"))}
    assert used == set(BLOCKS)


def test_every_message_of_the_page_on_errors_is_said_by_the_code() -> None:
    """A literal part of each must stand in the source."""
    sources = [*(ROOT / "taamctl").rglob("*.py"), *(ROOT / "stages").glob("*.py")]
    # f"...{x}..." and strings that are continued on the next line count as one text
    text = re.sub(r'"\s*f?"', "", "\n".join(p.read_text("utf-8") for p in sources))
    text = re.sub(r"\{[^{}]*\}", "...", text)
    for topic in topics.errors():
        for part in filter(None, (p.strip() for p in topic.names[0].split("..."))):
            # the kind of a plug-in is filled in
            plain = re.sub(r"^no (data set|method) called", "no ... called", part)
            assert plain in text, part
