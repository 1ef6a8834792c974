"""A graph as arrays under the usual keys: npz, PyG and DGL hold it so."""

from __future__ import annotations

import numpy as np

from taamctl.core.types import CSR, PARTS, Array
from taamctl.exporting.whole import Whole
from taamctl.importing.options import ImportOptions

MASKS = tuple(f"{part}_mask" for part in PARTS)


def of_nodes(whole: Whole) -> dict[str, Array]:
    """Return what is known of every node beside names and features: `y`, `task`, masks, `time`."""
    found: dict[str, Array] = {}
    if whole.labels is not None:
        found["y"] = whole.labels
        if whole.task is not None:
            found["task"] = np.where(whole.labels < 0, -1, whole.task[whole.labels])
    if whole.part is not None:
        part = np.array(whole.part, object)
        found |= {mask: part == word for mask, word in zip(MASKS, PARTS, strict=True)}
    if whole.time is not None:
        found["time"] = whole.time
    return found


def names(whole: Whole) -> dict[str, list[str]]:
    """Return the names of nodes, classes and features, as far as there are any."""
    found = {"class_names": list(whole.class_names), "feature_names": list(whole.feature_names)}
    if whole.named:
        found["node_id"] = whole.ids
    return {key: texts for key, texts in found.items() if texts}


def options(whole: Whole, features: str = "x") -> ImportOptions:
    """Return what an import is to be told of these keys."""
    found = of_nodes(whole)
    return ImportOptions(
        id="node_id" * whole.named,
        label="y" * ("y" in found),
        features=(features,),
        time="time" * ("time" in found),
        task="task" * ("task" in found),
        ends="rows",
    )


def values(features: CSR) -> Array:
    """Return the stored values of a sparse matrix, [nnz] float32."""
    if features.data is None:
        return np.ones(features.nnz, np.float32)
    return features.data
