"""The pages: their links, their generated parts, and that each can be found and shown."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest
import yaml

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


def test_the_citation_is_of_this_version() -> None:
    cited = yaml.safe_load((pages.FOLDER / "CITATION.cff").read_text("utf-8"))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert (cited["version"], cited["license"]) == (project["version"], project["license"])
    assert f"## {project['version']}" in pages.page("changelog").text


# What a newcomer asked: the question, the words that are searched for, the page that answers.
QUESTIONS = [
    ("How do I start?", "first run", "first-run"),
    ("How do I bring my own graph in?", "data import", "own-graph"),
    ("From my two tables to predictions?", "two tables", "first-own-graph"),
    ("Which method should I use when one graph holds everything?", "which method", "mixed-nodes"),
    ("What happens to a new class?", "new classes", "growing-model"),
    ("How do I teach a model a new class?", "add-task", "growing-model"),
    ("What of a node that belongs to no class?", "unknown node class", "growing-model"),
    ("How sure is an answer?", "how sure answer", "honest-answers"),
    ("Where do the features lie, and how do I read them?", "features pandas", "features-in-pandas"),
    ("How do I get the test predictions as a table?", "predictions table", "predictions-table"),
    ("How good is each class?", "recall of every class", "predictions-table"),
    ("I have texts. How do they become features?", "text to features", "text-to-features"),
    ("Can dates give the order of the classes?", "class_order time", "parameters"),
    ("How many seeds do I need?", "how many seeds", "how-many-seeds"),
    ("Is one method better than another?", "better another method", "compare-methods"),
    ("New nodes link to old ones. What now?", "new nodes link old", "link-new-nodes"),
    ("More nodes of a class that it knows?", "more nodes known classes", "update-bank"),
    ("How good would the answers have been?", "replay in time", "graph-in-time"),
    ("Somebody wants to be forgotten.", "forget nodes", "forget-nodes"),
    ("How do I clean old outputs?", "remove old outputs", "clean"),
    ("How do I cite it?", "how to cite", "cite"),
    ("How do I use DVC experiments?", "dvc exp run", "dvc"),
    ("How do I use a GPU?", "use gpu", "gpu"),
    ("How do I work without a network?", "machine without network", "offline"),
    ("How long will it take, and how much memory?", "time memory disk", "plan"),
    ("Memory is short. What helps?", "memory short", "plan"),
    ("How do I add a method?", "add a method", "add-method"),
    ("How do I run it on a cluster?", "dask cluster", "cluster"),
    ("What does query unit mean?", "query unit", "glossary"),
    ("What does AF mean?", "average forgetting", "glossary"),
    ("Why is my number lower than the paper's?", "paper code readings", "paper-and-code"),
    ("Will I get the same bytes elsewhere?", "same bytes processor", "what-is-bit-stable"),
    ("An error appeared. What does it mean?", "error means", "errors"),
    ("Did training see test nodes?", "training nodes only", "leaks"),
]


@pytest.mark.parametrize(
    ("words", "page"), [q[1:] for q in QUESTIONS], ids=[q[0] for q in QUESTIONS]
)
def test_the_page_that_answers_is_among_the_first_that_are_found(words: str, page: str) -> None:
    found = list(dict.fromkeys(hit.page for hit in pages.search(words)))
    assert page in found[:5], found
