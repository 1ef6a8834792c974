"""`taamctl data upgrade` and `taamctl bank upgrade`, on files of an earlier version."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path
from types import ModuleType

import h5py
import pytest

from taamctl.bank import manifest as manifests
from taamctl.core.errors import TaamctlError
from taamctl.importing import upgrade_graph
from taamctl.store import artefact_writer, rewrite
from taamctl.store.artefacts import Artefact
from taamctl.store.graph_kind import GRAPH
from taamctl.store.lock import writing

ARCHIVE = Path(__file__).resolve().parents[1] / "archive"


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder with the graph `tiny` and a bank, both of version 1."""
    with zipfile.ZipFile(ARCHIVE / "names.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path


def heard(line: str) -> None:
    raise AssertionError(line)


def test_a_graph_is_upgraded_by_its_name_then_by_its_file(
    folder: Path, support: ModuleType
) -> None:
    done = support.taamctl(folder, "data", "upgrade", "tiny")
    assert (done.code, done.out) == (0, "data/tiny.h5\n")
    assert done.err == "data/tiny.h5: version 1 to 3; no array changed\n"
    again = support.taamctl(folder, "data", "upgrade", "data/tiny.h5", "--json")
    facts = {"file": "data/tiny.h5", "from": 3, "to": 3, "changed": False}
    assert (again.code, json.loads(again.out)) == (0, facts)
    assert support.taamctl(folder, "data", "upgrade", "tiny").err == (
        "data/tiny.h5 is of version 3 already: nothing to do\n"
    )
    shown = support.taamctl(folder, "inspect", "data/tiny.h5", "--check")
    assert "graph, schema 3, all checksums right" in shown.out


@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("photo", "photo is no graph of your own"),
        ("data/none.h5", "no file data/none.h5"),
        ("outputs/split/tiny/split.h5", "holds a split artefact, expected graph"),
    ],
)
def test_what_is_no_graph_of_ones_own_is_refused(
    folder: Path, given: str, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(folder)
    with pytest.raises(TaamctlError, match=says):
        upgrade_graph.upgrade(upgrade_graph.file_of(given), wait=False, tell=heard)
    assert not (folder / "data" / ".none.h5.lock").exists()


def test_an_upgrade_that_fails_in_the_middle_leaves_the_old_file_and_no_other(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "data" / "tiny.h5"
    before = path.read_bytes()
    (folder / "data" / ".tiny.h5.1-dead.tmp").write_text("what a killed one left")
    written: list[str] = []
    put = artefact_writer.Writer.put

    def stops(self: artefact_writer.Writer, place: str, *rest: object) -> None:
        written.append(place)
        if len(written) == 3:
            raise KeyboardInterrupt
        put(self, place, *rest)  # type: ignore[arg-type]

    monkeypatch.setattr(artefact_writer.Writer, "put", stops)
    with pytest.raises(KeyboardInterrupt):
        upgrade_graph.upgrade(path, wait=False, tell=heard)
    assert path.read_bytes() == before
    assert {p.name for p in path.parent.iterdir()} <= {"tiny.h5", ".tiny.h5.lock"}


def test_a_damaged_graph_is_not_upgraded(folder: Path) -> None:
    path = folder / "data" / "tiny.h5"
    with h5py.File(path, "r+") as file:
        file["labels"][0] = 3
    before = path.read_bytes()
    with pytest.raises(TaamctlError, match="labels does not match its checksum"):
        rewrite.rewrite(path, GRAPH)
    assert path.read_bytes() == before


def test_who_writes_is_waited_for_or_not(folder: Path, support: ModuleType) -> None:
    for path, verb in (
        (folder / "data" / "tiny.h5", ("data", "upgrade", "tiny")),
        (folder / "bank" / manifests.NAME, ("bank", "upgrade", "bank")),
    ):
        with writing(path, wait=False, tell=heard):
            done = support.taamctl(folder, *verb, "--no-wait")
        assert done.code == 2
        assert "is being written by process" in done.err


def test_a_bank_is_upgraded_and_says_what_changed(folder: Path, support: ModuleType) -> None:
    done = support.taamctl(folder, "bank", "upgrade", "bank")
    changes = [
        "manifest: format 1 to 2",
        "parameter bank.sums recorded: task",
        "parameter bank.val_rows recorded: 0",
        "parameter bank.edges recorded: task",
        "parameter infer.router recorded: prototype",
    ]
    assert (done.code, done.out.splitlines()) == (0, changes)
    assert done.err == "generation 3: upgraded to format 2; 2 tasks, 4 classes\n"
    again = support.taamctl(folder, "bank", "upgrade", "bank", "--json")
    facts = {"folder": "bank", "generation": 3, "format": 2, "changes": []}
    assert (again.code, json.loads(again.out)) == (0, facts)
    assert "nothing to do" in support.taamctl(folder, "bank", "upgrade", "bank").err
    assert support.taamctl(folder, "bank", "verify", "bank").code == 0


def test_a_parameter_that_is_not_known_is_told_and_changes_no_answer(
    folder: Path, support: ModuleType
) -> None:
    bank = folder / "bank"
    path = manifests.copy_of(bank, 2)
    record = json.loads(path.read_text(encoding="utf-8"))
    record["config"]["train"]["momentum"] = 0.9
    path.write_text(json.dumps(record | {"digest": manifests.digest_of(record)}))
    manifests.adopt(bank, 2)
    done = support.taamctl(folder, "predict", "--bank", "bank", "--graph", "data/tiny.h5")
    assert done.code == 0
    assert done.out == (folder / "answers.csv").read_text(encoding="utf-8")
    assert done.err.splitlines()[0] == (
        "bank/manifest.json records train.momentum = 0.9, a parameter that this taamctl does not "
        "know: it stays in the file and has no effect"
    )


def test_an_artefact_of_an_earlier_version_is_shown_as_it_is(
    folder: Path, support: ModuleType
) -> None:
    shown = json.loads(support.taamctl(folder, "inspect", "data/tiny.h5", "--json").out)
    assert (shown["schema_version"], shown["attributes"]["features_named"]) == (1, True)
    with Artefact(folder / "data" / "tiny.h5", GRAPH) as read:
        assert read.attribute("features_named") == "yes"
