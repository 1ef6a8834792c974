"""Which words in a column of labels mean that a node has none: by option, else the usual ones,
which are counted and said; a word that may be a class as well is asked about.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from taamctl.core.errors import TaamctlError
from taamctl.importing.messages import quoted, shown
from taamctl.importing.ways import Unclear
from taamctl.importing.words import NO_LABEL, numbers_of

# that can be a class's own name, such as N/A for North America
DOUBTFUL = frozenset({"na", "n/a", "none", "null", "unknown"})
MANY = 0.05  # share of nodes from which on such a word is asked about
COMPARABLE = 2  # times the largest class: more nodes than that are no class among the others
BLANK = frozenset({"", "nan", "<na>"})  # what an empty cell is read as


@dataclass(frozen=True)
class Said:
    """What the user says of such words.

    Attributes:
        unlabelled: all words that mean no label, beside an empty cell; empty: the usual ones.
        classes: words that are classes, though they are usual ones.
    """

    unlabelled: tuple[str, ...] = ()
    classes: tuple[str, ...] = ()


def means_none(word: str, said: Said) -> bool:
    """Tell whether a word in a column of labels means that a node has none."""
    if said.unlabelled:
        return word.lower() in BLANK or word in said.unlabelled
    return word.lower() in NO_LABEL and word not in said.classes


def words_for_none(counts: Mapping[str, int], said: Said, where: str) -> set[str]:
    """Return those of the different labels that mean none, as they are spelled.

    Args:
        counts: label -> nodes that have it.

    Raises:
        TaamctlError: a word that may be a class, on many nodes; or a word of the user's that no
            node has.
    """
    _require_there(counts, said, where)
    taken = {word for word in counts if means_none(word, said)}
    if not said.unlabelled:
        _ask(counts, taken, where)
    return taken


def _require_there(counts: Mapping[str, int], said: Said, where: str) -> None:
    stated = {"unlabelled": said.unlabelled, "class-word": said.classes}
    for option, words in stated.items():
        for word in words:
            if word not in counts:
                there = ", ".join(map(shown, list(counts)[:10]))
                raise TaamctlError(
                    f"{where}: --{option} {quoted(shown(word))}: no node has that label",
                    f"words count as they are spelled; there are: {there}",
                )


def _ask(counts: Mapping[str, int], taken: set[str], where: str) -> None:
    """Ask about a word that is as frequent as a class, where classes are words too."""
    classes = {word: count for word, count in counts.items() if word not in taken}
    if not classes or numbers_of(list(classes)) is not None:
        return
    nodes, largest = sum(counts.values()), max(classes.values())
    few, many = MANY * nodes, COMPARABLE * largest
    found = [w for w in sorted(taken) if w.lower() in DOUBTFUL and few < counts[w] <= many]
    if not found:
        return
    spelt = ", ".join(
        f"{counts[word]:,} of {nodes:,} nodes have the label {word!r}" for word in found
    )
    ways = [
        " ".join(f"{option} {quoted(word)}" for word in words)
        for option, words in (("--unlabelled", _with_usual(found, taken)), ("--class-word", found))
    ]
    raise Unclear(
        f"{where}: {spelt}, which can mean no label, or be a class",
        f"say which: {ways[0]}, or {ways[1]}",
        ways,
    )


def _with_usual(found: Sequence[str], taken: set[str]) -> list[str]:
    """Return words that are asked about, and the others that no class is called by: whoever names
    one with --unlabelled names all.
    """
    return [*found, *sorted(w for w in taken if w not in found and w.lower() not in BLANK)]


def counted(text: Sequence[str]) -> dict[str, int]:
    """Return label -> nodes that have it."""
    return dict(Counter(text))


def notes(counts: Mapping[str, int], taken: set[str]) -> Iterator[str]:
    """Say how many nodes have no label, and by which words."""
    missing = sum(counts[word] for word in taken)
    if not missing:
        return
    words = {word for word in taken if word.lower() not in BLANK}
    spelt = ", ".join(f"{counts[word]:,} {word!r}" for word in sorted(words))
    blank = missing - sum(counts[word] for word in words)
    if spelt and blank:
        spelt += f", {blank:,} empty"
    yield f"{missing:,} nodes have no label" + (f": {spelt}" if spelt else "")
