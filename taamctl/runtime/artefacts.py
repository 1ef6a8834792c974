"""Write artefacts whole or not at all, and read them only when they are whole.

A writer fills a temporary file in the target's folder, marks it complete, syncs it and renames it
over the target; a final path is never opened for writing. A reader refuses a file without the mark
and checks every array against its checksum.
"""

from __future__ import annotations

import json
import math
import os
import secrets
import shutil
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from taamctl.core.errors import TaamctlError, explain_os_error
from taamctl.core.slices import Slices
from taamctl.core.types import Array
from taamctl.runtime import schema
from taamctl.runtime.sink import Sink, interrupts_held

if TYPE_CHECKING:
    import h5py

CHUNK_BYTES = 1 << 20


@contextmanager
def atomic(path: Path) -> Iterator[Path]:
    """Yield a temporary path beside `path`; on success sync it and rename it over `path`, on any
    failure remove it.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise explain_os_error(error, path) from None
    temporary = (
        path.parent / f".{path.name}.{os.getpid()}-{secrets.token_hex(4)}.tmp"
    )  # pids of two containers may be equal
    try:
        yield temporary
        with temporary.open("rb") as handle:
            os.fsync(handle.fileno())
        os.replace(temporary, path)
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
    except OSError as error:
        raise explain_os_error(error, path) from None
    finally:
        temporary.unlink(missing_ok=True)


def sweep(path: Path) -> None:
    """Remove the temporary files and folders that killed writers of `path` left behind.

    Call it while holding the path's lock.
    """
    for stale in path.parent.glob(f".{path.name}.*.tmp"):
        if stale.is_dir():
            shutil.rmtree(stale, ignore_errors=True)
        else:
            stale.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically."""
    with atomic(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def write_json(path: Path, value: Any) -> None:
    """Write strict JSON atomically; NaN becomes null."""
    write_text(path, json.dumps(strict(value), indent=1, sort_keys=True, allow_nan=False) + "\n")


def strict(value: Any) -> Any:
    """Return a copy that strict JSON can hold: numpy scalars and arrays unwrapped, NaN and
    infinities as null.
    """
    if isinstance(value, Mapping):
        return {str(k): strict(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strict(v) for v in value]
    if isinstance(value, np.ndarray):
        return strict(value.tolist())
    if isinstance(value, np.generic):
        return strict(value.item())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def read_json(path: Path, made_by: str = "") -> Any:
    """Read a JSON artefact.

    Raises:
        TaamctlError: missing (the hint names the command that makes it) or broken.
    """
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise TaamctlError(
            f"no file {path}", f"make it with: {made_by}" if made_by else ""
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError):
        raise TaamctlError(
            f"{path} is broken (no valid JSON)",
            f"make it again with: {made_by} --force" if made_by else "",
        ) from None


def checksum(array: Array) -> int:
    """Return the CRC-32 of an array's bytes."""
    return zlib.crc32(np.ascontiguousarray(array).view(np.uint8).data) if array.size else 0


class Writer:
    """Fill one artefact; use it through `create`."""

    def __init__(self, handle: h5py.File, kind: str, check: Callable[[], None]) -> None:
        self._handle = handle
        self._kind = kind
        self._check = check

    def put(self, path: str, values: Any, dims: tuple[str, ...] | None = None) -> None:
        """Write one array under the name, dtype and dimension labels that the schema table gives
        it.

        Args:
            path: where, such as `tasks/00/train/H`.
            values: the array, or `Slices` of it; text is taken as UTF-8.
            dims: dimension labels of an entry that the table leaves open.
        """
        import h5py

        if isinstance(values, Slices):
            self.put_rows(path, values.shape, values.make())
            return
        entry = schema.entry_of(self._kind, path)
        if entry is None and not schema.KINDS[self._kind].open_entries:
            raise ValueError(f"{self._kind} artefacts have no entry {path}")
        array = np.asarray(values)
        if entry is not None and entry.dtype == "str":
            array = np.array([str(v).encode() for v in values], dtype=object)
            stored = self._handle.create_dataset(path, data=array, dtype=h5py.string_dtype())
            crc = zlib.crc32(b"\0".join(array.tolist()))
        else:
            array = np.asarray(array, None if entry is None else entry.dtype, order="C")
            stored = self._handle.create_dataset(
                path, data=array, chunks=_chunks(array.shape, array.itemsize)
            )
            crc = checksum(array)
        self._finish(stored, crc, path, entry.dims if entry is not None else dims)

    def put_rows(self, path: str, shape: tuple[int, ...], blocks: Iterable[Array]) -> None:
        """Write one array that comes a few rows at a time; the bytes are those of `put`, however
        the rows are cut.

        Args:
            path: an entry of the schema table, which gives the dtype.
            shape: of the whole array.
            blocks: consecutive rows, [n, ...].

        Raises:
            ValueError: no such entry, or the blocks are not of that shape.
        """
        entry = schema.entry_of(self._kind, path)
        if entry is None:
            raise ValueError(f"{self._kind} artefacts have no entry {path}")
        dtype = np.dtype(entry.dtype)
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


def _aligned(blocks: Iterable[Array], rows: int, dtype: np.dtype[Any]) -> Iterator[Array]:
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


def create(path: Path, kind: str, params: Any, fill: Callable[[Writer], None]) -> None:
    """Write an HDF5 artefact atomically and byte-stably: same content, same bytes.

    Args:
        path: final path.
        kind: a key of the schema table.
        params: what made it; stored as canonical JSON.
        fill: writes the arrays.
    """
    import h5py

    from taamctl.runtime.params import canonical_json

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
                handle.attrs["kind"] = kind
                handle.attrs["schema_version"] = schema.KINDS[kind].version
                handle.attrs["params"] = canonical_json(params)
                fill(Writer(handle, kind, check))
                handle.attrs["complete"] = True
        except (RuntimeError, ValueError, KeyError):  # HDF5 may stumble over what was dropped
            sink.check()
            raise
        sink.check()


class Artefact:
    """A complete artefact, open for reading. Use it as a context manager."""

    def __init__(self, path: Path, kind: str | None = None, made_by: str = "") -> None:
        import h5py

        self.path, self._made_by = path, made_by
        again = f"make it with: {made_by}" if made_by else ""
        if not path.is_file():
            raise TaamctlError(f"no file {path}", again)
        try:
            self._handle = h5py.File(path, "r", locking=False)
        except OSError as error:
            if isinstance(error, PermissionError):
                raise TaamctlError(f"cannot read {path}: permission denied") from None
            raise TaamctlError(f"{path} is broken (no readable HDF5 file)", again) from None
        with self._guard("its attributes"):
            complete = bool(self._handle.attrs.get("complete", False))
        if not complete:
            self._handle.close()
            raise TaamctlError(f"{path} is incomplete (its writer was stopped)", again)
        with self._guard("its attributes"):
            self.kind = str(self._handle.attrs["kind"])
            self.version = int(self._handle.attrs["schema_version"])
        if kind is not None and self.kind != kind:
            self._handle.close()
            raise TaamctlError(f"{path} holds a {self.kind} artefact, expected {kind}", again)
        known = schema.KINDS.get(self.kind)
        if known is None or known.version != self.version:
            self._handle.close()
            raise TaamctlError(
                f"{path}: {self.kind} artefact of schema version {self.version}, this taamctl "
                f"reads {known.version if known else 'none of that kind'}",
                again,
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()

    @property
    def params(self) -> dict[str, Any]:
        """Return the parameters that made this artefact."""
        with self._guard("params"):
            made: dict[str, Any] = json.loads(str(self._handle.attrs["params"]))
        return made

    def attribute(self, name: str) -> Any:
        """Return one root attribute."""
        with self._guard(name):
            value = self._handle.attrs[name]
        return value.item() if isinstance(value, np.generic) else value

    def attributes(self) -> dict[str, Any]:
        """Return all root attributes."""
        with self._guard("its attributes"):
            names = list(self._handle.attrs)
        return {name: self.attribute(name) for name in names}

    def has(self, path: str) -> bool:
        """Tell whether an entry is there."""
        with self._guard(path):
            return path in self._handle

    def paths(self, below: str = "") -> list[str]:
        """List the array paths below a folder, sorted."""
        import h5py

        found: list[str] = []
        with self._guard(below or "its tree"):
            root = self._handle[below] if below else self._handle
            root.visititems(
                lambda name, item: found.append(name) if isinstance(item, h5py.Dataset) else None
            )
        return sorted(f"{below}/{name}" if below else name for name in found)

    def shape(self, path: str) -> tuple[int, ...]:
        """Return an array's shape without reading it."""
        return tuple(self._entry(path).shape)

    def read(self, path: str) -> Array:
        """Read one whole array, converted to nothing, and check it against its checksum."""
        stored = self._entry(path)
        with self._guard(path):
            array: Array = stored[()]
            text = array.dtype == object
            crc = zlib.crc32(b"\0".join(array.tolist())) if text else checksum(array)
            right = crc == int(stored.attrs["crc32"])
        if not right:
            raise self._broken(path)
        return np.array([v.decode() for v in array]) if text else array

    def verify(self, path: str) -> None:
        """Read an array a few rows at a time, and check it against its checksum.

        Raises:
            TaamctlError: it was damaged.
        """
        stored, crc = self._entry(path), 0
        step = 4 * (stored.chunks[0] if stored.chunks else max(1, stored.shape[0]))
        for low in range(0, stored.shape[0], step):
            piece = np.ascontiguousarray(self.rows(path, low, low + step))
            crc = zlib.crc32(piece.view(np.uint8).data, crc) if piece.size else crc
        with self._guard(path):
            right = crc == int(stored.attrs["crc32"])
        if not right:
            raise self._broken(path)

    def head(self, path: str, rows: int) -> Array:
        """Read the first rows of an array, unchecked."""
        stored = self._entry(path)
        with self._guard(path):
            part: Array = stored[:rows] if stored.ndim else stored[()]
        return np.array([v.decode() for v in part]) if part.dtype == object else part

    def rows(self, path: str, low: int, high: int) -> Array:
        """Read rows [low, high) of an array, unchecked: its checksum is that of the whole array,
        which only `read` compares.
        """
        stored = self._entry(path)
        with self._guard(path):
            part: Array = stored[low:high]
        return part

    def describe(self, path: str) -> dict[str, Any]:
        """Return shape, dtype, dimension labels, checksum and meaning of an array."""
        stored = self._entry(path)
        entry = schema.entry_of(self.kind, path)
        with self._guard(path):
            text = stored.dtype == object
            return {
                "path": path,
                "shape": list(stored.shape),
                "dtype": "str" if text else str(stored.dtype),
                "dims": [d.label for d in stored.dims],
                "crc32": f"{int(stored.attrs['crc32']):08x}",
                "doc": entry.doc if entry else "",
            }

    def _entry(self, path: str) -> h5py.Dataset:
        if not self.has(path):
            again = f"make it again with: {self._made_by} --force" if self._made_by else ""
            raise TaamctlError(f"{self.path} has no entry {path}", again)
        with self._guard(path):
            return self._handle[path]

    @contextmanager
    def _guard(self, what: str) -> Iterator[None]:
        """Turn what HDF5 raises over damaged bytes into one error that names the file and the
        place.
        """
        try:
            yield
        except (OSError, RuntimeError, KeyError, ValueError, TypeError, AttributeError):
            raise self._broken(what) from None

    def _broken(self, path: str) -> TaamctlError:
        again = (
            f"make it again with: {self._made_by} --force"
            if self._made_by
            else "delete it and make it again"
        )
        return TaamctlError(
            f"{self.path}: {path} does not match its checksum (the file was damaged)", again
        )
