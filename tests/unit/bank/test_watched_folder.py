"""A watched folder: everything is answered or refused once, and nothing that is still written."""

from __future__ import annotations

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from taamctl.bank import watched_folder
from taamctl.bank.bank import asked_once, load_bank
from taamctl.bank.predictor import PredictOptions, Predictor
from taamctl.bank.watched_folder import WatchedFolder
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported

Make = Callable[..., WatchedFolder]


@pytest.fixture
def made(bank: Path, tmp_path: Path) -> Make:
    """Return what makes a watcher whose bank counts what it is asked."""
    predictor = Predictor(load_bank(bank), PredictOptions("router"))
    (tmp_path / "in").mkdir()

    def make(ending: str = ".csv") -> WatchedFolder:
        asked: list[str] = []
        said: list[str] = []

        def ask(path: Path) -> object:
            asked.append(path.name)
            return asked_once(predictor, path)

        watched = WatchedFolder(tmp_path / "in", tmp_path / "out", ending, ask, said.append)
        watched.asked, watched.said = asked, said
        return watched

    return make


def put(path: Path, graph: NodeGraph) -> None:
    made = path.parents[1] / "made.h5"
    _imported.write(made, graph, {})
    made.replace(path)


def once(watched: WatchedFolder) -> list[str]:
    return [path.name for path in watched.results(0.01, once=True)]


def test_each_file_is_answered_once_and_again_when_it_changed(made, graph, tmp_path, bank) -> None:
    into = tmp_path / "in"
    for name, seed in (("a b.h5", 1), ("[1].h5", 2)):
        put(into / name, graph(tuple("abcd"), seed=seed))
    (into / ".hidden.h5").write_bytes(b"x")
    (into / "notes.md").write_text("x")
    (into / "folder.h5").mkdir()
    first = made()
    names = once(first)
    assert sorted(first.asked) == ["[1].h5", "a b.h5"] and len(names) == 2
    assert sorted(p.name for p in (tmp_path / "out").glob("[!.]*")) == sorted(names)
    answer = next((tmp_path / "out").glob("a b.h5.????????.csv"))
    rows = list(csv.DictReader(answer.open()))
    whole = load_bank(bank).predict(into / "a b.h5", decide="router")
    assert [row["class"] for row in rows] == whole.names
    again = made()
    assert once(again) == [] and again.asked == []
    put(into / "a b.h5", graph(tuple("abcd"), seed=9))
    third = made()
    assert len(once(third)) == 1 and third.asked == ["a b.h5"]
    assert len(list((tmp_path / "out").glob("a b.h5.*"))) == 2


def test_a_file_that_grows_is_left_until_it_is_whole(made, graph, tmp_path) -> None:
    _imported.write(tmp_path / "whole.h5", graph(tuple("abcd")), {})
    data = (tmp_path / "whole.h5").read_bytes()
    coming = tmp_path / "in" / "coming.h5"
    coming.write_bytes(data[:100])
    watched = made()
    steps = iter([data[:2000], data, data, data])

    def sleep(seconds: float) -> None:
        part = next(steps)
        if part != coming.read_bytes():
            coming.write_bytes(part)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watched_folder.time, "sleep", sleep)
        found = watched.results(1.0, once=False)
        assert next(found).name.startswith("coming.h5.")
        assert watched.asked == ["coming.h5"]
        with pytest.raises(RuntimeError, match="StopIteration"):
            next(found)
    coming.write_bytes(data[:5000])
    late = made()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(watched_folder.time, "sleep", lambda _: coming.write_bytes(data[:6000]))
        assert once(late) == [] and "still being written" in late.said[0]


def test_a_refusal_says_why_and_goes_when_the_file_is_mended(made, graph, tmp_path) -> None:
    into = tmp_path / "in"
    put(into / "wide.h5", graph(tuple("ab"), features=13))
    (into / "bad.h5").write_bytes(b"no graph")
    put(into / "good.h5", graph(tuple("ab")))
    watched = made(".jsonl")
    names = once(watched)
    assert [n[-6:] for n in sorted(names)] == ["ed.txt", ".jsonl", "ed.txt"]
    (refusal,) = (tmp_path / "out").glob("wide.h5.????????.refused.txt")
    assert refusal.read_text().startswith("error: the graph has 13 features per node, the bank")
    assert "\nhint: give every node" in refusal.read_text()
    assert once(made()) != [] and once(made(".jsonl")) == []
    put(into / "wide.h5", graph(tuple("ab")))
    assert len(once(made(".jsonl"))) == 1
    assert not refusal.exists() and list((tmp_path / "out").glob("bad.h5.*.refused.txt"))


def test_a_file_that_changes_while_it_is_answered_gets_no_answer(made, graph, tmp_path) -> None:
    path = tmp_path / "in" / "x.h5"
    put(path, graph(tuple("ab"), seed=1))
    watched = made()
    ask = watched.ask

    def slow(asked: Path) -> object:
        found = ask(asked)
        put(path, graph(tuple("ab"), seed=2))
        return found

    watched.ask = slow
    assert once(watched) == [] and not list((tmp_path / "out").glob("x.h5.*"))

    def gone(asked: Path) -> object:
        path.unlink()
        return ask(asked)

    watched.ask = gone
    assert once(watched) == [] and not list((tmp_path / "out").glob("x.h5.*"))


def test_what_cannot_be_watched_is_refused(made, graph, tmp_path) -> None:
    watched = made()
    with pytest.raises(TaamctlError, match="no such folder"):
        WatchedFolder(tmp_path / "none", tmp_path, ".csv", watched.ask, print)
    with pytest.raises(TaamctlError, match="answers would be taken for"):
        WatchedFolder(tmp_path / "in", tmp_path / "x" / ".." / "in", ".csv", watched.ask, print)
    put(tmp_path / "in" / "x.h5", graph(tuple("ab")))
    with pytest.raises(TaamctlError, match="is being written by process"):
        both_at_once(made)


def both_at_once(made: Make) -> None:
    """Begin to watch, in a process that holds the folder already."""
    first = made().results(0.01, once=False)
    next(first)
    try:
        next(made().results(0.01, once=True), None)
    finally:
        first.close()
