"""A small shop as CSV files: what `taamctl data import` reads, made up, with the situations that
own data brings.

Products with text ids, nine categories with names, word counts as features, and pairs that are
bought together. A few products have no category and a few no pair. A second pair of files holds
products that arrive later, without categories: of the same nine, and of one that nobody has seen.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from taamctl.core.errors import TaamctlError
from taamctl.core.seeding import numpy_generator
from taamctl.core.types import Array
from taamctl.store import atomic_files

KNOWN = ("Books", "Music", "Toys", "Garden", "Kitchen", "Sport", "Shoes", "Lamps", "Tools")
CATEGORIES = (*KNOWN, "Tea")  # the last arrives later
WORDS = 24
PER_CATEGORY = 60
LATER = 15
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
    known = _shop(np.repeat(np.arange(len(KNOWN)), PER_CATEGORY), 1)
    later = _shop(np.repeat(np.arange(len(CATEGORIES)), LATER), 10_001)
    later[0].pop("label")
    for path, table in zip(paths, (*known, *later), strict=True):
        atomic_files.write_text(path, table.to_csv(index=False, lineterminator="\n"))
    return paths


def _shop(classes: Array, first: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Draw products of these categories, in any order, and what is bought together.

    Args:
        first: number of the first product.
    """
    rng = numpy_generator(0, "example", first)
    classes = rng.permutation(classes)
    ids = np.array([f"P{first + i}" for i in range(len(classes))])
    # Few words are frequent in a category.
    means = numpy_generator(0, "example_words").gamma(0.35, 3.0, (len(CATEGORIES), WORDS))
    labels = np.array(CATEGORIES)[classes]
    labels[::60] = ""
    nodes = pd.DataFrame({"id": ids, "label": labels})
    counts = rng.poisson(means[classes] + 0.3)
    nodes = nodes.join(pd.DataFrame(counts, columns=[f"word_{j:02d}" for j in range(WORDS)]))
    # Three pairs a product, four in five inside a category; the last products have none.
    paired = len(classes) - 8
    source = np.repeat(np.arange(paired), 3)
    target = np.empty_like(source)
    for i, product in enumerate(source):
        if rng.random() < 0.8:
            target[i] = rng.choice(np.flatnonzero(classes[:paired] == classes[product]))
        else:
            target[i] = rng.integers(paired)
    others = source != target
    return nodes, pd.DataFrame({"source": ids[source[others]], "target": ids[target[others]]})
