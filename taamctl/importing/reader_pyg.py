"""What torch.save wrote: PyG's Data and TemporalData, or a dict of tensors.

An allow-list decides what the file may construct.

PyG itself is not needed: its classes become inert stand-ins that only keep their state. Nothing
that the file names is looked up unless it is on the list, so a file cannot run code.
"""

from __future__ import annotations

import collections
import pickle
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.graph.planetoid import allowed as numpy_allowed
from taamctl.graph.raw_values import reading
from taamctl.importing.arrays import LABEL, from_arrays, only
from taamctl.importing.column_names import guess
from taamctl.importing.options import ImportOptions
from taamctl.importing.raw_graph import RawGraph
from taamctl.importing.tables import require_file

if TYPE_CHECKING:
    import scipy.sparse as sp
    import torch

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

    def __new__(cls, *_: object, **__: object) -> StandIn:
        """Take any arguments."""
        return super().__new__(cls)

    def __init__(self, *_: object, **__: object) -> None:
        self.state: Plain = None

    def __setstate__(self, state: Plain) -> None:
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


def load(path: Path) -> object:
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
        def find_class(self, module: str, name: str) -> Plain:
            if module == "__builtin__":  # as old protocols call it
                module = "builtins"
            if module in _OURS or module.startswith(_OURS[1]):
                return classes.setdefault(name, type(name, (StandIn,), {}))
            if name in _TORCH.get(module, ()) or (module == "builtins" and name in _BUILTINS):
                return super().find_class(module, name)
            if (module, name) == ("collections", "OrderedDict"):
                return collections.OrderedDict
            if (module, name) == ("_codecs", "encode"):  # how old protocols spell bytes of an array
                return _latin1
            found = numpy_allowed(module, name)
            if found is None:
                refused.append(f"{module}.{name}")
                raise pickle.UnpicklingError(f"{module}.{name} is not on the list")
            return found

    return Restricted


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
        raise TaamctlError(
            f"{where} holds {type(loaded).__name__}, expected a Data, a TemporalData or a dict of "
            "tensors",
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
    import torch

    if isinstance(value, torch.Tensor):
        return _of_tensor(value.detach().resolve_conj().resolve_neg())
    if isinstance(value, np.ndarray) and value.dtype.kind != "O":
        return value
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
    arrays["x"] = _means(source, target, np.asarray(message), n)
    return (f"{where}: features are the means of the nodes' events (msg)",)


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
