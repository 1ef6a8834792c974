"""What systems differ in."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.core import memory, this_system
from taamctl.core.errors import TaamctlError
from taamctl.core.registry import refuse_taken
from taamctl.importing import importers
from taamctl.propagation.column_blocks import FileBlocks
from taamctl.store import atomic_files

HERE = """
import sys
sys.byteorder, sys.maxsize = {order!r}, {most}
sys.argv = ["taamctl", "data", "list"]
from taamctl.cli.app import entry
entry()
"""


def test_a_matrix_in_a_file_reads_as_it_was_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x = np.random.default_rng(0).standard_normal((50, 7)).astype(np.float32)
    for name in ("preadv", "pread", "pwrite", "pwritev"):  # what one system or other has not
        monkeypatch.delattr(os, name, raising=False)
    with (tmp_path / "m").open("w+b", buffering=0) as file:
        blocks = FileBlocks(file.fileno(), x.shape, 3, start=8)
        blocks.write_rows(0, x[:20])
        blocks.write_rows(20, x[20:])
        assert np.array_equal(blocks.rows(10, 40), x[10:40])
        assert np.array_equal(blocks.columns(6), x[:, 6:])
        blocks.write_columns(3, x[:, :3])
        assert np.array_equal(blocks.columns(3), x[:, :3])
    want = np.concatenate([x[:, :3].ravel(), x[:, :3].ravel(), x[:, 6:].ravel()])
    assert (tmp_path / "m").read_bytes() == bytes(8) + want.tobytes()


def test_a_file_that_ends_early_is_told(tmp_path: Path) -> None:
    with (tmp_path / "m").open("w+b", buffering=0) as file:
        file.write(b"1234")
        with pytest.raises(TaamctlError, match="ended early"):
            FileBlocks(file.fileno(), (2, 2), 2).columns(0)


def test_a_folder_that_cannot_be_opened_is_not_synced(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delattr(os, "O_DIRECTORY", raising=False)
    this_system.sync_folder(tmp_path / "nowhere")
    atomic_files.write_text(tmp_path / "a.txt", "one\ntwo\n")
    assert (tmp_path / "a.txt").read_bytes() == b"one\ntwo\n"


def test_a_text_with_the_line_ends_of_windows_is_read(tmp_path: Path) -> None:
    (tmp_path / "a.json").write_bytes(b'{\r\n "a": 1\r\n}\r\n')
    assert atomic_files.read_json(tmp_path / "a.json") == {"a": 1}


def test_the_peak_is_told_without_the_module_resource(monkeypatch: pytest.MonkeyPatch) -> None:
    memory.used()  # psutil's own part for Linux imports it
    monkeypatch.setitem(sys.modules, "resource", None)
    assert memory.peak() > 0


@pytest.mark.parametrize(
    ("name", "value", "message"),
    [("byteorder", "big", "big-endian"), ("maxsize", 2**31 - 1, "32-bit")],
)
def test_a_machine_without_right_numbers_is_refused(
    monkeypatch: pytest.MonkeyPatch, name: str, value: object, message: str
) -> None:
    this_system.require_machine()
    monkeypatch.setattr(sys, name, value)
    with pytest.raises(TaamctlError, match=message):
        this_system.require_machine()


def test_the_command_and_the_package_refuse_such_a_machine(
    tmp_path: Path, support: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    import taamctl

    for order, most, word in (
        ("big", sys.maxsize, "big-endian"),
        ("little", 2**31 - 1, "32-bit"),
    ):
        code = HERE.format(order=order, most=most)
        done = subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=support.environment(),
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 2
        assert word in done.stderr
        assert "hint: " in done.stderr
        assert "Traceback" not in done.stderr
    monkeypatch.setattr(sys, "byteorder", "big")
    with pytest.raises(TaamctlError, match="big-endian"):
        _ = taamctl.load_bank


@pytest.mark.parametrize("name", ["con", "nul", "aux", "prn", "com1", "lpt9"])
def test_no_data_set_is_called_as_a_device_of_windows(name: str) -> None:
    with pytest.raises(TaamctlError, match=f"'{name}' is no name"):
        refuse_taken("taamctl.datasets", name)
    refuse_taken("taamctl.datasets", f"{name}_2")
    refuse_taken("taamctl.datasets", f"my_{name}")


def test_a_file_of_a_big_endian_machine_reads_as_one_of_this(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    edges, y = rng.integers(0, 40, (2, 90)), np.arange(40) % 4
    x = rng.standard_normal((40, 5)).astype(np.float32)
    read = {}
    for order in "<>":
        np.savez(
            tmp_path / "g.npz",
            x=x.astype(f"{order}f4"),
            edge_index=edges.astype(f"{order}i8"),
            y=y.astype(f"{order}i4"),
        )
        read[order] = importers.read("g", [tmp_path / "g.npz"])
    little, big = (read[order] for order in "<>")
    assert np.array_equal(little.features, big.features)
    assert np.array_equal(big.features, x)
    assert np.array_equal(little.labels, big.labels)
    assert np.array_equal(little.adjacency.indices, big.adjacency.indices)
    assert big.features.dtype.isnative
