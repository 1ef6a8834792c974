"""A graph as NumPy arrays; sparse features under the keys of the gnn-benchmark files."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from taamctl.core.plain_values import Plain
from taamctl.core.types import CSR, Array
from taamctl.exporting import named_arrays
from taamctl.exporting.whole import Plan, Whole


def plan(whole: Whole) -> Plan:
    """Return how to write NAME.npz."""
    features = "features" if isinstance(whole.features, CSR) else "x"
    return Plan({".npz": lambda path: _write(path, whole)}, named_arrays.options(whole, features))


def _write(path: Path, whole: Whole) -> None:
    arrays: dict[str, Plain] = {
        **_features(whole.features),
        "edge_index": np.stack([whole.source, whole.target]),
        **named_arrays.of_nodes(whole),
        **{key: np.array(texts) for key, texts in named_arrays.names(whole).items()},
    }
    with path.open("wb") as stream:
        np.savez_compressed(stream, **arrays)


def _features(features: Array | CSR) -> dict[str, Array]:
    if not isinstance(features, CSR):
        return {"x": features}
    return {
        "attr_data": named_arrays.values(features),
        "attr_indices": features.indices,
        "attr_indptr": features.indptr,
        "attr_shape": np.array(features.shape),
    }
