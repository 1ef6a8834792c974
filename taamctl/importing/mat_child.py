"""The matrices of a .mat file, as the guarded process reads them: SciPy's parser can end a process
where a file is damaged.
"""

from __future__ import annotations

from pathlib import Path

from taamctl.core.plain_values import Plain
from taamctl.importing.tables import opened


def matrices_of(path: Path) -> dict[str, Plain]:
    """Return the matrices of a file by name, None for what is no matrix of numbers or text."""
    import scipy.sparse as sp
    from scipy.io import loadmat

    with opened(path) as stream:
        found = loadmat(stream)
    matrices = {name: value for name, value in found.items() if not name.startswith("__")}
    for name, value in matrices.items():
        if not sp.issparse(value) and value.dtype.kind in "OV":
            matrices[name] = None
    return matrices
