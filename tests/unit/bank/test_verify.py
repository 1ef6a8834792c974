"""The certificate: every kind of tampering is found, and the culprit named.

A bank in one file comes out as it went in.
"""

from __future__ import annotations

import io
import json
import shutil
import tarfile
from dataclasses import replace
from pathlib import Path

import pytest

from taamctl.bank import manifest as manifests
from taamctl.bank import store, transfer
from taamctl.bank.bank import load_bank
from taamctl.bank.verify import verify
from taamctl.core.errors import TaamctlError


def bad(folder: Path) -> dict[str, str]:
    return {f.what: f.said for f in verify(folder) if not f.good}


def flip(path: Path, at: int) -> None:
    data = bytearray(path.read_bytes())
    data[at] ^= 1
    path.write_bytes(bytes(data))


@pytest.fixture
def files(bank: Path) -> tuple[Path, Path]:
    return tuple(bank / t.file for t in store.current(bank).tasks)  # type: ignore[return-value]


def test_a_whole_bank_is_equal_in_every_bit(bank) -> None:
    found = verify(bank)
    assert all(f.good for f in found)
    assert sum("equal in every bit" in f.said for f in found) == 3  # two tasks and the router


def test_flipped_cut_missing_swapped_and_extra_files_are_named(bank, files) -> None:
    first, second = files
    keep = {p: p.read_bytes() for p in store.files(bank)}

    def mended() -> None:
        for path, data in keep.items():
            path.write_bytes(data)
        assert not bad(bank)

    name = first.relative_to(bank).as_posix()
    flip(first, first.stat().st_size // 2)
    assert list(bad(bank)) == [name]
    with pytest.raises(TaamctlError, match="not the file that the bank lists"):
        load_bank(bank).task(0)
    mended()
    first.write_bytes(keep[first][:-100])
    assert list(bad(bank)) == [name]
    mended()
    first.unlink()
    assert bad(bank) == {name: "missing"}
    mended()
    first.write_bytes(keep[second])
    second.write_bytes(keep[first])
    assert bad(bank) == {
        name: f"it is {second.relative_to(bank)}",
        second.relative_to(bank).as_posix(): f"it is {name}",
    }
    mended()
    (bank / "tasks" / "0009-00000000.h5").write_bytes(b"x")
    assert bad(bank) == {"tasks/0009-00000000.h5": "no generation lists this file"}
    (bank / "tasks" / "0009-00000000.h5").unlink()
    for path in keep:
        if path.suffix == ".h5":
            flip(path, 3000)
            assert list(bad(bank)) == [path.relative_to(bank).as_posix()]
            mended()


def test_an_edited_manifest_is_found_even_with_its_copy(bank) -> None:
    path = bank / "manifest.json"
    text = path.read_text()
    for old, new in (
        ('"a"', '"z"'),
        ('"generation": 2', '"generation": 1'),
        ('"seed": 1', '"seed": 2'),
    ):
        assert old in text
        path.write_text(text.replace(old, new))
        assert "does not match its own checksum" in bad(bank)["manifest.json"]
        with pytest.raises(TaamctlError, match="does not match its own checksum"):
            load_bank(bank)
    path.write_text("{")
    assert "broken" in bad(bank)["manifest.json"]
    path.write_text(text)
    flip(bank / "manifests" / "0001.json", 400)
    assert "manifests/0001.json" in bad(bank)
    assert not store.strays(bank)
    (bank / "manifests" / "0001.json").unlink()
    assert bad(bank)["manifests/0001.json"] == "missing"
    now = store.current(bank)  # consistent in itself, but not what follows generation 0
    manifests.write(bank, replace(now, generation=1, previous="0" * 64))
    shutil.copy(bank / "manifests" / "0002.json", bank / "manifest.json")
    apart = "it does not follow the generation before"
    assert {what: said for what, said in bad(bank).items() if "manifest" in what} == {
        f"manifests/000{n}.json": apart for n in (1, 2)
    }


def test_other_outputs_fail_even_where_every_checksum_is_right(bank, monkeypatch) -> None:
    from taamctl.bank import task_file

    right = task_file.reference
    for shift, verdict in ((1e-6, {}), (0.1, {"task 1", "task 2"})):
        monkeypatch.setattr(task_file, "reference", lambda m, s, by=shift: right(m, s) * (1 + by))
        assert set(bad(bank)) == set(verdict)
        assert any("equal to rounding" in f.said for f in verify(bank)) == (not verdict)


def test_no_bank_is_an_error_not_a_verdict(tmp_path) -> None:
    with pytest.raises(TaamctlError, match="no bank in"):
        verify(tmp_path)


def test_a_bank_in_one_file_comes_out_as_it_went_in(bank, tmp_path, graph) -> None:
    for name in ("a.tar", "b.tar"):
        transfer.export(bank, tmp_path / name)
    assert (tmp_path / "a.tar").read_bytes() == (tmp_path / "b.tar").read_bytes()
    transfer.restore(tmp_path / "a.tar", tmp_path / "new")
    assert not bad(tmp_path / "new")
    query = graph(tuple("abcd"), seed=5)
    assert load_bank(tmp_path / "new").predict(query).names == load_bank(bank).predict(query).names
    with pytest.raises(TaamctlError, match="there already"):
        transfer.restore(tmp_path / "a.tar", tmp_path / "new")


def test_a_damaged_or_hostile_file_makes_no_bank(bank, files, tmp_path) -> None:
    transfer.export(bank, tmp_path / "a.tar")
    whole = (tmp_path / "a.tar").read_bytes()
    at = whole.index(files[0].read_bytes()) + 5000
    (tmp_path / "flipped.tar").write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
    with pytest.raises(TaamctlError, match=r"damaged: tasks/0001-[0-9a-f]+\.h5"):
        transfer.restore(tmp_path / "flipped.tar", tmp_path / "x")
    (tmp_path / "cut.tar").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TaamctlError, match="cut off|damaged"):
        transfer.restore(tmp_path / "cut.tar", tmp_path / "x")
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        member = tarfile.TarInfo("../evil")
        archive.addfile(member, io.BytesIO())
    with pytest.raises(TaamctlError, match="no exported bank: it holds"):
        transfer.restore(tmp_path / "evil.tar", tmp_path / "x")
    assert not (tmp_path / "x").exists()
    assert not list(tmp_path.glob(".bank-*"))
    flip(files[0], 4000)
    with pytest.raises(TaamctlError, match="missing or was changed"):
        transfer.export(bank, tmp_path / "b.tar")
    assert json.loads((bank / "manifest.json").read_text())["generation"] == 2


def test_a_bank_with_a_damaged_earlier_manifest_is_not_exported(bank, tmp_path) -> None:
    earlier = sorted((bank / "manifests").glob("*.json"))[0]
    content = bytearray(earlier.read_bytes())
    content[:64] = bytes(64)
    earlier.write_bytes(content)
    with pytest.raises(TaamctlError, match=earlier.name):
        transfer.export(bank, tmp_path / "out.tar")
    assert not (tmp_path / "out.tar").exists()
