"""Read artefacts only when they are whole.

A reader refuses a file without the mark of a finished writer, and checks every array against its
checksum.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np

from taamctl.core.errors import TaamctlError
from taamctl.core.plain_values import Plain
from taamctl.core.types import Array
from taamctl.store import heap_check, schema
from taamctl.store.artefact_writer import checksum
from taamctl.store.schema_entries import Attributes, Kind

if TYPE_CHECKING:
    import h5py

MADE = "the command that wrote it"  # where the caller does not know it
AGAIN = "delete it and make it again"


class Artefact:
    """A complete artefact, open for reading. Use it as a context manager.

    Args:
        kind: what is expected; a file of an earlier version is then read as one of the present.
            None: anything, as it stands in the file.
        made_by: the command that makes it, for messages.
    """

    def __init__(self, path: Path, kind: Kind | None = None, made_by: str = "") -> None:
        self.path = path
        self._made_by = made_by
        self._make = f"make it with: {made_by or MADE}"
        self._passes: dict[str, tuple[int, int]] = {}  # array -> rows read in order, their CRC-32
        self._handle = self._open()
        try:
            self._require_whole(kind)
        except TaamctlError:
            self._handle.close()
            raise

    def _open(self) -> h5py.File:
        import h5py

        if not self.path.is_file():
            raise TaamctlError(f"no file {self.path}", self._make)
        try:
            if heap_check.are_sound(self.path):
                return h5py.File(self.path, "r", locking=False)
            raise OSError("a heap that has no end")
        except PermissionError:
            raise TaamctlError(
                f"cannot read {self.path}: permission denied", "make it readable for this user"
            ) from None
        except OSError:
            raise TaamctlError(
                f"{self.path} is broken (no readable HDF5 file)", self._make
            ) from None

    def _require_whole(self, kind: Kind | None) -> None:
        """Refuse a file that its writer did not finish, of another kind, or of another version."""
        with self._guard("its attributes"):
            complete = bool(self._handle.attrs.get("complete", False))
        if not complete:
            raise TaamctlError(f"{self.path} is incomplete (its writer was stopped)", self._make)
        with self._guard("its attributes"):
            self.kind = str(self._handle.attrs["kind"])
            self.version = int(self._handle.attrs["schema_version"])
        if kind is not None and self.kind != kind.name:
            raise TaamctlError(
                f"{self.path} holds a {self.kind} artefact, expected {kind.name}", self._make
            )
        known = kind or schema.KINDS.get(self.kind)
        if known is None:
            raise TaamctlError(
                f"{self.path} is of kind {self.kind}, which this taamctl does not know",
                "install a newer taamctl",
            )
        self.schema = known
        with self._guard("its attributes"):
            self._attributes = {name: _plain(v) for name, v in self._handle.attrs.items()}
        said = known.versions.upgraded(self._attributes, self.version, str(self.path), self._make)
        if kind is not None:  # whoever asks for no kind looks at the file as it is
            self._attributes = said

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._handle.close()

    @property
    def params(self) -> dict[str, Plain]:
        """Return the parameters that made this artefact."""
        with self._guard("params"):
            made: dict[str, Plain] = json.loads(str(self.attribute("params")))
        return made

    def attribute(self, name: str) -> Plain:
        """Return one root attribute."""
        self._require_since(name)
        with self._guard(name):
            return self._attributes[name]

    def attributes(self) -> Attributes:
        """Return all root attributes."""
        return dict(self._attributes)

    def _require_since(self, name: str) -> None:
        """Refuse what the file's version did not hold yet.

        Raises:
            TaamctlError: it came with a later version.
        """
        since = self.schema.since(name)
        if self.version < since:
            raise TaamctlError(
                f"{self.path} is of version {self.version} of {self.kind}, which has no {name}: "
                f"it is written since version {since}",
                self._remake(),
            )

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
            if array.dtype == object:
                self._require_checksum(stored, path, zlib.crc32(b"\0".join(array.tolist())))
                return np.array([v.decode() for v in array])
        self._require_checksum(stored, path, checksum(array))
        return array

    def verify(self, path: str) -> None:
        """Read an array a few rows at a time, and check it against its checksum.

        Raises:
            TaamctlError: it was damaged.
        """
        stored = self._entry(path)
        if stored.dtype == object or not stored.ndim:
            self.read(path)
            return
        step = 4 * (stored.chunks[0] if stored.chunks else max(1, stored.shape[0]))
        for low in range(0, stored.shape[0], step):
            self.rows(path, low, low + step)

    def _require_checksum(self, stored: h5py.Dataset, path: str, crc: int) -> None:
        with self._guard(path):
            recorded = int(stored.attrs["crc32"])
        if crc != recorded:
            raise self._broken(path)

    def head(self, path: str, rows: int) -> Array:
        """Read the first rows of an array, unchecked."""
        stored = self._entry(path)
        with self._guard(path):
            part: Array = stored[:rows] if stored.ndim else stored[()]
        return np.array([v.decode() for v in part]) if part.dtype == object else part

    def rows(self, path: str, low: int, high: int) -> Array:
        """Read rows [low, high) of an array of numbers.

        Its checksum is that of the whole array: it is compared where the last row is read after
        all others in order, however many at a time. Rows out of order are unchecked.
        """
        stored = self._entry(path)
        with self._guard(path):
            part: Array = stored[low:high]
        self._follow(stored, path, low, part)
        return part

    def _follow(self, stored: h5py.Dataset, path: str, low: int, part: Array) -> None:
        """Go on with the checksum of an array that is read in order."""
        expected, crc = self._passes.pop(path, (0, 0))
        if low not in (0, expected) or part.dtype == object:
            return
        if low == 0:
            crc = 0
        if part.size:
            crc = zlib.crc32(np.ascontiguousarray(part).view(np.uint8).data, crc)
        if low + len(part) < stored.shape[0]:
            self._passes[path] = (low + len(part), crc)
        else:
            self._require_checksum(stored, path, crc)

    def describe(self, path: str) -> dict[str, Plain]:
        """Return shape, dtype, dimension labels, checksum and meaning of an array."""
        stored = self._entry(path)
        entry = self.schema.entry(path)
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
            self._require_since(path)
            raise TaamctlError(f"{self.path} has no entry {path}", self._remake())
        import h5py

        with self._guard(path):
            found = self._handle[path]
            if not isinstance(found, h5py.Dataset):
                raise TypeError("a folder stands where an array belongs")
            if found.nbytes > self.path.stat().st_size:  # nothing is packed
                raise ValueError("an array is larger than the file")
            text = found.dtype == object and found.size
            if text and not heap_check.texts_fit(self.path, found.id.get_offset(), found.size):
                raise ValueError("its texts are larger than the file")
            return found

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
        return TaamctlError(
            f"{self.path}: {path} does not match its checksum (the file was damaged)",
            self._remake(),
        )

    def _remake(self) -> str:
        return f"make it again with: {self._made_by} --force" if self._made_by else AGAIN


def _plain(value: Plain) -> Plain:
    """Return an attribute as a plain value."""
    return value.item() if isinstance(value, np.generic) else value
