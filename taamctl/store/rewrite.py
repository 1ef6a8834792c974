"""Write an artefact of an earlier version anew as one of the present version."""

from __future__ import annotations

from pathlib import Path

from taamctl.store.artefact_writer import Writer, create
from taamctl.store.artefacts import Artefact
from taamctl.store.schema_entries import Kind

WRITTEN = ("kind", "schema_version", "params", "complete")  # attributes that `create` writes


def rewrite(path: Path, kind: Kind) -> int | None:
    """Replace a file by one of the present version, whole or not at all; return the version that
    it had, or None where it had the present one and nothing was done. Hold the file's lock.

    Every array is read once, checked against its checksum, and stays what it is in every byte; the
    attributes are what a reader of the file would get.

    Raises:
        TaamctlError: missing, damaged, of another kind, or of a newer version.
    """
    with Artefact(path, kind) as old:
        if old.version == kind.version:
            return None

        def fill(writer: Writer) -> None:
            for name, value in old.attributes().items():
                if name not in WRITTEN:
                    writer.attribute(name, value)
            for place in old.paths():
                writer.put(place, old.read(place), tuple(old.describe(place)["dims"]))

        create(path, kind, old.params, fill)
        return old.version
