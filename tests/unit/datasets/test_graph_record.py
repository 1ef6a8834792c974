"""A user's own graph is held against the record beside it, every byte of it."""

from __future__ import annotations

import json
import os
import random
import shlex
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from taamctl.bank.graph_source import OnDisk, from_file
from taamctl.core.errors import TaamctlError
from taamctl.core.types import NodeGraph
from taamctl.datasets import _graph_file, _graph_rows, _imported
from taamctl.graph.canonical import adjacency_from_edges
from taamctl.importing import upgrade_graph
from taamctl.pipeline import check_files
from taamctl.runtime import provenance


def graph(nodes: int = 40, features: int = 3) -> NodeGraph:
    rng = np.random.default_rng(nodes)
    ends = rng.integers(0, nodes, (2, 3 * nodes))
    ends = ends[:, ends[0] != ends[1]]
    adjacency, _ = adjacency_from_edges(ends[0], ends[1], nodes, "g")
    x = rng.random((nodes, features)).astype(np.float32)
    return NodeGraph("g", adjacency, x, np.arange(nodes) % 4, ("a", "b", "c", "d"), ())


@pytest.fixture
def path(tmp_path: Path) -> Path:
    file = tmp_path / "data" / "g.h5"
    _imported.write(file, graph(), {}, command="taamctl data import 'my nodes.csv' --name g")
    return file


def damage(path: Path, at: int) -> None:
    """Change one bit, and keep the time, as rot does."""
    before, content = path.stat(), bytearray(path.read_bytes())
    content[at] ^= 1 << (at % 8)
    path.write_bytes(bytes(content))
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


@pytest.mark.parametrize("seed", range(8))
def test_no_damaged_byte_is_read(path: Path, seed: int) -> None:
    damage(path, random.Random(seed).randrange(path.stat().st_size))
    for read in (_imported.read, _imported.module, _graph_rows.features, from_file, OnDisk):
        with pytest.raises(TaamctlError, match=r"g\.h5 is not as it was written") as refused:
            read(path)
        assert "taamctl data import 'my nodes.csv' --name g --force" in refused.value.hint
    (state,) = check_files.below(path.parent)
    assert (state.state, state.path) == ("damaged", str(path))
    assert state.mend == "taamctl data import 'my nodes.csv' --name g --force"
    with pytest.raises(TaamctlError, match="is not as it was written"):
        upgrade_graph.upgrade(path, wait=False, tell=lambda line: None)


def test_a_long_command_is_looked_up_in_the_record(tmp_path: Path) -> None:
    path = tmp_path / "g.h5"
    _imported.write(path, graph(), {}, command="taamctl data import " + "--features x " * 99)
    damage(path, 900)
    with pytest.raises(TaamctlError, match="is not as it was written") as refused:
        _imported.read(path)
    assert f"the command in {path}.provenance.json" in refused.value.hint
    assert len(refused.value.hint) < 400


def test_a_hole_in_a_large_file_is_seen_by_its_time(tmp_path: Path) -> None:
    path = tmp_path / "big.h5"
    _imported.write(path, graph(400, 1000), {})
    assert path.stat().st_size > provenance.SMALL
    content = bytearray(path.read_bytes())
    content[512:1024] = bytes(512)
    path.write_bytes(bytes(content))
    os.utime(path, (1, 1))
    with pytest.raises(TaamctlError, match="is not as it was written"):
        _imported.read(path)


def test_a_graph_without_a_record_is_read_and_gets_one(path: Path) -> None:
    provenance.sidecar_of(path).unlink()
    assert _imported.read(path).num_nodes == 40
    content = path.read_bytes()
    for _ in range(2):
        assert upgrade_graph.upgrade(path, wait=False, tell=lambda line: None) is None
        assert path.read_bytes() == content
        assert provenance.recorded(path) is not None
    damage(path, len(content) // 2)
    with pytest.raises(TaamctlError, match="is not as it was written"):
        _imported.read(path)


def test_a_damaged_graph_without_a_record_gets_none(path: Path) -> None:
    provenance.sidecar_of(path).unlink()
    with _graph_file.opened(path) as file:
        at = file._handle["features/dense"].id.get_offset()
    damage(path, at + 5)
    with pytest.raises(TaamctlError, match="does not match its checksum"):
        upgrade_graph.upgrade(path, wait=False, tell=lambda line: None)
    assert provenance.recorded(path) is None


def test_a_graph_is_renamed_and_copied_with_its_record(path: Path) -> None:
    other = path.with_name("h.h5")
    path.rename(other)
    provenance.sidecar_of(path).rename(provenance.sidecar_of(other))
    os.utime(other, (5e8, 5e8))
    assert _imported.read(other).name == "h"
    assert [state.state for state in check_files.below(other.parent)] == ["ok"]
    assert check_files.one(other).state == "ok"
    damage(other, 700)
    assert check_files.one(other).state == "damaged"
    with pytest.raises(TaamctlError, match=r"h\.h5 is not as it was written"):
        _imported.read(other)


def test_another_file_is_taken_where_that_is_meant(path: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.h5"
    _imported.write(other, graph(24), {})
    path.write_bytes(other.read_bytes())
    with pytest.raises(TaamctlError, match="another file was put here") as refused:
        _imported.read(path)
    rm = shlex.split(refused.value.hint.rpartition(": ")[2])
    assert rm == ["rm", str(provenance.sidecar_of(path))]
    Path(rm[1]).unlink()
    assert _imported.read(path).num_nodes == 24


@pytest.mark.parametrize("when", ["before the file", "after the file"])
def test_an_import_that_is_killed_leaves_a_graph_that_can_be_read(
    when: str, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Killed(BaseException):
        pass

    def die(*_: object) -> None:
        raise Killed

    with monkeypatch.context() as during:
        if when == "before the file":
            during.setattr(_imported.artefact_writer, "create", die)
        else:
            during.setattr(_graph_file, "keep", die)
        with pytest.raises(Killed):
            _imported.write(path, graph(24), {})
    assert _imported.read(path).num_nodes == (40 if when == "before the file" else 24)


def test_equal_graphs_stay_equal_files(path: Path, tmp_path: Path) -> None:
    again = tmp_path / "again" / "g.h5"
    _imported.write(again, graph(), {})
    assert again.read_bytes() == path.read_bytes()


def test_predict_answers_nothing_from_a_damaged_graph(tmp_path: Path, support: ModuleType) -> None:
    rows = [f"n{i},{'abcd'[i % 4]},{i * i % 7}" for i in range(60)]
    (tmp_path / "nodes.csv").write_text("\n".join(["id,label,size_cm", *rows]) + "\n")
    ends = [f"n{i},n{(i + 4) % 60}" for i in range(60)]
    (tmp_path / "edges.csv").write_text("\n".join(["source,target", *ends]) + "\n")
    imported = ("data", "import", "nodes.csv", "edges.csv", "--name", "g")
    assert support.taamctl(tmp_path, *imported).code == 0
    file = tmp_path / "data" / "g.h5"
    record = json.loads(provenance.sidecar_of(file).read_text())
    damage(file, file.stat().st_size // 3)
    done = support.taamctl(tmp_path, "split", "--dataset", "g")
    assert done.code == 2
    assert record["command"] in done.err
    right = support.taamctl(tmp_path, *shlex.split(record["command"])[1:], "--force")
    assert right.code == 0, right.err
    assert support.taamctl(tmp_path, "split", "--dataset", "g").code == 0
