"""Features that stand by node, as lists of their numbers in JSON or as a table of node, feature and
value.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.graph.raw_values import reading
from taamctl.importing.cells import numbers
from taamctl.importing.held_table import unzipped_suffix
from taamctl.importing.messages import shown
from taamctl.importing.node_ids import id_text
from taamctl.importing.tables import opened, read_table

if TYPE_CHECKING:
    import scipy.sparse as sp

Pairs = Sequence[tuple[int, float]]  # (number of a feature, its value)
MOST = (1 << 31) - 1  # the largest number of a feature
_SHAPE = 'it holds {"0": [3, 17, ...], "1": [...], ...}: of every node the numbers of its features'
_TRIPLES = "three columns: a node, the number of a feature, and its value"


def is_json(path: Path) -> bool:
    """Tell whether the name of a file says JSON."""
    return unzipped_suffix(path) == ".json"


def read(path: Path) -> Mapping[str, Pairs]:
    """Return node -> its features that are not zero.

    Raises:
        TaamctlError: damaged, of another shape, or a feature that is no number from 0 on.
    """
    return _of_json(path) if is_json(path) else _of_table(path)


def _of_json(path: Path) -> dict[str, Pairs]:
    with opened(path) as stream, reading(str(path)):
        found = json.loads(stream.read().decode("utf-8-sig"))
    if not isinstance(found, dict) or not all(isinstance(own, list) for own in found.values()):
        raise TaamctlError(f"{path} holds no features as MUSAE writes them", _SHAPE)
    made: dict[str, Pairs] = {}
    for node, own in found.items():
        wrong = [n for n in own if type(n) is not int or not 0 <= n < MOST]
        if wrong:
            raise _no_feature(path, node, wrong[0], _SHAPE)
        made[id_text(node)] = [(n, 1.0) for n in dict.fromkeys(own)]
    return made


def _of_table(path: Path) -> dict[str, Pairs]:
    table = read_table(path, numeric=lambda names: names[1:])
    if len(table.columns) != 3:
        raise TaamctlError(
            f"{path} has {len(table.columns)} columns: {shown(', '.join(table.columns))}",
            f"a table of features has {_TRIPLES}",
        )
    (_, nodes), (of_feature, features), (of_value, values) = table.columns.items()
    features, values = (
        numbers(features, table.where, of_feature),
        numbers(values, table.where, of_value),
    )
    wrong = np.flatnonzero(~((features >= 0) & (features < MOST) & (features % 1 == 0)))
    if len(wrong):
        raise _no_feature(path, nodes[wrong[0]], features[wrong[0]], _TRIPLES)
    made: dict[str, list[tuple[int, float]]] = {}
    for node, feature, value in zip(
        nodes.tolist(), features.tolist(), values.tolist(), strict=True
    ):
        made.setdefault(id_text(node), []).append((int(feature), value))
    return dict(made)


def _no_feature(path: Path, node: object, feature: object, hint: str) -> TaamctlError:
    return TaamctlError(
        f"{path}: node {shown(node)!r} has the feature {shown(feature)}, which is no number from 0 "
        f"to {MOST - 1:,}",
        hint,
    )


def matrix(of_nodes: Sequence[Pairs], path: Path) -> sp.csr_matrix:
    """Return features as [N, F] float32; F is one more than the largest number of a feature.

    Raises:
        TaamctlError: no node has a feature; or a node has one twice.
    """
    import scipy.sparse as sp

    lengths = np.fromiter(map(len, of_nodes), np.int64, len(of_nodes))
    pairs = np.array([pair for own in of_nodes for pair in own], np.float64).reshape(-1, 2)
    if not len(pairs):
        raise TaamctlError(f"{path}: no node has a feature", _SHAPE)
    rows, columns = np.repeat(np.arange(len(lengths)), lengths), pairs[:, 0].astype(np.int64)
    shape = (len(lengths), int(columns.max()) + 1)
    made = sp.coo_matrix((pairs[:, 1].astype(np.float32), (rows, columns)), shape=shape).tocsr()
    if made.nnz < len(pairs):
        raise TaamctlError(f"{path}: a node has one feature twice", "leave one of the rows")
    return made
