from __future__ import annotations

import errno
import os
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.slices import Slices
from taamctl.learning.routing.stage_answers import StageAnswers, label_type
from taamctl.runtime import provenance
from taamctl.store import artefact_writer, artefacts, atomic_files, lock, schema
from taamctl.store.checkpoints import FileCheckpoints
from taamctl.store.infer_kind import INFER
from taamctl.store.precompute_kind import PRECOMPUTE
from taamctl.store.split_kind import SPLIT
from taamctl.store.train_kind import TRAIN


def _fill(writer: artefact_writer.Writer) -> None:
    writer.put("stream/bounds", [(0, 2), (2, 4)])
    writer.put("loss", np.arange(6, dtype=np.float32).reshape(2, 3))
    writer.put("stages/00/w", np.random.default_rng(0).random((300, 1024)).astype(np.float32))
    writer.attribute("note", "x")


def _made(tmp_path: Path) -> Path:
    path = tmp_path / "deep" / "train.h5"
    artefact_writer.create(path, TRAIN, {"b": 1, "a": 2.0}, _fill)
    return path


def test_same_content_same_bytes_and_a_round_trip(tmp_path: Path) -> None:
    path = _made(tmp_path)
    first = path.read_bytes()
    _made(tmp_path)
    assert path.read_bytes() == first
    with artefacts.Artefact(path, TRAIN) as artefact:
        assert artefact.params == {"a": 2.0, "b": 1}
        assert artefact.read("stream/bounds").tolist() == [[0, 2], [2, 4]]
        assert artefact.paths("stages") == ["stages/00/w"]
        assert artefact.describe("loss")["dims"] == ["T", "epoch"]
        assert artefact.attribute("note") == "x"
    assert os.listdir(path.parent) == ["train.h5"]


def test_text_and_row_chunks(tmp_path: Path) -> None:
    path = tmp_path / "split.h5"
    artefact_writer.create(path, SPLIT, {}, lambda w: w.put("classes/name", ["ä", "b" * 50]))
    with artefacts.Artefact(path) as artefact:
        assert artefact.read("classes/name").tolist() == ["ä", "b" * 50]
    with h5py.File(_made(tmp_path)) as raw:
        assert raw["stages/00/w"].chunks == (150, 1024)
        assert raw["loss"].chunks is None


def test_a_failing_writer_leaves_the_old_file_and_nothing_else(tmp_path: Path) -> None:
    path = _made(tmp_path)
    before = path.read_bytes()

    def fails(writer: artefact_writer.Writer) -> None:
        _fill(writer)
        raise ValueError("in the middle")

    with pytest.raises(ValueError, match="in the middle"):
        artefact_writer.create(path, TRAIN, {}, fails)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["train.h5"]


def test_entries_follow_the_table(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no entry colour"):
        artefact_writer.create(tmp_path / "a.h5", SPLIT, {}, lambda w: w.put("colour", [1]))
    with pytest.raises(ValueError, match="2 dimensions, the schema says"):
        artefact_writer.create(tmp_path / "a.h5", SPLIT, {}, lambda w: w.put("nodes/y", [[1]]))
    assert not (tmp_path / "a.h5").exists()


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        ("truncate", "is broken"),
        ("unmark", "is incomplete"),
        ("flip", "does not match its checksum"),
        ("text", "is broken"),
        ("version", "has version 99 of train, and this taamctl reads version 1"),
        ("missing", "no file"),
    ],
)
def test_damage_is_noticed(tmp_path: Path, damage: str, message: str) -> None:
    path = _made(tmp_path)
    if damage == "truncate":
        path.write_bytes(path.read_bytes()[:5000])
    elif damage == "text":
        path.write_text("not HDF5")
    elif damage == "missing":
        path.unlink()
    elif damage == "flip":
        data = bytearray(path.read_bytes())
        data[len(data) - 100_000] ^= 1
        path.write_bytes(bytes(data))
    else:
        with h5py.File(path, "r+") as raw:
            raw.attrs.modify("complete", False) if damage == "unmark" else raw.attrs.modify(
                "schema_version", 99
            )

    def read() -> None:
        with artefacts.Artefact(path, TRAIN, "taamctl train") as artefact:
            for entry in artefact.paths():
                artefact.read(entry)

    with pytest.raises(TaamctlError, match=message) as caught:
        read()
    assert "taamctl train" in caught.value.hint


def test_another_kind_is_refused(tmp_path: Path) -> None:
    with pytest.raises(TaamctlError, match="holds a train artefact, expected split"):
        artefacts.Artefact(_made(tmp_path), SPLIT)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        (errno.ENOSPC, "no space left"),
        (errno.EACCES, "Permission denied"),
        (errno.EROFS, "Read-only"),
    ],
)
def test_system_errors_become_one_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, message: str
) -> None:
    def refuse(*_: Any) -> None:
        raise OSError(code, os.strerror(code))

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(TaamctlError, match=message) as caught:
        atomic_files.write_json(tmp_path / "a.json", {})
    assert str(tmp_path / "a.json") in caught.value.message
    assert os.listdir(tmp_path) == []


def test_json_is_strict(tmp_path: Path) -> None:
    atomic_files.write_json(
        tmp_path / "a.json",
        {"x": np.float64("nan"), "y": np.array([1.0, np.inf]), 3: (np.int64(1),)},
    )
    assert atomic_files.read_json(tmp_path / "a.json") == {"x": None, "y": [1.0, None], "3": [1]}
    (tmp_path / "a.json").write_text("{")
    with pytest.raises(TaamctlError, match="no valid JSON"):
        atomic_files.read_json(tmp_path / "a.json")


def test_stale_temporary_files_are_swept(tmp_path: Path) -> None:
    (tmp_path / ".a.h5.999.tmp").write_text("x")
    (tmp_path / ".b.h5.999.tmp").write_text("x")
    atomic_files.sweep(tmp_path / "a.h5")
    assert os.listdir(tmp_path) == [".b.h5.999.tmp"]


def test_every_schema_entry_is_documented() -> None:
    for kind in schema.KINDS.values():
        for path, entry in kind.entries.items():
            assert entry.doc, path
            assert entry.dims, path
    assert PRECOMPUTE.entry("tasks/17/val/H") is PRECOMPUTE.entries["tasks/{task}/{part}/H"]
    assert PRECOMPUTE.entry("tasks/17/val/Q") is None


def test_a_lock_names_its_owner_and_is_free_afterwards(tmp_path: Path) -> None:
    told: list[str] = []
    with (
        lock.writing(tmp_path / "a.h5", wait=True, tell=told.append),
        pytest.raises(TaamctlError, match=f"process {os.getpid()} on"),
        lock.writing(tmp_path / "a.h5", wait=False, tell=told.append),
    ):
        pass
    with lock.writing(tmp_path / "a.h5", wait=False, tell=told.append):
        assert not told


def test_checkpoints_of_another_run_are_not_seen(tmp_path: Path) -> None:
    store = FileCheckpoints(tmp_path / "c", lambda: {"lr": 1})
    store.save(0, {"nsm/w": np.arange(3)}, {"adam/0/step": np.array(2.0)}, np.zeros(2, np.float32))
    saved = store.load(0)
    assert saved is not None
    assert saved[0]["nsm/w"].tolist() == [0, 1, 2]
    assert float(saved[1]["adam/0/step"]) == 2
    assert store.load(1) is None
    assert FileCheckpoints(tmp_path / "c", lambda: {"lr": 2}).load(0) is None
    (tmp_path / "c" / "task-000.h5").write_bytes(b"")
    assert store.load(0) is None
    other = FileCheckpoints(tmp_path / "c", lambda: {"lr": 2})
    other.save(1, {"w": np.arange(2)}, {}, np.zeros(2, np.float32))
    store.remove()
    assert other.load(1) is not None, "another run's finished task is not this run's to delete"
    other.remove()
    assert not (tmp_path / "c").exists()


def test_a_stamp_spares_reading_until_the_file_changes(tmp_path: Path) -> None:
    file = tmp_path / "f"
    file.write_text("a")
    stamp = provenance.stamp(file)
    assert provenance.digest_of(file, {**stamp, "sha256": "remembered"}) == "remembered"
    file.write_text("b!")
    assert provenance.digest_of(file, stamp) == provenance.sha256(file) != stamp["sha256"]


@pytest.mark.parametrize("shape", [(0, 3), (5, 3), (300, 1024), (1_000, 700), (700_001,)])
@pytest.mark.parametrize("cut", [1_000_000, 333, 64])
def test_rows_in_slices_give_the_bytes_of_the_whole_array(
    tmp_path: Path, shape: tuple[int, ...], cut: int
) -> None:
    where = "tasks/00/train/H" if len(shape) == 2 else "tasks/00/train/x_data"
    x = np.random.default_rng(0).random(shape).astype(np.float32)
    slices = Slices(shape, lambda: (x[low : low + cut] for low in range(0, len(x), cut)))
    files = []
    for name, values in (("whole", x), ("slices", slices)):
        artefact_writer.create(
            tmp_path / name,
            PRECOMPUTE,
            {},
            lambda w, v=values: [
                w.put("tasks/00/train/y", [1]),
                w.put(where, v),
                w.put("tasks/00/val/y", [2]),
            ],
        )
        files.append((tmp_path / name).read_bytes())
    assert files[0] == files[1]
    with artefacts.Artefact(tmp_path / "slices") as made:
        assert np.array_equal(made.read(where), x)
        made.verify(where)
    assert np.array_equal(slices.whole(), x)


def test_slices_of_another_number_of_rows_are_refused_and_leave_nothing(tmp_path: Path) -> None:
    for rows in (1_999, 2_001):
        with pytest.raises((ValueError, TypeError), match="should have 2000 rows|broadcast"):
            artefact_writer.create(
                tmp_path / "x",
                PRECOMPUTE,
                {},
                lambda w, n=rows: w.put_rows(
                    "tasks/00/train/H", (2_000, 300), [np.zeros((n, 300), np.float32)]
                ),
            )
    with pytest.raises(ValueError, match="no entry loss"):
        artefact_writer.create(
            tmp_path / "x", PRECOMPUTE, {}, lambda w: w.put_rows("loss", (1,), [np.zeros(1)])
        )
    assert not list(tmp_path.iterdir())


def test_damage_is_found_without_reading_the_array_at_once(tmp_path: Path) -> None:
    path = _made(tmp_path)
    data = bytearray(path.read_bytes())
    with artefacts.Artefact(path) as made:
        value = made.read("stages/00/w")[299, 1023].tobytes()
    at = data.rindex(value)
    data[at] ^= 1
    path.write_bytes(data)
    with (
        artefacts.Artefact(path) as made,
        pytest.raises(TaamctlError, match="stages/00/w does not match its checksum"),
    ):
        made.verify("stages/00/w")


@pytest.mark.parametrize("step", [7, 100, 300])
def test_rows_that_are_read_in_order_are_checked_at_the_end(tmp_path: Path, step: int) -> None:
    path = _made(tmp_path)

    def read_in_order() -> None:
        with artefacts.Artefact(path) as made:
            made.rows("stages/00/w", 0, 5)  # a look at its head begins no pass for what follows
            made.rows("stages/00/w", 100, 110)
            for low in range(0, 300, step):
                made.rows("stages/00/w", low, min(300, low + step))

    read_in_order()
    data = bytearray(path.read_bytes())
    with artefacts.Artefact(path) as made:
        value = made.read("stages/00/w")[0, 0].tobytes()
    data[data.index(value)] ^= 1
    path.write_bytes(data)
    with pytest.raises(TaamctlError, match="stages/00/w does not match its checksum"):
        read_in_order()


@pytest.mark.parametrize("kept", ["int16", "int32"])
def test_predictions_are_kept_in_the_type_that_they_come_in(tmp_path: Path, kept: str) -> None:
    path = tmp_path / "infer.h5"
    predicted = np.random.default_rng(0).integers(-1, 30, (5, 40))
    values = {"int16": predicted.astype(np.int16), "int32": predicted}
    artefact_writer.create(path, INFER, {}, lambda w: w.put("val/all_seen", values[kept]))
    with artefacts.Artefact(path, INFER) as made:
        read = made.read("val/all_seen")
    assert read.dtype == kept
    assert np.array_equal(read, predicted)


@pytest.mark.parametrize("count", [40, 400_000])
@pytest.mark.parametrize("classes", [32_768, 32_769])
def test_predictions_of_all_stages_are_kept_in_the_smallest_type(
    tmp_path: Path, count: int, classes: int
) -> None:
    path = tmp_path / "infer.h5"
    kind = label_type(classes)
    answers = StageAnswers((3, count), kind, tmp_path)
    answers.put(1, slice(0, 2), np.array([0, classes - 1]))
    artefact_writer.create(path, INFER, {}, lambda w: w.put("val/all_seen", answers.slices()))
    with artefacts.Artefact(path, INFER) as made:
        read = made.read("val/all_seen")
    assert read.dtype == kind
    assert np.array_equal(read, answers.array())
    assert read[1, :3].tolist() == [0, classes - 1, -1]
