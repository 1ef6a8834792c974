"""What `taamctl explain` knows: one topic per word, from the pages, the parameters, the methods,
the data sets, and the tables of what is stored.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

from taamctl.core import registry
from taamctl.core.data_set import data_set
from taamctl.manual import page_tables
from taamctl.manual.pages import page

METHODS = "taamctl.methods"
DATASETS = "taamctl.datasets"
NEAR = 4  # words that are named where none fits


@dataclass(frozen=True)
class Topic:
    """One thing that has a name.

    Attributes:
        names: of it; the first is shown.
        kind: such as `word`, `parameter`, `method`.
        tell: returns what it is, in Markdown; asked only when it is wanted.
        more: the command that shows more.
    """

    names: tuple[str, ...]
    kind: str
    tell: Callable[[], str]
    more: str


def built_in() -> Iterator[Topic]:
    """Yield all topics but those of the command line."""
    yield from words()
    yield from methods()
    yield from datasets()
    yield from parameters()
    yield from fields()
    yield from arrays()


def words() -> Iterator[Topic]:
    """Yield the words of the glossary: `| AF, average forgetting | meaning |`."""
    for cells in page_tables.rows(page("glossary").text):
        names = tuple(name.strip().strip("`") for name in cells[0].split(","))
        yield Topic(names, "word", said(cells[1]), "taamctl docs glossary")


def errors() -> Iterator[Topic]:
    """Yield the messages of the page on errors: `| what it says | what it means | what to do |`."""
    for cells in page_tables.rows(page("errors").text):
        text = f"{cells[1]}\n\n{cells[2]}"
        yield Topic((cells[0].strip("`"),), "error", said(text), "taamctl docs errors")


def methods() -> Iterator[Topic]:
    """Yield the methods."""
    for name in registry.names(METHODS):
        yield Topic((name,), "method", _method(name), f"taamctl methods show {name}")


def datasets() -> Iterator[Topic]:
    """Yield the data sets."""
    for name in registry.names(DATASETS):
        yield Topic((name,), "data set", _dataset(name), f"taamctl data info {name}")


def parameters() -> Iterator[Topic]:
    """Yield the parameters of params.yaml, by their whole key and its last part."""
    from taamctl.manual.parameter_rows import rows

    for row in rows():
        names = (row.key, row.key.rpartition(".")[2])
        yield Topic(names, "parameter", said(row.sentence()), "taamctl docs parameters")


def fields() -> Iterator[Topic]:
    """Yield the fields of eval.json and metrics.json."""
    from taamctl.evaluation import record

    for cells in page_tables.rows(record.field_tables()):
        text = f"{cells[2]} ({cells[1]})"
        yield Topic((cells[0].strip("`"),), "field of results", said(text), "taamctl docs metrics")


def arrays() -> Iterator[Topic]:
    """Yield the arrays of the artefacts, by their path and its last part."""
    from taamctl.store.schema import KINDS

    for kind, described in KINDS.items():
        for path, entry in described.entries.items():
            text = f"{entry.doc} ({entry.dtype}, {' x '.join(entry.dims)}; in {kind})"
            names = (path, path.rpartition("/")[2])
            yield Topic(names, f"array of {kind}", said(text), "taamctl docs artefacts")


def matching(topics: Iterable[Topic], wanted: str) -> list[Topic]:
    """Return the topics of exactly that name, in any case, `-` and `_` like a blank."""
    asked = plain(wanted)
    return [topic for topic in topics if asked in map(plain, topic.names)]


def of_message(wanted: str) -> list[Topic]:
    """Return the errors that a message may be: all words of what it says occur in it, in order."""
    text = plain(wanted)
    return [topic for topic in errors() if _says(text, topic.names[0])]


def _says(text: str, pattern: str) -> bool:
    parts = [re.escape(plain(part)) for part in pattern.split("...") if plain(part)]
    return len(text) > 5 and re.search(".*".join(parts), text) is not None


def nearest(topics: Iterable[Topic], wanted: str) -> list[str]:
    """Return names that are like the word, or hold it."""
    names = list(dict.fromkeys(name for topic in topics for name in topic.names))
    asked = plain(wanted)
    known: dict[str, str] = {}
    for name in names:
        known.setdefault(plain(name), name)
    like = difflib.get_close_matches(asked, known, n=NEAR, cutoff=0.7)
    inside = [key for key in known if len(asked) > 2 and asked in key]
    return [known[key] for key in dict.fromkeys([*like, *inside])][:NEAR]


def plain(text: str) -> str:
    """Return a text as it is compared."""
    return " ".join(re.sub(r"[-_`]", " ", text.lower()).split())


def said(text: str) -> Callable[[], str]:
    """Return what tells a text that is known already."""
    return lambda: text


def _method(name: str) -> Callable[[], str]:
    def tell() -> str:
        from taamctl.learning.contract.method_plugin import method_class

        facts = method_class(name).facts
        doc = (method_class(name).__doc__ or "").strip().split("\n\n")[0]
        return f"{facts.title}. {' '.join(doc.split())} Keeps of earlier data: {facts.memory}."

    return tell


def _dataset(name: str) -> Callable[[], str]:
    def tell() -> str:
        source = data_set(name)
        meta = source.meta
        counts = "its size is a parameter"
        if meta.nodes >= 0:
            counts = f"{meta.nodes:,} nodes, {meta.features:,} features, {meta.classes} classes"
        return f"{counts}. {meta.citation}. Licence: {meta.licence}."

    return tell
