"""What AnnData keeps in HDF5: arrays, sparse matrices and tables of columns, by its specification
of files. The package anndata is not needed.

Source: "AnnData on-disk format", version 0.1.0 of its elements; what stands under `encoding-type`.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.graph.raw_values import reading
from taamctl.importing.messages import shown
from taamctl.store import heap_check

if TYPE_CHECKING:
    import h5py
    import scipy.sparse as sp

SMALL = 64 << 20  # bytes of an array that is read whatever it takes on the disk
MOST_PACKED = 5000  # times: no array of numbers is compressed further
_AGAIN = "read it and write it again with AnnData 0.8 or newer: anndata.read_h5ad(...).write_h5ad"


@contextmanager
def opened_file(path: Path) -> Iterator[h5py.File]:
    """Open a file for reading.

    Raises:
        TaamctlError: damaged, or no HDF5.
    """
    import h5py

    with reading(str(path)):
        if not heap_check.are_sound(path, whole=True):
            raise ValueError("a heap of texts has no end")
        with h5py.File(path, "r") as file:
            yield file


def member(group: h5py.Group, name: str) -> h5py.Group | h5py.Dataset:
    """Return what a group holds under a name.

    Raises:
        TaamctlError: there is no such thing, or it lies in another file.
    """
    import h5py

    where = f"{group.file.filename}: {group.name.rstrip('/')}/{shown(name)}"
    link = group.get(name, getlink=True)
    if link is None:
        raise TaamctlError(f"{where} is missing", _AGAIN)
    found = group[name] if isinstance(link, h5py.HardLink) else None
    outside = isinstance(found, h5py.Dataset) and (found.external or found.is_virtual)
    if found is None or outside:
        raise TaamctlError(f"{where} lies in another file", "write the file anew, with all data")
    return found


def names_in(group: h5py.Group, name: str) -> list[str]:
    """Return the names of what a group below holds; none where there is no such group."""
    import h5py

    if name not in group:
        return []
    found = member(group, name)
    return sorted(found) if isinstance(found, h5py.Group) else []


def matrix(node: h5py.Group | h5py.Dataset) -> Array | sp.csr_matrix:
    """Return a matrix, dense or sparse.

    Raises:
        TaamctlError: neither, or damaged.
    """
    import h5py
    import scipy.sparse as sp

    if isinstance(node, h5py.Dataset):
        dense = _array(node)
        if dense.ndim != 2:
            raise _unknown(node, f"an array {dense.shape}")
        return dense
    kind = str(node.attrs.get("encoding-type", node.attrs.get("h5sparse_format", "")))
    makers = {"csr": sp.csr_matrix, "csc": sp.csc_matrix}
    maker = makers.get(kind.removesuffix("_matrix"))
    if maker is None:
        raise _unknown(node, kind)
    shape = node.attrs.get("shape", node.attrs.get("h5sparse_shape"))
    parts = tuple(_array(member(node, part)) for part in ("data", "indices", "indptr"))
    made = maker(parts, shape=tuple(int(length) for length in shape))
    made.check_format(full_check=True)
    return made.tocsr()


def table(node: h5py.Group | h5py.Dataset) -> tuple[Array, dict[str, Array]]:
    """Return the names of the rows [n], and the columns by name; None where a cell has no value.

    Raises:
        TaamctlError: no table, or one from before AnnData 0.7.
    """
    import h5py

    if not isinstance(node, h5py.Group) or "_index" not in node.attrs:
        raise _unknown(node, "an old table")
    names = [_text(name) for name in np.ravel(node.attrs.get("column-order", []))]
    index = column(node, _text(node.attrs["_index"]))
    columns = {name: column(node, name) for name in names}
    for name, cells in columns.items():
        if len(cells) != len(index):
            raise TaamctlError(
                f"{node.file.filename}: {node.name}/{shown(name)} has {len(cells):,} cells for "
                f"{len(index):,} rows",
                "the file is damaged; write it again",
            )
    return index, columns


def column(group: h5py.Group, name: str) -> Array:
    """Return a column of a table: numbers, truths or objects."""
    import h5py

    node = member(group, name)
    if isinstance(node, h5py.Dataset):
        cells = _array(node)
        if name not in names_in(group, "__categories"):
            return cells
        return _of_codes(cells, _array(member(group["__categories"], name)))
    kind = str(node.attrs.get("encoding-type", ""))
    if kind == "categorical":
        return _of_codes(_array(member(node, "codes")), column(node, "categories"))
    if kind.startswith("nullable-"):
        values, mask = (_array(member(node, part)) for part in ("values", "mask"))
        if not mask.any():
            return values
        cells = values.astype(object)
        cells[mask.astype(bool)] = None
        return cells
    raise _unknown(node, kind)


def _of_codes(codes: Array, categories: Array) -> Array:
    """Return the category of every row; None for a code of -1."""
    if codes.dtype.kind not in "iu" or codes.max(initial=-1) >= len(categories):
        raise ValueError("a code of a category that is not there")
    cells = np.empty(len(codes), object)
    known = codes >= 0
    cells[known] = categories[codes[known]]
    return cells


def _array(node: h5py.Group | h5py.Dataset) -> Array:
    """Return an array of numbers, truths, or text as objects."""
    import h5py

    if not isinstance(node, h5py.Dataset) or node.shape is None:
        raise _unknown(node, "no array")
    _require_stored(node)
    if h5py.check_string_dtype(node.dtype) is not None:
        return np.asarray(node.asstr()[()], object)
    if node.dtype.kind not in "iufb":
        raise _unknown(node, str(node.dtype))
    return np.asarray(node[()])


def _require_stored(node: h5py.Dataset) -> None:
    """Refuse an array that states more than the bytes that are there can hold."""
    size, stored = node.size * node.dtype.itemsize, node.id.get_storage_size()
    if size > SMALL and size > MOST_PACKED * stored:
        raise TaamctlError(
            f"{node.file.filename}: {node.name} states {size / 2**20:,.0f} MiB, but {stored:,} "
            "bytes are there",
            "the file is damaged or was never written to its end; write it again",
        )


def _text(value: Plain) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _unknown(node: h5py.Group | h5py.Dataset, kind: str) -> TaamctlError:
    return TaamctlError(
        f"{node.file.filename}: {node.name} is {shown(kind) or 'of no kind'}, which is not read",
        _AGAIN,
    )
