"""The begin of an XML file, where entities are declared that can stand for more than any memory
holds.
"""

from __future__ import annotations

from pathlib import Path
from xml.parsers import expat

from taamctl.core.errors import TaamctlError
from taamctl.importing.tables import opened

_CHUNK = 1 << 16


class _Begun(Exception):
    """The first element begins: no document type can follow."""


def refuse_doctype(path: Path) -> None:
    """Refuse a file that declares a document type; what else is wrong, its reader says.

    Raises:
        TaamctlError: it does.
    """

    def begun(*_: object) -> None:
        raise _Begun

    def declared(*_: object) -> None:
        raise TaamctlError(
            f"{path} declares a document type, which no graph needs",
            "delete the line that starts with <!DOCTYPE, if you trust the file",
        )

    parser = expat.ParserCreate()
    parser.StartElementHandler, parser.StartDoctypeDeclHandler = begun, declared
    with opened(path) as stream:
        try:
            while chunk := stream.read(_CHUNK):
                parser.Parse(chunk, False)
        except (_Begun, expat.ExpatError, ValueError, LookupError):
            return
