"""Files that hold no graph are named by what they are."""

from __future__ import annotations

import bz2
import io
import pickle
import tarfile
import zipfile
from pathlib import Path

import pytest

from taamctl.core.errors import TaamctlError
from taamctl.importing import importers


def zipped(*names: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        for name in names:
            archive.writestr(name, "x")
    return stream.getvalue()


def tarred() -> bytes:
    stream = io.BytesIO()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        archive.addfile(tarfile.TarInfo("a.csv"), io.BytesIO(b""))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("content", "message", "hint"),
    [
        (b"\n<!DOCTYPE html><html></html>", "is a web page", "download the file itself"),
        (b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS pointer", "git lfs pull"),
        (bz2.compress(b"id,label\n"), "compressed by bzip2", "bunzip2 --keep '"),
        (b"\x89HDF\r\n\x1a\n", "an HDF5 file", "as npz"),
        (tarred(), "is a tar archive", "unpack it first: tar xf '"),
        (zipped("g.npz", "readme"), "a zip that holds g.npz, readme", "unpack it first: unzip '"),
        (zipped("xl/workbook.xml"), "a spreadsheet", "as CSV"),
        (pickle.dumps([1]), "a Python pickle, which is not read", "np.savez"),
    ],
    ids=["page", "pointer", "bzip2", "hdf5", "tar", "zip", "spreadsheet", "pickle"],
)
@pytest.mark.parametrize("name", ["g", "g.csv", "g.npz", "g.graphml"])
def test_what_holds_no_graph_is_named(
    tmp_path: Path, name: str, content: bytes, message: str, hint: str
) -> None:
    path = tmp_path / "my files" / name
    path.parent.mkdir()
    path.write_bytes(content)
    with pytest.raises(TaamctlError, match=message) as error:
        importers.read("g", [path])
    assert hint in error.value.hint
