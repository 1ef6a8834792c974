"""A .mat file as an .npz, written by a process of its own: SciPy's parser can end the process where
a file is damaged.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.graph.raw_values import reading
from taamctl.importing.messages import shown
from taamctl.importing.tables import opened

_CALL = "import sys; from taamctl.importing.mat_child import convert; convert(*sys.argv[1:])"
_PARTS = ("data", "indices", "indptr", "shape")


def matrices_of(path: Path) -> dict[str, Plain]:
    """Return the matrices of a file by name, None for what is no matrix of numbers or text.

    Raises:
        TaamctlError: the file is damaged.
    """
    import scipy.sparse as sp

    with opened(path), tempfile.TemporaryDirectory() as folder:
        made = Path(folder) / "made.npz"
        call = [sys.executable, "-c", _CALL, str(path), str(made)]
        done = subprocess.run(call, capture_output=True, text=True, check=False)
        if done.returncode or not made.is_file():
            said = (done.stderr.strip().splitlines() or ["its parser stopped"])[-1]
            raise TaamctlError(
                f"{path} cannot be read: {shown(said, 200)}",
                "the file is truncated or no .mat file up to version 7; save it again in MATLAB "
                "with -v7",
            )
        with reading(str(path)), np.load(made, allow_pickle=False) as archive:
            kept = {key: archive[key] for key in archive.files}
    found: dict[str, Plain] = {}
    for key, value in kept.items():
        name, kind = key.rsplit("/", 1)
        if kind == "dense":
            found[name] = value
        elif kind == "unread":
            found[name] = None
        elif kind == "shape":
            data, indices, indptr, shape = (kept[f"{name}/{part}"] for part in _PARTS)
            found[name] = sp.csc_matrix((data, indices, indptr), shape=tuple(shape.tolist()))
    return found


def convert(source: str, target: str) -> None:
    """Write the matrices of a .mat file as an .npz; in a process of its own."""
    import scipy.sparse as sp
    from scipy.io import loadmat

    with opened(Path(source)) as stream:
        found = loadmat(stream)
    arrays: dict[str, Plain] = {}
    for name, value in found.items():
        if name.startswith("__"):
            continue
        if sp.issparse(value):
            matrix = sp.csc_matrix(value)
            matrix.check_format()
            arrays |= {f"{name}/{part}": getattr(matrix, part) for part in _PARTS}
        elif value.dtype.kind in "OV":
            arrays[f"{name}/unread"] = np.zeros(1)
        else:
            arrays[f"{name}/dense"] = value
    np.savez(target, **arrays)
