"""What torch.save wrote: PyG's Data and TemporalData, or a dict of tensors.

An allow-list decides what the file may construct.

PyG itself is not needed: its classes become inert stand-ins that only keep their state. Nothing
that the file names is looked up unless it is on the list, so a file cannot run code.
"""

from __future__ import annotations

import collections
import pickle
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.types import Array
from taamctl.graph.planetoid import allowed as numpy_allowed
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import LABEL, from_arrays, only
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.roles import guess
from taamctl.importing.tables import require_file

CONVERT = "convert it where torch_geometric is installed: torch.save(data.to_dict(), path)"
_TORCH = {
    "torch._utils": ("_rebuild_tensor_v2", "_rebuild_parameter", "_rebuild_sparse_tensor"),
    "torch.serialization": ("_get_layout",),
    "torch": (
        "Size",
        "device",
        "int8",
        "uint8",
        "int16",
        "int32",
        "int64",
        "float16",
        "bfloat16",
        "float32",
        "float64",
        "bool",
        "strided",
        "sparse_coo",
    ),
}
_BUILTINS = ("set", "frozenset", "slice", "list", "dict", "tuple", "int", "float", "bool", "str")
_OURS = ("torch_geometric.data", "torch_geometric.data.")
EVENTS = ("src", "dst", "t")


class StandIn:
    """An object of a class that is not there: it keeps its state and does nothing."""

    def __new__(cls, *_: Any, **__: Any) -> StandIn:
        """Take any arguments."""
        return super().__new__(cls)

    def __init__(self, *_: Any, **__: Any) -> None:
        self.state: Any = None

    def __setstate__(self, state: Any) -> None:
        """Keep what the file says."""
        self.state = state


def read(paths: Sequence[Path], options: ImportOptions) -> RawGraph:
    """Return what a Data, a TemporalData or a dict of tensors says.

    Times of a TemporalData's nodes: their first event.

    Raises:
        TaamctlError: damaged, several graphs or types of nodes, or a file that asks for anything
            that is not on the list.
    """
    path = only(paths, "what torch.save writes")
    where = str(path)
    kept = dict(_contents(load(path), where))
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


def load(path: Path) -> Any:
    """Return what torch.save wrote, PyG's objects as stand-ins.

    Raises:
        TaamctlError: damaged, written before torch 1.6, compiled code, or a name that is not on the
            list.
    """
    import torch

    require_file(path)
    where = str(path)
    with reading(where):
        if not zipfile.is_zipfile(path):
            raise TaamctlError(
                f"{where} is not what torch.save writes since torch 1.6, or is truncated",
                "save it again with torch.save",
            )
        with zipfile.ZipFile(path) as archive:
            members = [name.rpartition("/")[2] for name in archive.namelist()]
        if "constants.pkl" in members or "data.pkl" not in members:
            raise TaamctlError(
                f"{where} holds no saved object, or compiled code",
                "save the data itself: torch.save(data, path)",
            )
        refused: list[str] = []
        reader = SimpleNamespace(Unpickler=_restricted(refused), load=None, __name__="restricted")
        try:
            # not weights_only, which knows no stand-ins: everything that is looked up passes
            # `_restricted`
            return torch.load(path, map_location="cpu", pickle_module=reader, weights_only=False)
        except pickle.UnpicklingError as error:
            if refused:
                raise TaamctlError(
                    f"{where}: refused to construct {refused[0]}; only tensors, arrays, plain "
                    "containers and torch_geometric.data belong there",
                    f"do not trust a file that you did not write; else {CONVERT}",
                ) from error
            raise


def _latin1(text: str, encoding: str) -> bytes:
    if encoding != "latin1":
        raise pickle.UnpicklingError(f"bytes are spelled in {encoding}, expected latin1")
    return text.encode("latin1")


def _restricted(refused: list[str]) -> type[pickle.Unpickler]:
    """Return an unpickler that looks up what is on the list, makes stand-ins for PyG's classes,
    and puts other names into `refused`.
    """
    classes: dict[str, type[StandIn]] = {}

    class Restricted(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            module = "builtins" if module == "__builtin__" else module  # as old protocols call it
            if module in _OURS or module.startswith(_OURS[1]):
                return classes.setdefault(name, type(name, (StandIn,), {}))
            if name in _TORCH.get(module, ()) or (module == "builtins" and name in _BUILTINS):
                return super().find_class(module, name)
            if (module, name) == ("collections", "OrderedDict"):
                return collections.OrderedDict
            if (module, name) == (
                "_codecs",
                "encode",
            ):  # how old protocols spell the bytes of an array
                return _latin1
            found = numpy_allowed(module, name)
            if found is None:
                refused.append(f"{module}.{name}")
                raise pickle.UnpicklingError(f"{module}.{name} is not on the list")
            return found

    return Restricted


def _contents(loaded: Any, where: str) -> Mapping[str, Any]:
    """Return the graph's tensors by their keys, wherever this version of PyG keeps them."""
    if (
        isinstance(loaded, (tuple, list)) and loaded and isinstance(loaded[0], (StandIn, dict))
    ):  # a data set's processed file
        slices = loaded[1] if len(loaded) > 1 else None
        sizes = (
            [len(v) - 1 for v in slices.values() if hasattr(v, "__len__")]
            if isinstance(slices, dict)
            else []
        )
        graphs = max(sizes) if sizes else len(loaded) if isinstance(loaded, list) else 1
        if graphs > 1:
            raise TaamctlError(
                f"{where} holds {graphs} graphs, expected one",
                "save the one that is meant: torch.save(dataset[0], path)",
            )
        loaded = loaded[0]
    if isinstance(loaded, dict) and "_global_store" in loaded:
        raise TaamctlError(
            f"{where} holds several types of nodes, expected one", "save data.to_homogeneous()"
        )
    if isinstance(loaded, StandIn):
        kind = type(loaded).__name__
        state = loaded.state if isinstance(loaded.state, dict) else {}
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
        loaded = {k: v for k, v in state.items() if not str(k).startswith("_") and v is not None}
    if not isinstance(loaded, dict) or not loaded or not all(isinstance(k, str) for k in loaded):
        raise TaamctlError(
            f"{where} holds {type(loaded).__name__}, expected a Data, a TemporalData or a dict of "
            "tensors",
            CONVERT,
        )
    return loaded


def _array(value: Any) -> Any:
    """Return a tensor or an array as numpy or scipy; None for anything else."""
    import torch

    if isinstance(value, torch.Tensor):
        value = value.detach().resolve_conj().resolve_neg()
        if value.layout == torch.sparse_coo:
            import scipy.sparse as sp

            indices, entries = (
                value._indices().numpy(),
                value._values().numpy(),
            )  # scipy checks that they lie inside, torch does not
            if len(indices) != 2 or entries.ndim != 1:
                return None
            return sp.coo_matrix((entries, tuple(indices)), shape=tuple(value.shape)).tocsr()
        if value.layout != torch.strided:
            return None
        return value.float().numpy() if value.dtype == torch.bfloat16 else value.numpy()
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value
    if (
        isinstance(value, (list, tuple))
        and value
        and all(isinstance(v, (str, int, float)) for v in value)
    ):
        return np.array(value)
    return None


def _events(
    arrays: dict[str, Any], options: ImportOptions, where: str, notes: tuple[str, ...]
) -> RawGraph:
    """Return a graph of events: every event is an edge, a node appears with its first one."""
    source, target, time = (np.asarray(arrays.pop(key)).ravel() for key in EVENTS)
    message = arrays.pop("msg", None)
    if not len(source) == len(target) == len(time):
        raise TaamctlError(
            f"{where}: {len(source):,} sources, {len(target):,} targets and {len(time):,} times",
            "every event has each of them",
        )
    if any(e.dtype.kind not in "iu" for e in (source, target)) or (
        len(source) and min(source.min(), target.min()) < 0
    ):
        at = next(
            (
                int(i)
                for e in (source, target)
                if e.dtype.kind in "iu"
                for i in np.flatnonzero(e < 0)
            ),
            0,
        )
        raise TaamctlError(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but nodes are numbered 0, 1, ...",
            "src and dst hold whole numbers",
        )
    if not len(source):
        raise TaamctlError(f"{where} holds no event", "check how it was written")
    n = int(max(source.max(), target.max())) + 1
    rows = next(
        (
            len(arrays[k])
            for k in (
                *options.features,
                guess([k for k in arrays if k != "y"], ("x", "feat", "features")),
            )
            if k in arrays
        ),
        n,
    )
    if n > rows:  # before anything is made for that many
        at = int(np.argmax(np.maximum(source, target)))
        raise TaamctlError(
            f"{where}: edge {at} is ({source[at]}, {target[at]}), but {rows:,} nodes have features",
            "number the nodes 0, 1, ..., in the order of their features",
        )
    if guess([k for k in arrays if k != "y"], ("x", "feat", "features")) or options.features:
        said = (f"{where}: msg not read",) if message is not None else ()
    elif message is not None and len(message) == len(source):
        arrays["x"], said = (
            _means(source, target, np.asarray(message), n),
            (f"{where}: features are the means of the nodes' events (msg)",),
        )
    else:
        raise TaamctlError(
            f"{where} holds neither x nor msg, so no features",
            "put node features [N, F] into data.x, or messages into msg",
        )
    label = options.label or guess(arrays, LABEL)
    if label in arrays and len(arrays[label]) != n and len(arrays[label]) == len(source):
        if options.label:
            raise TaamctlError(
                f"{where}: {label} has {len(source):,} labels, one per event; there are {n:,} "
                "nodes",
                "put the nodes' labels into another key, and name it with --label",
            )
        del arrays[label]
        said = (
            *said,
            f"{where}: {label} labels events, not nodes: not read; --label KEY names labels of "
            "nodes",
        )
    raw = from_arrays(arrays, options, where, (source, target), notes=(*notes, *said), by_row=True)
    if raw.time is not None:
        return raw
    rows = int(np.shape(raw.features)[0])
    first = np.full(max(rows, n), np.inf)
    for ends in (source, target):
        np.fmin.at(first, ends, time.astype(np.float64))
    first[np.isinf(first)] = np.nan
    return replace(
        raw,
        time=first[:rows],
        notes=(*raw.notes, f"{where}: a node's time is that of its first event"),
    )


def _means(source: Array, target: Array, message: Array, n: int) -> Array:
    """Return per node the mean message of its events, zeros for a node without any."""
    rows = message.reshape(len(message), -1).astype(np.float64)
    total, count = np.zeros((n, rows.shape[1])), np.zeros(n)
    for ends in (source, target):
        np.add.at(total, ends, rows)
        np.add.at(count, ends, 1)
    return (total / np.maximum(count, 1)[:, None]).astype(np.float32)
