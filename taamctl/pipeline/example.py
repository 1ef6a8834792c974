"""A small shop as CSV files: what `taamctl data import` reads, made up, with the situations that
own data brings.

Products with text ids, nine categories with names, word counts as features, and pairs that are
bought together. A few products have no category and a few no pair. A second pair of files holds
products that arrive later, without categories: of the same nine, and of one that nobody has seen.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array
from taamctl.store import atomic_files

CATEGORIES = (
    "Books",
    "Music",
    "Toys",
    "Garden",
    "Kitchen",
    "Sport",
    "Shoes",
    "Lamps",
    "Tools",
    "Tea",
)  # the last arrives later
WORDS, PER_CATEGORY, LATER = 24, 60, 15
FILES = ("nodes.csv", "edges.csv", "new_nodes.csv", "new_edges.csv")


def write(folder: Path, *, overwrite: bool = False) -> list[Path]:
    """Write the four files and return their paths; the same bytes every time.

    Raises:
        TaamctlError: one of them is there already.
    """
    paths = [folder / name for name in FILES]
    there = [path for path in paths if path.exists()]
    if there and not overwrite:
        raise TaamctlError(f"{there[0]} is there already", "name another folder, or add --force")
    known = np.repeat(np.arange(len(CATEGORIES) - 1), PER_CATEGORY)
    later = np.repeat(np.arange(len(CATEGORIES)), LATER)
    for (nodes, edges), classes, first, labelled in (
        (paths[:2], known, 1, True),
        (paths[2:], later, 10_001, False),
    ):
        rng = numpy_generator(0, "example", first)
        classes = rng.permutation(classes)
        atomic_files.write_text(nodes, _nodes(classes, first, rng, labelled))
        atomic_files.write_text(edges, _edges(classes, first, rng))
    return paths


def _nodes(classes: Array, first: int, rng: np.random.Generator, labelled: bool) -> str:
    means = numpy_generator(0, "example_words").gamma(
        0.35, 3.0, (len(CATEGORIES), WORDS)
    )  # few words are frequent in a category
    counts = rng.poisson(means[classes] + 0.3)
    rows = []
    for i, (c, words) in enumerate(zip(classes, counts, strict=True)):
        category = [CATEGORIES[c] if i % 60 else ""] if labelled else []
        rows.append([f"P{first + i}", *category, *words.tolist()])
    return _text(
        [["id", *(["label"] if labelled else []), *(f"word_{j:02d}" for j in range(WORDS))], *rows]
    )


def _edges(classes: Array, first: int, rng: np.random.Generator) -> str:
    """Draw three pairs a product, four in five inside a category; the last products have none."""
    paired = len(classes) - 8
    ends = [
        (
            int(a),
            int(
                rng.choice(np.flatnonzero(classes[:paired] == classes[a]))
                if rng.random() < 0.8
                else rng.integers(paired)
            ),
        )
        for a in np.repeat(np.arange(paired), 3)
    ]
    return _text(
        [["source", "target"], *([f"P{first + a}", f"P{first + b}"] for a, b in ends if a != b)]
    )


def _text(rows: Iterable[Sequence[object]]) -> str:
    buffer = io.StringIO()
    csv.writer(buffer, lineterminator="\n").writerows(rows)
    return buffer.getvalue()
