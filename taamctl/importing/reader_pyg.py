"""What torch.save wrote: PyG's Data and TemporalData, or a dict of tensors.

Neither PyG nor torch is needed, and a file cannot run code.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import FEW_NODES, NODES_PER_EVENT, require_memory
from taamctl.core.types import Array
from taamctl.graph.pickled_arrays import PickledArray, StandIn
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import LABEL, from_arrays, only
from taamctl.importing.column_names import guess
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.torch_file import CONVERT, load

if TYPE_CHECKING:
    import scipy.sparse as sp
    import torch

EVENTS = ("src", "dst", "t")


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a Data, a TemporalData or a dict of tensors says.

    Times of a TemporalData's nodes: their first event.

    Raises:
        TaamctlError: damaged, several graphs or types of nodes, or a file that asks for anything
            that is not on the list.
    """
    path = only(paths, "what torch.save writes")
    return of_object(load(path), options, str(path))


def of_object(loaded: object, options: ImportOptions, where: str) -> RawGraph:
    """Return what an object says that torch.save wrote, or a dict of tensors and arrays."""
    kept = dict(_contents(loaded, where))
    nodes = kept.pop("num_nodes", None)
    arrays, left = {}, []
    for key, value in kept.items():
        with reading(f"{where}: {key}"):
            array = _array(value)
        if array is None:
            left.append(key)
        else:
            arrays[key] = array
    notes = (f"{where}: not read, as no array: {', '.join(sorted(left))}",) if left else ()
    if all(key in arrays for key in EVENTS) and "edge_index" not in arrays:
        return _events(arrays, options, where, notes)
    if "edge_index" not in arrays and "adj_t" in kept:
        raise TaamctlError(
            f"{where} holds its edges as adj_t",
            "save them as edge_index, so without T.ToSparseTensor()",
        )
    return from_arrays(
        arrays,
        options,
        where,
        nodes=int(nodes) if isinstance(nodes, int) else None,
        notes=notes,
        by_row=True,
    )


def _contents(loaded: object, where: str) -> dict[str, object]:
    """Return the graph's tensors by their keys, wherever this version of PyG keeps them."""
    loaded = _only_graph(loaded, where)
    if isinstance(loaded, dict) and "_global_store" in loaded:
        raise TaamctlError(
            f"{where} holds several types of nodes, expected one", "save data.to_homogeneous()"
        )
    if isinstance(loaded, StandIn):
        loaded = _stored(loaded, where)
    if not isinstance(loaded, dict) or not loaded or not all(isinstance(k, str) for k in loaded):
        kind = "Tensor" if isinstance(loaded, np.ndarray) else type(loaded).__name__
        raise TaamctlError(
            f"{where} holds {kind}, expected a Data, a TemporalData or a dict of tensors",
            CONVERT,
        )
    return loaded


def _only_graph(loaded: object, where: str) -> object:
    """Return the one graph of a data set's processed file; anything else as it is."""
    if not isinstance(loaded, (tuple, list)) or not loaded:
        return loaded
    if not isinstance(loaded[0], (StandIn, dict)):
        return loaded
    graphs = len(loaded) if isinstance(loaded, list) else 1
    slices = loaded[1] if len(loaded) > 1 else None
    if isinstance(slices, dict):
        sizes = [len(cuts) - 1 for cuts in slices.values() if hasattr(cuts, "__len__")]
        graphs = max(sizes, default=graphs)
    if graphs > 1:
        raise TaamctlError(
            f"{where} holds {graphs} graphs, expected one",
            "save the one that is meant: torch.save(dataset[0], path)",
        )
    return loaded[0]


def _stored(data: StandIn, where: str) -> dict[str, object]:
    """Return what an object of PyG keeps, by key."""
    kind = type(data).__name__
    state = data.state if isinstance(data.state, dict) else {}
    if "_node_store_dict" in state or kind == "HeteroData":
        raise TaamctlError(
            f"{where} holds several types of nodes ({kind}), expected one",
            "save data.to_homogeneous()",
        )
    store = state.get("_store")
    if isinstance(store, StandIn) and isinstance(store.state, dict):
        state = store.state.get("_mapping", store.state)
    elif "_mapping" in state:
        state = state["_mapping"]
    return {k: v for k, v in state.items() if not str(k).startswith("_") and v is not None}


def _array(value: object) -> Array | sp.csr_matrix | None:
    """Return a tensor or an array as numpy or scipy; None for anything else."""
    import scipy.sparse as sp

    if isinstance(value, PickledArray):
        value = value.array
    torch = sys.modules.get("torch")  # a file's tensors are arrays already
    if torch is not None and isinstance(value, torch.Tensor):
        return _of_tensor(value.detach().cpu().resolve_conj().resolve_neg())
    if sp.issparse(value) or (isinstance(value, np.ndarray) and value.dtype.kind != "O"):
        return value
    return _of_list(value.tolist() if isinstance(value, np.ndarray) else value)


def _of_list(value: object) -> Array | None:
    """Return a list of numbers or texts as an array; None for anything else."""
    if not isinstance(value, (list, tuple)) or not value:
        return None
    plain = all(isinstance(item, (str, int, float)) for item in value)
    return np.array(value) if plain else None


def _of_tensor(tensor: torch.Tensor) -> Array | sp.csr_matrix | None:
    import scipy.sparse as sp
    import torch

    if tensor.layout == torch.sparse_coo:
        # scipy checks that the indices lie inside, torch does not
        indices = tensor._indices().numpy()
        entries = tensor._values().numpy()
        if len(indices) != 2 or entries.ndim != 1:
            return None
        return sp.coo_matrix((entries, tuple(indices)), shape=tuple(tensor.shape)).tocsr()
    if tensor.layout != torch.strided:
        return None
    if tensor.dtype == torch.bfloat16:  # NumPy has no such type
        tensor = tensor.float()
    return np.asarray(tensor.numpy())


def _events(
    arrays: dict[str, Array], options: ImportOptions, where: str, notes: tuple[str, ...]
) -> RawGraph:
    """Return a graph of events: every event is an edge, a node appears with its first one."""
    source, target, time = (np.asarray(arrays.pop(key)).ravel() for key in EVENTS)
    _require_events(source, target, time, where)
    n = int(max(source.max(), target.max())) + 1
    message = arrays.pop("msg", None)
    before = set(arrays)
    notes += _features_of_events(arrays, options, source, target, message, n, where)
    made = set(arrays) - before
    notes += _labels_of_events(arrays, options, len(source), n, where)
    raw = from_arrays(arrays, options, where, (source, target), notes=notes, by_row=True)
    if made and raw.taken is not None:  # no key of the file holds such features
        raw = replace(raw, taken=replace(raw.taken, features=()))
    if raw.time is not None:
        return raw
    rows = int(np.shape(raw.features)[0])
    first = np.full(max(rows, n), np.inf)
    for ends in (source, target):
        np.fmin.at(first, ends, time.astype(np.float64))
    first[np.isinf(first)] = np.nan
    note = f"{where}: a node's time is that of its first event"
    return replace(raw, time=first[:rows], notes=(*raw.notes, note))


def _require_events(source: Array, target: Array, time: Array, where: str) -> None:
    """Refuse events that do not join nodes numbered 0, 1, ..."""
    if not len(source) == len(target) == len(time):
        raise TaamctlError(
            f"{where}: {len(source):,} sources, {len(target):,} targets and {len(time):,} times",
            "every event has each of them",
        )
    whole = [ends for ends in (source, target) if ends.dtype.kind in "iu"]
    negative = np.concatenate([np.zeros(0, np.int64), *(np.flatnonzero(e < 0) for e in whole)])
    if len(whole) < 2 or len(negative):
        at = int(negative[0]) if len(negative) else 0
        raise TaamctlError(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but nodes are numbered 0, 1, ...",
            "src and dst hold whole numbers",
        )
    if not len(source):
        raise TaamctlError(f"{where} holds no event", "check how it was written")


def _features_of_events(
    arrays: dict[str, Array],
    options: ImportOptions,
    source: Array,
    target: Array,
    message: Array | None,
    n: int,
    where: str,
) -> tuple[str, ...]:
    """See to it that nodes have features, if need be of their events' messages, and say so."""
    usual = guess([k for k in arrays if k != "y"], ("x", "feat", "features"))
    stated = next((key for key in (*options.features, usual) if key in arrays), None)
    rows = n if stated is None else len(arrays[stated])
    if n > rows:  # before anything is made for that many
        at = int(np.argmax(np.maximum(source, target)))
        raise TaamctlError(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but {rows:,} nodes have features",
            "number the nodes 0, 1, ..., in the order of their features",
        )
    if usual or options.features:
        return () if message is None else (f"{where}: msg not read",)
    if message is None or len(message) != len(source):
        raise TaamctlError(
            f"{where} holds neither x nor msg, so no features",
            "put node features [N, F] into data.x, or messages into msg",
        )
    _require_few_nodes(n, source, target, where)
    width = int(np.asarray(message).size) // len(message)
    require_memory(3 * 8 * n * width, where, f"features of {n:,} nodes, as its events number them,")
    arrays["x"] = _means(source, target, np.asarray(message), n)
    return (f"{where}: features are the means of the nodes' events (msg)",)


def _require_few_nodes(n: int, source: Array, target: Array, where: str) -> None:
    """Refuse far more nodes than events: one damaged number would make millions."""
    if n > NODES_PER_EVENT * len(source) + FEW_NODES:
        at = int(np.argmax(np.maximum(source, target)))
        raise TaamctlError(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but there are {len(source):,} "
            f"events: most of {n:,} nodes would have none",
            "number the nodes 0, 1, ..., or give every node a row in x",
        )


def _labels_of_events(
    arrays: dict[str, Array], options: ImportOptions, events: int, n: int, where: str
) -> tuple[str, ...]:
    """Leave out labels that are one per event, and say so."""
    label = options.label or guess(arrays, LABEL)
    if label not in arrays or len(arrays[label]) == n or len(arrays[label]) != events:
        return ()
    if options.label:
        raise TaamctlError(
            f"{where}: {label} has {events:,} labels, one per event; there are {n:,} nodes",
            "put the nodes' labels into another key, and name it with --label",
        )
    del arrays[label]
    return (
        f"{where}: {label} labels events, not nodes: not read; --label KEY names labels of nodes",
    )


def _means(source: Array, target: Array, message: Array, n: int) -> Array:
    """Return per node the mean message of its events, zeros for a node without any."""
    rows = message.reshape(len(message), -1).astype(np.float64)
    total, count = np.zeros((n, rows.shape[1])), np.zeros(n)
    for ends in (source, target):
        np.add.at(total, ends, rows)
        np.add.at(count, ends, 1)
    return (total / np.maximum(count, 1)[:, None]).astype(np.float32)
