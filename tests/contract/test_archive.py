"""Files of every version that there was: all of them are opened, and say what they said then."""

from __future__ import annotations

import io
import json
import zipfile
from pathlib import Path

import h5py
import numpy as np
import pytest
import yaml
from taamctl.stages import eval as eval_stage
from taamctl.stages import infer as infer_stage

from taamctl.bank import answers
from taamctl.bank import upgrade as bank_upgrade
from taamctl.bank.bank import load_bank
from taamctl.bank.graph_source import from_file
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.datasets import _imported
from taamctl.features.split_parts import Parts
from taamctl.importing import upgrade_graph
from taamctl.params import params_file, recorded_params, sections
from taamctl.report import lens_table, report_rows
from taamctl.runtime.job import Context
from taamctl.runtime.layout import Layout
from taamctl.store import schema
from taamctl.store.artefacts import Artefact
from taamctl.store.split_kind import SPLIT

HERE = Path(__file__).resolve().parents[1] / "archive"
ENTRIES = (
    *("infer-1", "infer-2", "bank-1", "split-3", "names", "evaluation-1"),
    *("bank-2", "graph-3", "infer-3", "evaluation-2", "evaluation-3", "infer-4"),
)
WITH_BANK = ENTRIES[2:]
WITHOUT_NAMES = ("bank-1", "split-3")
OLD_REPORTS = ("infer-1", "infer-2", "bank-1", "split-3")
# entry -> versions of split, precompute, train, infer
VERSIONS = {
    "infer-1": (1, 1, 1, 1),
    "infer-2": (1, 1, 1, 2),
    "bank-1": (2, 1, 1, 2),
    "split-3": (3, 2, 1, 2),
    "names": (3, 2, 1, 2),
    "evaluation-1": (3, 2, 1, 2),
    "bank-2": (3, 2, 1, 2),
    "graph-3": (3, 2, 1, 2),
    "infer-3": (3, 2, 1, 3),
    "evaluation-2": (3, 3, 1, 2),
    "evaluation-3": (3, 3, 1, 3),
    "infer-4": (3, 3, 1, 4),
}
STAGES = ("split", "precompute", "train", "infer")
SAME = ("val/all_seen", "test/all_seen", "test/similarity", "test/decision")
SAID = ("decision", "all_seen", "up_to_task", "task_only")


class Entry:
    """One entry, unpacked."""

    def __init__(self, name: str, folder: Path) -> None:
        self.name, self.folder = name, folder
        with zipfile.ZipFile(HERE / f"{name}.zip") as archive:
            archive.extractall(folder)
        self.layout = Layout(folder / "outputs")
        (self.dataset,) = (path.name for path in (folder / "outputs" / "split").iterdir())
        self.run = (self.dataset, "linear_probe", 1)
        self.graph = folder / "data" / "tiny.h5"
        self.bank = folder / "bank"

    def file(self, stage: str) -> Path:
        return self.layout.file(stage, *self.run)

    def context(self) -> Context:
        tree = yaml.safe_load(params_file.PACKAGED.read_text(encoding="utf-8"))
        return Context(sections.Params("params.yaml", tree), self.layout, force=True)

    def answered(self) -> str:
        """Return what the bank says of the graph now, as `taamctl predict` prints it."""
        text = io.StringIO()
        answers.write_csv(load_bank(self.bank).predict(self.graph), text)
        return text.getvalue()

    def answers_of_then(self) -> str:
        return (self.folder / "answers.csv").read_text(encoding="utf-8")


@pytest.fixture
def entry(request: pytest.FixtureRequest, tmp_path: Path) -> Entry:
    return Entry(request.param, tmp_path)


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("entry", names, indirect=True)


def arrays(path: Path, kind: str) -> dict[str, Array]:
    with Artefact(path, schema.KINDS[kind]) as file:
        return {name: file.read(name) for name in file.paths()}


def test_every_entry_is_tested_and_the_archive_stays_small() -> None:
    found = sorted(HERE.glob("*.zip"))
    assert sorted(path.stem for path in found) == sorted(ENTRIES)
    assert sum(path.stat().st_size for path in found) < 480 * 1024
    page = (HERE / "README.md").read_text(encoding="utf-8")
    for name in ENTRIES:
        assert f"| `{name}.zip` |" in page


@of(*ENTRIES)
def test_artefacts_are_read_whole(entry: Entry) -> None:
    for stage, version in zip(STAGES, VERSIONS[entry.name], strict=True):
        with Artefact(entry.file(stage), schema.KINDS[stage]) as file:
            assert file.version == version
            assert file.params
            assert file.attributes()["schema_version"] == version
            for name in file.paths():
                assert file.read(name).shape == tuple(file.shape(name))


@of(*ENTRIES)
def test_evaluations_are_rows_of_a_report(entry: Entry) -> None:
    path = entry.file("eval")
    stored = json.loads(path.read_text(encoding="utf-8"))
    row = report_rows.run_row(path)
    assert row.aa == stored["parts"]["test"]["scopes"][row.scope][row.averaging]["aa"]
    assert row.task_id == "amp/cosine"
    assert row.settings["split"].keys() >= {"tasks", "parts"}
    if entry.name == "infer-1":  # what it could not know is not defined
        assert row.legacy_af is None
        assert row.task_id_grid == {}
        assert (row.settings["split"]["tasks"], row.settings["split"]["parts"]) == (
            "by_size",
            "drawn",
        )


@of(*WITH_BANK)
def test_lens_files_are_read(entry: Entry) -> None:
    path = entry.file("eval").with_name("lens.json")
    if entry.name == "infer-4":  # since the lens is a stage, it has a folder of its own
        path = entry.file("lens")
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert len(lens_table.rows([path])) == len(cells)


@of(*ENTRIES)
def test_reports_are_read_or_refused_with_the_command_that_mends_it(entry: Entry) -> None:
    path = entry.folder / "outputs" / "report" / "report.json"
    if entry.name not in OLD_REPORTS:
        (row,) = report_rows.read_rows(path)
        assert row.dataset == "tiny"
        return
    with pytest.raises(TaamctlError, match="is no taamctl.report that this taamctl can") as caught:
        report_rows.read_rows(path)
    assert "taamctl report --force" in caught.value.hint


@of(*WITH_BANK)
def test_banks_verify_and_answer_as_they_did(entry: Entry) -> None:
    found = verify(entry.bank)
    assert all(f.good for f in found), [f for f in found if not f.good]
    tasks = [f.said for f in found if f.what.startswith("task")]
    assert sum("equal in every bit" in said for said in tasks) == 2
    # The router of earlier banks was solved by an eigendecomposition, today's by a tridiagonal
    # matrix.
    (router,) = (f.said for f in found if f.what == "router")
    assert "equal to rounding" in router or (entry.name == "infer-4" and "every bit" in router)
    assert entry.answered() == entry.answers_of_then()


@of(*WITH_BANK)
def test_a_bank_is_upgraded_without_another_answer(entry: Entry) -> None:
    files = {path: path.read_bytes() for path in entry.bank.rglob("*.h5")}
    now, changes = bank_upgrade.upgrade(entry.bank)
    of_sums = "parameter bank.sums recorded: task"
    kept = "parameter bank.val_rows recorded: 0"
    edges = "parameter bank.edges recorded: task"
    later = [of_sums, kept, edges, "parameter infer.router recorded: prototype"]
    expected = dict.fromkeys(("bank-2", "graph-3", "evaluation-2"), (3, later))
    expected |= dict.fromkeys(("infer-3", "evaluation-3"), (3, [of_sums, kept, edges]))
    expected["infer-4"] = (3, [edges])
    usual = (3, ["manifest: format 1 to 2", *later])
    assert (now.generation, changes) == expected.get(entry.name, usual)
    assert {path: path.read_bytes() for path in entry.bank.rglob("*.h5")} == files
    assert all(f.good for f in verify(entry.bank))
    assert entry.answered() == entry.answers_of_then()
    assert bank_upgrade.upgrade(entry.bank) == (now, [])


@of(*WITH_BANK)
def test_graphs_are_read_and_upgraded_without_another_array(entry: Entry) -> None:
    assert _imported.module(entry.graph).META.nodes == 48
    before = arrays(entry.graph, "graph")
    named = entry.name not in WITHOUT_NAMES
    assert from_file(entry.graph).before_names == (not named)
    assert bool(_imported.read(entry.graph).feature_names) == named
    had = upgrade_graph.upgrade(entry.graph, wait=False, tell=lambda line: None)
    of_then = {"bank-2": 2, "infer-3": 2, "evaluation-2": 2}
    of_then |= dict.fromkeys(("graph-3", "evaluation-3", "infer-4"))
    assert had == of_then.get(entry.name, 1)
    after = arrays(entry.graph, "graph")
    assert list(after) == list(before)
    for name, array in after.items():
        assert array.dtype == before[name].dtype
        assert np.array_equal(array, before[name])
    assert from_file(entry.graph).before_names == (not named)
    assert upgrade_graph.upgrade(entry.graph, wait=False, tell=lambda line: None) is None
    assert entry.answered() == entry.answers_of_then()


@of(*ENTRIES)
def test_trained_methods_predict_as_they_did(entry: Entry) -> None:
    then = arrays(entry.file("infer"), "infer")
    infer_stage.run(entry.context(), *entry.run)
    now = arrays(entry.file("infer"), "infer")
    for part in ("val", "test"):
        for name in SAID:
            assert np.array_equal(now[f"{part}/{name}"], then[f"{part}/{name}"])


@of("bank-2")
def test_a_trained_method_with_other_recorded_parameters_predicts_the_same(
    entry: Entry, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    then = arrays(entry.file("infer"), "infer")
    with h5py.File(entry.file("train"), "r+") as file:
        made = json.loads(file.attrs["params"])
        made["train"]["momentum"] = 0.9
        del made["method"]["iterations"]
        file.attrs["params"] = json.dumps(made)
    with pytest.raises(TaamctlError, match="recorded.iterations: missing") as caught:
        infer_stage.run(entry.context(), *entry.run)
    assert caught.value.hint.startswith("make it again with: taamctl train --dataset tiny")
    place = "taamctl.methods.linear_probe:Params"
    monkeypatch.setitem(recorded_params.BEFORE, place, {"iterations": 1000})
    caplog.clear()
    infer_stage.run(entry.context(), *entry.run)
    assert "train.h5 records recorded.momentum = 0.9" in caplog.text
    now = arrays(entry.file("infer"), "infer")
    assert all(np.array_equal(now[name], then[name], equal_nan=True) for name in SAME)


@of("infer-1")
def test_what_the_first_predictions_lack_is_named(entry: Entry) -> None:
    with pytest.raises(
        TaamctlError, match="infer.h5 is of version 1 of infer, which has no val/legacy: .* since"
    ) as caught:
        eval_stage.run(entry.context(), *entry.run)
    assert caught.value.hint.startswith("make it again with: taamctl infer --dataset synthetic")


@of("infer-1", "infer-2", "bank-1")
def test_what_earlier_splits_lack_is_named(entry: Entry) -> None:
    made_by = entry.layout.command("split", entry.dataset)
    with Artefact(entry.file("split"), SPLIT, made_by) as split:
        with pytest.raises(TaamctlError, match="which has no features_sha256: .* version 3") as one:
            Parts.read(split, made_by)
        assert one.value.hint == f"make it again with: {made_by} --force"
        if entry.name == "bank-1":
            assert len(split.read("mixed/indptr"))
            return
        with pytest.raises(TaamctlError, match="version 1 of split, which has no mixed/indptr"):
            split.read("mixed/indptr")
