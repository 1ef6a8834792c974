"""Files that are no graph: named by what they are, with the way to what is meant."""

from __future__ import annotations

import shlex
import zipfile
from pathlib import Path

from taamctl.core.errors import TaamctlError
from taamctl.graph.raw_values import reading
from taamctl.importing.messages import shown
from taamctl.importing.tables import opened

_PICKLE = tuple(b"\x80" + bytes([version]) for version in (2, 3, 4, 5))
_HDF5 = b"\x89HDF"
_MAGIC = (  # first bytes, what the file is, what to do
    (b"version https://git-lfs", "a Git LFS pointer, not the file itself", "git lfs pull"),
    (b"BZh", "compressed by bzip2", "unpack it first: bunzip2 --keep {}"),
    (b"\xfd7zXZ", "compressed by xz", "unpack it first: unxz --keep {}"),
    (b"\x28\xb5\x2f\xfd", "compressed by zstd", "unpack it first: unzstd {}"),
    (b"7z\xbc\xaf", "a 7z archive", "unpack it first: 7z x {}"),
    (b"Rar!", "a RAR archive", "unpack it first: unrar x {}"),
    (b"%PDF", "a PDF", "name the files that hold the graph"),
    (b"\xd0\xcf\x11\xe0", "an old spreadsheet or document of Office", "save its tables as CSV"),
    (
        _HDF5,
        "an HDF5 file",
        "--format h5ad where it is AnnData's; else write its arrays as npz: x, edge_index, y",
    ),
)
_PAGES = (b"<!doctype html", b"<html")
NO_PICKLE = (
    "reading one can run code; where you trust it, write its arrays in Python with "
    "np.savez('graph.npz', x=..., edge_index=..., y=...)"
)
SHOWN = 3  # members of an archive that are named


def refuse_foreign(path: Path, kind: str = "") -> None:
    """Refuse a file that holds no graph in any format, and say what it is.

    Args:
        kind: the format that the user or the name states; npz and pyg are zips, pyg and planetoid
            hold pickles, h5ad is HDF5.

    Raises:
        TaamctlError: it is one.
    """
    with opened(path) as stream:
        first = stream.read(1024)
    name = shlex.quote(str(path))
    begin = first.removeprefix(b"\xef\xbb\xbf").lstrip().lower()
    if begin.startswith(_PAGES):
        raise TaamctlError(
            f"{path} is a web page (HTML), not the file that it links to",
            "download the file itself; on GitHub that is the link called Raw",
        )
    for magic, what, hint in _MAGIC:
        if first.startswith(magic) and not (magic == _HDF5 and kind == "h5ad"):
            raise TaamctlError(f"{path} is {what}", hint.format(name))
    if first[257:262] == b"ustar":
        raise TaamctlError(f"{path} is a tar archive", f"unpack it first: tar xf {name}")
    if first.startswith(b"PK\x03\x04"):
        _refuse_archive(path, name)
    elif first.startswith(_PICKLE) and kind not in ("pyg", "planetoid"):
        raise TaamctlError(f"{path} is a Python pickle, which is not read", NO_PICKLE)


def _refuse_archive(path: Path, name: str) -> None:
    """Refuse a zip that is neither what NumPy nor what torch writes."""
    with reading(str(path)):
        if not zipfile.is_zipfile(path):
            return  # truncated: its reader says so
        with zipfile.ZipFile(path) as archive:
            names = archive.namelist()
    members = [member for member in names if not member.endswith("/")]
    if any(member.startswith("xl/") for member in members):
        raise TaamctlError(f"{path} is a spreadsheet (xlsx)", "save its tables as CSV in UTF-8")
    last = [member.rpartition("/")[2] for member in members]
    if all(member.endswith(".npy") for member in last) or {"data.pkl", "constants.pkl"} & set(last):
        return
    some = shown(", ".join(members[:SHOWN]) + ", ..." * (len(members) > SHOWN), 120)
    raise TaamctlError(f"{path} is a zip that holds {some}", f"unpack it first: unzip {name}")
