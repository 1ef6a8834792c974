"""Words that mean no label are counted and said; one that may be a class is asked about."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing.no_label import Said
from taamctl.importing.node_labels import read_labels

Found = tuple[list[int], tuple[str, ...], tuple[str, ...]]


def read(labels: Sequence[object], said: Said | None = None) -> Found:
    values, names, notes = read_labels(np.array(labels, object), len(labels), "here", said)
    return values.tolist(), names, notes


def refused(labels: Sequence[object], said: Said | None = None) -> TaamctlError:
    with pytest.raises(TaamctlError) as caught:
        read(labels, said)
    return caught.value


@pytest.mark.parametrize("word", ["unknown", "Unlabelled", "unlabeled", "?", "NA", "-1"])
def test_a_usual_word_beside_numbers_is_no_class_and_is_said(word: str) -> None:
    values, names, notes = read(["1", "2", word, "1", word, ""])
    assert values == [0, 1, -1, 0, -1, -1] and names == ("1", "2")
    assert notes[-1] == f"3 nodes have no label: 2 {word!r}, 1 empty"


@pytest.mark.parametrize("seed", range(4))
def test_a_word_as_frequent_as_a_class_is_asked_about(seed: int) -> None:
    rng = np.random.default_rng(seed)
    word = str(rng.choice(["N/A", "NA", "none", "Unknown"]))
    labels = rng.permutation([word, "EU", "AS"] * 20).tolist()
    error = refused(labels)
    assert error.message == (
        f"here: 20 of 60 nodes have the label {word!r}, which can mean no label, or be a class"
    )
    assert error.hint == f"say which: --unlabelled {word}, or --class-word {word}"
    values, names, notes = read(labels, Said(unlabelled=(word,)))
    assert names == ("AS", "EU") and values.count(-1) == 20 and f"20 {word!r}" in notes[-1]
    values, names, _ = read(labels, Said(classes=(word,)))
    assert names == tuple(sorted((word, "EU", "AS"))) and values.count(-1) == 0


def test_few_or_very_many_such_words_ask_nothing() -> None:
    assert read(["a", "b"] * 30 + ["n/a"])[1] == ("a", "b")
    assert read(["a", "b"] + ["unknown"] * 30)[2][-1] == "30 nodes have no label: 30 'unknown'"


def test_words_that_are_said_are_all_there_are() -> None:
    said = Said(unlabelled=("nowhere",))
    values, names, notes = read(["a", "nowhere", "N/A", "", "a"], said)
    assert names == ("N/A", "a") and values == [1, -1, 0, -1, 1]
    assert notes == ("2 nodes have no label: 1 'nowhere', 1 empty",)
    assert read([0, 1, 255, 1], Said(unlabelled=("255",)))[0] == [0, 1, -1, 1]


def test_a_word_that_no_node_has_is_refused() -> None:
    error = refused(["a", "n/a"], Said(unlabelled=("N/A",)))
    assert error.message == "here: --unlabelled N/A: no node has that label"
    assert error.hint.endswith("there are: a, n/a")
