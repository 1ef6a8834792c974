"""A parser in a process of its own: what it returns, and what becomes of one that goes wrong."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sp
import torch

from taamctl.core.errors import TaamctlError
from taamctl.importing import guarded, guarded_child, importers, torch_file


def returned(folder: Path, values: dict[str, Any]) -> dict[str, Any]:
    """Return values as they come back from the child."""
    said = json.loads(json.dumps(guarded_child.written(folder, values)))
    return {name: guarded._part(folder, part) for name, part in said["parts"].items()}


def test_values_come_back_as_they_were(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    words = ["", "a", "ü\n", "x" * 300, "\0", "名", None]
    for k in range(30):
        n = int(rng.integers(0, 6))
        values = {
            "numbers": rng.random((n, 3)).astype(rng.choice(["f4", "f8", "i8", "?"])),
            "text": np.array(words, object)[rng.integers(0, len(words), n)],
            "mixed": np.array([1, 2.5, None, True, "a"], object),
            "fixed": np.array(["a", "bc"][: n % 3], "U2"),
            "plain": ["a", 1, None],
            "nothing": None,
            "sparse": sp.random(4, 5, 0.4, "csr", rng=int(rng.integers(99))),
        }
        folder = tmp_path / str(k)
        folder.mkdir()
        made = returned(folder, values)
        for name, value in values.items():
            if sp.issparse(value):
                np.testing.assert_array_equal(made[name].toarray(), value.toarray())
            else:
                np.testing.assert_array_equal(made[name], value)


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import os; os.abort()", r"its parser stopped \((signal|exit code) \d+\)"),
        ("import sys; sys.exit(3)", r"its parser stopped \(exit code 3\)"),
        ("import time; time.sleep(60)", r"its parser has not come to an end in 1 s"),
    ],
)
def test_a_process_that_goes_wrong(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str, message: str
) -> None:
    monkeypatch.setattr(guarded, "_CALL", code)
    monkeypatch.setattr(guarded, "child_seconds", lambda size: 1)
    (tmp_path / "a.bin").write_bytes(b"x")
    with pytest.raises(TaamctlError, match=rf"a\.bin cannot be read: {message}"):
        guarded.call("none:none", tmp_path / "a.bin")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="needs a limit on memory")
def test_a_small_file_that_unpacks_to_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    path = tmp_path / "nodes.parquet"
    pq.write_table(pa.table({"x": np.zeros(1 << 25)}), path)
    assert path.stat().st_size < 1 << 20
    monkeypatch.setattr(guarded, "child_memory", lambda size: 64 << 20)
    with pytest.raises(TaamctlError, match=r"nodes\.parquet cannot be read"):
        guarded.call("parquet_child:columns_of", path, libraries="pyarrow.parquet")


def test_tensors_are_read_as_torch_reads_them(tmp_path: Path) -> None:
    torch.manual_seed(0)
    path, base = tmp_path / "a.pt", torch.rand(6, 8)
    kinds = (torch.int8, torch.int64, torch.float16, torch.float64, torch.bool, torch.uint8)
    tensors = {str(kind): (base * 9).to(kind) for kind in kinds}
    tensors |= {
        "cut": base[1:5, 2:3],
        "turned": base.t(),
        "spread": base[:1].expand(3, 8),
        "none": torch.empty(0, 3),
        "one": torch.tensor(2.5),
        "half": base.to(torch.bfloat16),
        "parameter": torch.nn.Parameter(torch.ones(2)),
        "steps": base[::2, ::3],
    }
    torch.save(tensors, path)
    made = torch_file.load(path)
    assert isinstance(made, dict)
    for name, tensor in tensors.items():
        expected = tensor.detach()
        if name == "half":
            expected = expected.float()
        np.testing.assert_array_equal(made[name], expected.numpy())
        assert made[name].dtype == expected.numpy().dtype


@pytest.mark.parametrize(
    ("size", "stride", "offset"), [((3, 3), (3, 1), 1), ((10**12,), (1,), 0), ((2,), (1 << 40,), 0)]
)
def test_a_tensor_that_reaches_beyond_its_bytes(
    size: tuple[int, ...], stride: tuple[int, ...], offset: int
) -> None:
    storage = torch_file._Storage(np.zeros(9, np.float32), "Float")
    with pytest.raises(ValueError, match="a tensor"):
        torch_file._tensor(storage, offset, size, stride)


def test_reading_what_torch_wrote_needs_no_torch(tmp_path: Path) -> None:
    torch.save({"x": torch.eye(3), "edge_index": torch.tensor([[0, 1], [1, 2]])}, tmp_path / "a.pt")
    code = (
        "import sys; sys.modules['torch'] = None; from pathlib import Path; "
        "from taamctl.importing.torch_file import load; print(load(Path(sys.argv[1]))['x'].shape)"
    )
    import subprocess

    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path / "a.pt")],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout.strip() == "(3, 3)", done.stderr


def test_a_document_type_of_gexf(tmp_path: Path) -> None:
    pytest.importorskip("networkx")
    path = tmp_path / "a.gexf"
    path.write_text(
        '<?xml version="1.0"?><!DOCTYPE gexf [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;">]>'
        "<gexf><graph>&b;</graph></gexf>",
        encoding="utf-8",
    )
    with pytest.raises(TaamctlError, match=r"a\.gexf declares a document type"):
        importers.read("own", [path])
