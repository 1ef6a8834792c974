"""What torch.save wrote, read without torch: a zip of a pickle and the bytes of the tensors.

An allow-list decides what the pickle may construct, and what it constructs are stand-ins: nothing
that a file names is looked up. Tensors become arrays of NumPy that lie inside their bytes, so a
damaged file cannot end the process, and torch need not be imported.
"""

from __future__ import annotations

import collections
import io
import pickle
import zipfile
from dataclasses import dataclass
from math import prod
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.input_limits import require_memory
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.graph import pickle_check
from taamctl.graph.npz_check import require_members
from taamctl.graph.pickled_arrays import BYTES, StandIn, stand_in_for
from taamctl.graph.raw_values import reading
from taamctl.importing.tables import require_file

if TYPE_CHECKING:
    import scipy.sparse as sp

CONVERT = "convert it where torch_geometric is installed: torch.save(data.to_dict(), path)"
_KINDS = {  # torch's name of a storage, of a type -> NumPy's type
    "Byte": ("uint8", "u1"),
    "Char": ("int8", "i1"),
    "Short": ("int16", "i2"),
    "Int": ("int32", "i4"),
    "Long": ("int64", "i8"),
    "Half": ("float16", "f2"),
    "BFloat16": ("bfloat16", "u2"),  # NumPy has no such type: the upper half of a float32
    "Float": ("float32", "f4"),
    "Double": ("float64", "f8"),
    "Bool": ("bool", "?"),
    "ComplexFloat": ("complex64", "c8"),
    "ComplexDouble": ("complex128", "c16"),
}
_TYPES = {name for name, _ in _KINDS.values()} | {"strided", "sparse_coo"}
_BUILTINS = ("set", "frozenset", "slice", "list", "dict", "tuple", "int", "float", "bool", "str")
_OURS = ("torch_geometric.data", "torch_geometric.data.")
_CHUNK = 1 << 24  # bytes of a tensor that are read at once
COO = "torch.sparse_coo"


@dataclass(frozen=True)
class _Storage:
    """The elements that tensors share, and torch's name of their type."""

    values: Array
    kind: str


class NoArray:
    """A tensor of a layout that is not read."""


def load(path: Path) -> object:
    """Return what torch.save wrote: tensors as arrays or sparse matrices, PyG's objects and NumPy's
    arrays as stand-ins.

    Raises:
        TaamctlError: damaged, written before torch 1.6, compiled code, or a name that is not on the
            list.
    """
    require_file(path)
    where = str(path)
    with reading(where):
        if not zipfile.is_zipfile(path):
            raise TaamctlError(
                f"{where} is not what torch.save writes since torch 1.6, or is truncated",
                "save it again with torch.save",
            )
        with zipfile.ZipFile(path) as archive:
            return _loaded(archive, where)


def _loaded(archive: zipfile.ZipFile, where: str) -> object:
    found = [name for name in archive.namelist() if name.rpartition("/")[2] == "data.pkl"]
    compiled = any(name.rpartition("/")[2] == "constants.pkl" for name in archive.namelist())
    if compiled or not found:
        raise TaamctlError(
            f"{where} holds no saved object, or compiled code",
            "save the data itself: torch.save(data, path)",
        )
    require_members(archive, where)
    content = archive.read(found[0])
    pickle_check.require_sound(content, where)
    reader = _Reader(content, archive, found[0].rpartition("data.pkl")[0])
    try:
        return reader.load()
    except pickle.UnpicklingError as error:
        if reader.refused:
            raise TaamctlError(
                f"{where}: refused to construct {reader.refused[:60]}; only tensors, arrays, plain "
                "containers and torch_geometric.data belong there",
                f"do not trust a file that you did not write; else {CONVERT}",
            ) from error
        raise


class _Reader(pickle.Unpickler):
    """Makes what is on the list, stand-ins for PyG's classes, and nothing else.

    Attributes:
        refused: the first name that is not on the list; empty while there is none.
    """

    def __init__(self, content: bytes, archive: zipfile.ZipFile, folder: str) -> None:
        super().__init__(io.BytesIO(content))
        self.refused = ""
        self._archive, self._folder = archive, folder
        self._storages: dict[str, _Storage] = {}
        self._classes: dict[str, type[StandIn]] = {}
        self._order = _order_of(archive, folder)

    def find_class(self, module: str, name: str) -> Plain:
        """Return what `module.name` stands for.

        Raises:
            UnpicklingError: it is not on the list.
        """
        if module == "__builtin__":  # as old protocols call it
            module = "builtins"
        if module in _OURS or module.startswith(_OURS[1]):
            return self._classes.setdefault(name, type(name, (StandIn,), {}))
        if module == "builtins" and name in _BUILTINS:
            return super().find_class(module, name)
        found = _of_torch(module, name) or _OTHERS.get((module, name)) or stand_in_for(module, name)
        if found is None:
            self.refused = self.refused or f"{module}.{name}"
            raise pickle.UnpicklingError(f"{module}.{name} is not on the list")
        return found

    def persistent_load(self, pid: Plain) -> _Storage:
        """Return the elements that a pickle refers to."""
        word, kind, key, _, count = pid
        if word != "storage" or not isinstance(kind, _Kind) or not isinstance(key, str):
            raise pickle.UnpicklingError("a reference to what is no tensor")
        if key not in self._storages:
            code = np.dtype(_KINDS[kind.name][1]).newbyteorder(self._order)
            values = _elements(self._archive, f"{self._folder}data/{key}", code)
            self._storages[key] = _Storage(values, kind.name)
        if self._storages[key].kind != kind.name or count != len(self._storages[key].values):
            raise ValueError(f"the tensor {key[:60]} has not the {count} elements that it claims")
        return self._storages[key]


@dataclass(frozen=True)
class _Kind:
    """A type of elements, by torch's name of their storage."""

    name: str


def _order_of(archive: zipfile.ZipFile, folder: str) -> Literal["<", ">"]:
    """Return the order of the bytes, as NumPy spells it: files before torch 2.1 do not say it."""
    stated = b"little"
    if f"{folder}byteorder" in archive.namelist():
        stated = archive.read(f"{folder}byteorder")
    if stated == b"little":
        return "<"
    if stated == b"big":
        return ">"
    raise ValueError(f"its bytes are ordered as {stated[:20]!r}")


def _elements(archive: zipfile.ZipFile, name: str, kind: np.dtype[Plain]) -> Array:
    """Return the bytes of a member as an array that may be written to."""
    size = archive.getinfo(name).file_size
    made = np.empty(size // kind.itemsize, kind)
    if made.nbytes != size:
        raise ValueError(f"{name[:60]} has {size:,} bytes, which are no whole elements")
    into, at = made.view(np.uint8), 0
    with archive.open(name) as stream:
        while chunk := stream.read(_CHUNK):
            into[at : at + len(chunk)] = np.frombuffer(chunk, np.uint8)
            at += len(chunk)
    if at != size:
        raise ValueError(f"{name[:60]} has {at:,} bytes, expected {size:,}")
    return made


def _of_torch(module: str, name: str) -> Plain:
    """Return what stands for a name of torch's; None for one that is not on the list."""
    if module == "torch" and name.endswith("Storage") and name.removesuffix("Storage") in _KINDS:
        return _Kind(name.removesuffix("Storage"))
    if module == "torch" and name in _TYPES:
        return f"torch.{name}"
    return None


def _tensor(storage: Plain, offset: Plain, size: Plain, stride: Plain, *more: Plain) -> Array:
    """Return a tensor: elements of a storage from an offset on, so many steps apart in each
    dimension.

    Raises:
        ValueError: it reaches beyond them.
    """
    if not isinstance(storage, _Storage) or not _are_counts((offset, *size, *stride)):
        raise ValueError("a tensor without elements, size or steps")
    values, kind = storage.values, _kind_here(storage)
    if not prod(size):
        return np.empty(size, kind)
    last = offset + sum((n - 1) * step for n, step in zip(size, stride, strict=True))
    if last >= len(values):
        raise ValueError(f"a tensor of size {tuple(size)} has {len(values):,} elements")
    require_memory(prod(size) * kind.itemsize, "one of its tensors")
    steps = tuple(step * values.itemsize for step in stride)
    made = np.lib.stride_tricks.as_strided(values[offset:], size, steps)
    if storage.kind == "BFloat16":
        made = (made.astype(np.uint32) << 16).view(np.float32)
    elif not made.flags.c_contiguous or made.dtype != kind:
        made = np.ascontiguousarray(made, kind)  # one step of 0 makes many elements of one
    return _with_signs(made, more[2:])


def _are_counts(numbers: tuple[Plain, ...]) -> bool:
    """Tell whether numbers can be sizes: whole, not negative, and no more than 8 dimensions'."""
    return len(numbers) <= 17 and all(type(n) is int and 0 <= n < 1 << 48 for n in numbers)


def _kind_here(storage: _Storage) -> np.dtype[Plain]:
    """Return the type of a tensor's elements here, in this machine's order."""
    here: np.dtype[Plain] = storage.values.dtype.newbyteorder("=")
    if storage.kind == "BFloat16":
        here = np.dtype(np.float32)
    return here


def _with_signs(made: Array, about: tuple[Plain, ...]) -> Array:
    """Return a tensor as its marks say: negative, or conjugate."""
    if not about or not isinstance(about[0], dict):
        return made
    if about[0].get("conj"):
        made = made.conj()
    if about[0].get("neg"):
        made = -made
    return made


def _parameter(data: Plain, *_: object) -> Plain:
    return data


def _sparse(layout: Plain, parts: Plain) -> sp.coo_matrix | NoArray:
    """Return a sparse tensor of two dimensions and one number per entry; SciPy checks that the
    entries lie inside.
    """
    import scipy.sparse as sp

    if layout != COO:
        return NoArray()
    indices, entries, shape = parts[:3]
    if len(indices) != 2 or len(shape) != 2 or entries.ndim != 1:
        return NoArray()
    return sp.coo_matrix((entries, tuple(indices)), shape=shape).tocsr()


def _same(value: Plain) -> Plain:
    return value


def _size(value: Plain = ()) -> Plain:
    return tuple(value)


def _device(*_: object) -> str:
    return "cpu"


_OTHERS = {
    ("torch._utils", "_rebuild_tensor_v2"): _tensor,
    ("torch._utils", "_rebuild_parameter"): _parameter,
    ("torch._utils", "_rebuild_sparse_tensor"): _sparse,
    ("torch.serialization", "_get_layout"): _same,
    ("torch", "Size"): _size,
    ("torch", "device"): _device,
    ("collections", "OrderedDict"): collections.OrderedDict,
    **BYTES,
}
