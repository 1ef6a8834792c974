"""Write HDF5 artefacts whole or not at all, byte-stably: same content, same bytes."""

from __future__ import annotations

import math
import zlib
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import DTypeLike

from taamctl.core.plain_values import Plain, canonical_json
from taamctl.core.slices import Slices
from taamctl.core.types import Array
from taamctl.store.atomic_files import atomic
from taamctl.store.schema_entries import Kind
from taamctl.store.sink import Sink, interrupts_held

if TYPE_CHECKING:
    import h5py

CHUNK_BYTES = 1 << 20


def checksum(array: Array) -> int:
    """Return the CRC-32 of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data) if array.size else 0


class Writer:
    """Fill one artefact; use it through `create`."""

    def __init__(self, handle: h5py.File, kind: Kind, check: Callable[[], None]) -> None:
        self._handle = handle
        self._kind = kind
        self._check = check

    def put(self, path: str, values: Plain, dims: tuple[str, ...] | None = None) -> None:
        """Write one array under the name, dtype and dimension labels that its kind gives it.

        Args:
            path: where, such as `tasks/00/train/H`.
            values: the array, or `Slices` of it; text is taken as UTF-8.
            dims: dimension labels of an entry that the table leaves open.
        """
        import h5py

        if isinstance(values, Slices):
            self.put_rows(path, values.shape, values.make(), values.dtype)
            return
        entry = self._kind.entry(path)
        if entry is None and not self._kind.open_entries:
            raise ValueError(f"{self._kind.name} artefacts have no entry {path}")
        array = np.asarray(values)
        if entry is not None and entry.dtype == "str":
            array = np.array([str(v).encode() for v in values], dtype=object)
            stored = self._handle.create_dataset(path, data=array, dtype=h5py.string_dtype())
            crc = zlib.crc32(b"\0".join(array.tolist()))
        else:
            kept = array.dtype if entry is None else entry.stored_as(str(array.dtype))
            array = np.asarray(array, kept, order="C")
            stored = self._handle.create_dataset(
                path, data=array, chunks=_chunks(array.shape, array.itemsize)
            )
            crc = checksum(array)
        self._finish(stored, crc, path, entry.dims if entry is not None else dims)

    def put_rows(
        self, path: str, shape: tuple[int, ...], blocks: Iterable[Array], given: str = ""
    ) -> None:
        """Write one array that comes a few rows at a time; the bytes are those of `put`, however
        the rows are cut.

        Args:
            path: an entry of the kind, which gives the dtype.
            shape: of the whole array.
            blocks: consecutive rows, [n, ...].
            given: dtype of the blocks, for an entry that may have one of several.

        Raises:
            ValueError: no such entry, or the blocks are not of that shape.
        """
        entry = self._kind.entry(path)
        if entry is None:
            raise ValueError(f"{self._kind.name} artefacts have no entry {path}")
        dtype = np.dtype(entry.stored_as(given))
        chunks = _chunks(shape, dtype.itemsize)
        if chunks is None:
            self.put(
                path, np.concatenate([np.zeros((0, *shape[1:]), dtype), *blocks]).reshape(shape)
            )
            return
        stored = self._handle.create_dataset(path, shape, dtype, chunks=chunks)
        crc, at = 0, 0
        for piece in _aligned(blocks, chunks[0], dtype):
            stored[at : at + len(piece)] = piece
            crc, at = zlib.crc32(piece.view(np.uint8).data, crc), at + len(piece)
            self._check()
        if at != shape[0]:
            raise ValueError(f"{path} should have {shape[0]} rows, {at} came")
        self._finish(stored, crc, path, entry.dims)

    def tick(self) -> None:
        """Let a Ctrl-C through that came since the last array, and raise what the disk refused:
        for long work between arrays.
        """
        self._check()

    def _finish(
        self, stored: h5py.Dataset, crc: int, path: str, labels: tuple[str, ...] | None
    ) -> None:
        """Add dimension labels and checksum."""
        if labels is not None and len(labels) != stored.ndim:
            raise ValueError(f"{path} has {stored.ndim} dimensions, the schema says {labels}")
        for axis, label in enumerate(labels or ()):
            stored.dims[axis].label = label
        stored.attrs["crc32"] = np.uint32(crc)
        self._check()

    def attribute(self, name: str, value: str | int | float) -> None:
        """Write one root attribute."""
        self._handle.attrs[name] = value


def _chunks(shape: tuple[int, ...], itemsize: int) -> tuple[int, ...] | None:
    """Return equal row chunks of at most 1 MiB; None (contiguous) for anything smaller than one
    chunk.

    Equal, because HDF5 stores the last chunk in full: a short one would be padding on the disk.
    """
    size = math.prod(shape) * itemsize
    if size <= CHUNK_BYTES or not shape:
        return None
    return (-(-shape[0] // -(-size // CHUNK_BYTES)), *shape[1:])


def _aligned(blocks: Iterable[Array], rows: int, dtype: DTypeLike) -> Iterator[Array]:
    """Yield the rows of `blocks` cut at multiples of `rows`, so that no chunk is written twice."""
    left: list[Array] = []
    for block in blocks:
        left.append(np.asarray(block, dtype))
        have = sum(map(len, left))
        if have >= rows:
            joined = np.ascontiguousarray(np.concatenate(left) if len(left) > 1 else left[0])
            whole = have // rows * rows
            yield joined[:whole]
            left = [joined[whole:]]
    if sum(map(len, left)):
        yield np.ascontiguousarray(np.concatenate(left))


def create(path: Path, kind: Kind, params: object, fill: Callable[[Writer], None]) -> None:
    """Write an HDF5 artefact atomically and byte-stably: same content, same bytes.

    Args:
        path: final path.
        kind: of the artefact.
        params: what made it; stored as canonical JSON.
        fill: writes the arrays.
    """
    import h5py

    with (
        atomic(path) as temporary,
        interrupts_held() as let_through,
        temporary.open("w+b", buffering=0) as file,
    ):
        sink = Sink(file)

        def check() -> None:
            sink.check()
            let_through()

        try:
            with h5py.File(sink, "w") as handle:
                handle.attrs["kind"] = kind.name
                handle.attrs["schema_version"] = kind.version
                handle.attrs["params"] = canonical_json(params)
                fill(Writer(handle, kind, check))
                handle.attrs["complete"] = True
        except (RuntimeError, ValueError, KeyError):  # HDF5 may stumble over what was dropped
            sink.check()
            raise
        sink.check()
