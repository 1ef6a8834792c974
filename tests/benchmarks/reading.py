"""Reading cached features: through the store, which checks every array, against the bare bytes
of the same size from the page cache.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import h5py
import numpy as np
from timing import best

from taamctl.store import artefact_writer, artefacts
from taamctl.store.train_kind import TRAIN

ROWS, WIDTH, PARTS = 20_000, 512, 8


def reading() -> dict[str, float]:
    """Return seconds to read 312 MiB in eight arrays: NumPy's own file format, HDF5 alone, and
    the store with its checksums.
    """
    rng = np.random.default_rng(0)
    with tempfile.TemporaryDirectory() as folder:
        bare, store = Path(folder) / "bare.npy", Path(folder) / "train.h5"
        arrays = [rng.random((ROWS, WIDTH), dtype=np.float32) for _ in range(PARTS)]
        np.save(bare, np.concatenate(arrays))

        def fill(writer: artefact_writer.Writer) -> None:
            for i, array in enumerate(arrays):
                writer.put(f"tasks/{i:02d}/state/w", array, dims=("row", "feature"))

        artefact_writer.create(store, TRAIN, {}, fill)

        def hdf5() -> None:
            with h5py.File(store, "r") as handle:
                for i in range(PARTS):
                    handle[f"tasks/{i:02d}/state/w"][()]

        def checked() -> None:
            with artefacts.Artefact(store) as artefact:
                for i in range(PARTS):
                    artefact.read(f"tasks/{i:02d}/state/w")

        return best(
            {"bare bytes": lambda: np.load(bare), "HDF5": hdf5, "store, checked": checked}, 5
        )
