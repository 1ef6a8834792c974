"""What is known of every node as columns of text, beside its features: tables and GraphML hold
it so.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.exporting import csv_text, feature_text
from taamctl.exporting.whole import Whole
from taamctl.importing.messages import shown
from taamctl.importing.no_label import Said
from taamctl.importing.node_labels import read_labels
from taamctl.importing.options import ImportOptions
from taamctl.importing.words import NO_LABEL

CLASSES = "_classes.csv"


@dataclass(frozen=True)
class TextColumns:
    """The columns of the nodes without their features.

    Attributes:
        cells: name -> N texts, empty where nothing is known.
        features: F names of the columns of features.
        options: what each column means.
        classes: the names of the classes, where the labels number them; empty where the labels are
            those names.
        notes: what was made up.
    """

    cells: dict[str, list[str]]
    features: tuple[str, ...]
    options: ImportOptions
    classes: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def tables(self) -> dict[str, str]:
        """Return the options of the import that take a table, and the ends of their names."""
        return {"class-names": CLASSES} if self.classes else {}

    def files(self) -> dict[str, Callable[[Path], None]]:
        """Return what writes those tables."""
        rows = [(str(number), name) for number, name in enumerate(self.classes)]
        if not rows:
            return {}
        return {CLASSES: lambda path: csv_text.write(path, ("number", "class"), rows)}


def text_columns(whole: Whole, kind: str) -> TextColumns:
    """Return the columns.

    Raises:
        TaamctlError: a feature whose name the format does not keep.
    """
    features, notes = feature_text.names_of(whole)
    require_names(features, whole.name, kind)
    labels, words = _as_labels(whole.class_names)
    meanings = _meanings(whole, labels)
    names = {meaning: free_name(meaning, features) for meaning in meanings}
    named = feature_text.to_be_named(features, whole.features)
    options = ImportOptions(
        label=names.get("label", ""),
        features=(*named, "*"),
        time=names.get("time", ""),
        part=names.get("part", ""),
        task=names.get("task", ""),
        class_word=words,
    )
    cells = {names[meaning]: values for meaning, values in meanings.items()}
    classes = whole.class_names * (labels != whole.class_names)
    return TextColumns(cells, features, options, classes, notes)


def _meanings(whole: Whole, labels: tuple[str, ...]) -> dict[str, list[str]]:
    """Return what is known of the nodes: its meaning -> N texts.

    Args:
        labels: the label of every class.
    """
    found: dict[str, list[str]] = {}
    if whole.labels is not None:
        of_class = (*labels, "")
        found["label"] = [of_class[label] for label in whole.labels.tolist()]
        if whole.task is not None:
            of_class = (*map(str, whole.task.tolist()), "")
            found["task"] = [of_class[label] for label in whole.labels.tolist()]
    if whole.part is not None:
        found["part"] = whole.part
    if whole.time is not None:
        found["time"] = ["" if math.isnan(time) else repr(time) for time in whole.time.tolist()]
    return found


def free_name(name: str, taken: Collection[str]) -> str:
    """Return a name for a column that no other one has."""
    while name in taken:
        name += "_"
    return name


def require_names(names: Sequence[str], where: str, kind: str) -> None:
    """Refuse names of features that a header does not keep.

    Raises:
        TaamctlError: one is empty, or has blanks around it.
    """
    wrong = next((name for name in names if not name or name != name.strip()), None)
    if wrong is not None:
        raise TaamctlError(
            f"{where}: the feature {wrong[:60]!r} has blanks around its name, or none, which "
            f"{kind} does not keep",
            "export it with --format npz, pyg or dgl",
        )


def require_text(
    whole: Whole, columns: TextColumns, wrong: Callable[[str], bool], kind: str
) -> None:
    """Refuse text that a format cannot hold.

    Raises:
        TaamctlError: there is some, in a name of a node, a class or a feature.
    """
    for what, texts in (
        ("node", whole.ids),
        ("class", whole.class_names),
        ("feature", columns.features),
    ):
        found = next((text for text in texts if wrong(text)), None)
        if found is not None:
            raise TaamctlError(
                f"{whole.name}: the {what} {shown(found)!r} holds a character that {kind} cannot "
                "hold",
                "export it with --format npz, pyg or dgl",
            )


def _as_labels(names: tuple[str, ...]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the labels of the classes, and which of them usually mean no label: their names, where
    an import makes the same classes of them in the same order, else their numbers.
    """
    words = tuple(name for name in names if name.lower() in NO_LABEL)
    try:
        labels, found, _ = read_labels(
            np.array([*names, None], object)[:-1], len(names), "", Said(classes=words)
        )
    except TaamctlError:
        found = ()
    if all(names) and found == names and labels.tolist() == list(range(len(names))):
        return names, words  # an empty name is how a node without a class looks
    return tuple(map(str, range(len(names)))), ()
