"""`taamctl predict --watch` as it is called."""

from __future__ import annotations

import hashlib
import shutil
import signal
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.bank import add, store
from taamctl.bank.config import from_params
from taamctl.bank.graph_source import Source
from taamctl.core import registry
from taamctl.core.types import NodeGraph
from taamctl.datasets import _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.params import params_file, sections

FAST = ("train.epochs=2", "train.threads=1", "bank.router.width=8", "train.device=cpu")
ONCE = ("predict", "--bank", "model", "--watch", "in", "--once", "--every", "0.05")


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with a bank, and two graphs and a table in its folder `in`."""
    folder = tmp_path_factory.mktemp("served")
    (folder / "in").mkdir()
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], 30)
    adjacency, _ = adjacency_from_edges(*rng.integers(0, 60, (2, 90)), 60, "g")
    for name in ("monday", "tuesday"):
        x = (rng.normal(size=(60, 8)) + 3 * y[:, None]).astype(np.float32)
        graph = NodeGraph(name, adjacency, x, y, ("hats", "shoes"))
        _imported.write(folder / "in" / f"{name}.h5", graph, {})
    registry.require("taamctl.methods", "linear_probe")
    checked = sections.Params("test", params_file.read(params_file.PACKAGED, FAST))
    store.create(folder / "model", from_params(checked, "linear_probe", 1))
    add.add(folder / "model", Source(graph))
    (folder / "in" / "nodes.csv").write_text("id,label\n")
    return folder


def name_of(path: Path, ending: str) -> str:
    return f"{path.name}.{hashlib.sha256(path.read_bytes()).hexdigest()[:8]}{ending}"


def test_once_answers_what_lies_there_and_then_nothing_again(
    support: ModuleType, made: Path, tmp_path: Path
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    wanted = {
        name_of(tmp_path / "in" / "monday.h5", ".csv"),
        name_of(tmp_path / "in" / "tuesday.h5", ".csv"),
        name_of(tmp_path / "in" / "nodes.csv", ".refused.txt"),
    }
    done = support.taamctl(tmp_path, *ONCE)
    assert done.code == 1, done.err
    assert {Path(line).name for line in done.out.splitlines()} == wanted
    answers = tmp_path / "in" / "answers"
    assert {path.name for path in answers.glob("[!.]*")} == wanted
    assert "taamctl data import" in next(answers.glob("*.txt")).read_text()
    assert "tuesday.h5: 60 nodes" in done.err
    again = support.taamctl(tmp_path, *ONCE)
    assert (again.code, again.out) == (0, "")


@pytest.mark.skipif(not hasattr(signal, "SIGKILL"), reason="Windows ends processes otherwise")
def test_stopped_at_any_answer_it_goes_on_where_it_was(
    support: ModuleType, made: Path, tmp_path: Path
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    second = name_of(tmp_path / "in" / "tuesday.h5", ".json")
    call = (*ONCE[:5], "--every", "0.05", "--into", "out", "--format", "json")
    stopping = support.signalled(tmp_path, second, signal.SIGINT)
    stopped = support.taamctl(tmp_path, *call, env=stopping)
    assert stopped.code == 130 and "interrupted" in stopped.err
    left = [path.name for path in (tmp_path / "out").iterdir() if path.suffix != ".lock"]
    assert len(left) == 2 and second not in left  # the other graph, and the table
    done = support.taamctl(tmp_path, *call, "--once")
    assert (done.code, done.out) == (0, f"out/{second}\n")


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (("--once",), "--once belongs to --watch FOLDER"),
        (("--into", "x"), "--into belongs to --watch FOLDER"),
        (("--watch", "in", "--graph", "in/monday.h5"), "--graph does not go together"),
        (("--watch", "in", "--score"), "--score does not go together"),
        (("--graph", "in/monday.h5", "--every", "3"), "--every belongs to --watch FOLDER"),
        (("--graph", "in/monday.h5", "--format", "json"), "--format belongs to --watch FOLDER"),
        (("--watch", "in", "--explain", "3"), "--explain does not go together"),
        (("--watch", "in", "--format", "xls"), "--format xls: no format for .xls"),
        (("--watch", "in", "--every", "inf"), "'--every'"),
        (("--watch", "in", "--once", "--context", "old.h5"), "no file old.h5"),
    ],
)
def test_options_that_would_not_be_read_are_refused(
    made: Path,
    more: tuple[str, ...],
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    from taamctl.cli import app

    monkeypatch.chdir(made)
    monkeypatch.setattr("sys.argv", ["taamctl", "predict", "--bank", "model", *more])
    with pytest.raises(SystemExit) as ended:
        app.entry()
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_a_graph_that_does_not_fit_stops_no_other(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from taamctl.bank import bank
    from taamctl.cli import app

    own = bank.asked_once

    def full(predictor: object, path: Path, context: object) -> object:
        if path.stem == "monday":
            raise MemoryError
        return own(predictor, path, context)

    monkeypatch.setattr(bank, "asked_once", full)
    monkeypatch.chdir(made)
    monkeypatch.setattr("sys.argv", ["taamctl", *ONCE, "--into", str(tmp_path / "out")])
    with pytest.raises(SystemExit) as ended:
        app.entry()
    assert ended.value.code == 1
    assert "monday.h5 does not fit into memory" in capsys.readouterr().err
    assert len(list((tmp_path / "out").glob("*.csv"))) == 1


def test_a_name_as_long_as_can_be_stops_no_other(
    support: ModuleType, made: Path, tmp_path: Path
) -> None:
    shutil.copytree(made, tmp_path, dirs_exist_ok=True)
    (tmp_path / "in" / "monday.h5").rename(tmp_path / "in" / f"{'ü' * 126}.h5")
    (tmp_path / "in" / "nodes.csv").rename(tmp_path / "in" / f"{'a' * 251}.csv")
    done = support.taamctl(tmp_path, *ONCE)
    assert done.code == 1, done.err
    written = {path.name for path in (tmp_path / "in" / "answers").glob("[!.]*")}
    assert {(name[0], Path(name).suffix) for name in written} == {
        ("ü", ".csv"),
        ("a", ".txt"),
        ("t", ".csv"),
    }
    assert support.taamctl(tmp_path, *ONCE).code == 0


def test_a_folder_that_goes_away_ends_the_watch_with_a_word(made: Path, tmp_path: Path) -> None:
    from taamctl.bank.watched_folder import WatchedFolder
    from taamctl.core.errors import TaamctlError

    watched = tmp_path / "in"
    watched.mkdir()
    folder = WatchedFolder(watched, tmp_path / "out", ".csv", ask=None, tell=print)  # type: ignore[arg-type]
    watched.rmdir()
    with pytest.raises(TaamctlError, match=r"--watch .* cannot be read any more"):
        list(folder.results(0.01, once=True))
