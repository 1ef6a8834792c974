"""What an .npz says of itself, held against its bytes before NumPy believes it.

NumPy allocates what a header claims, hands the header to Python's own parser, and unpacks what
every member of the zip holds. Here all of that is looked at first: what passes takes no more memory
than is there.
"""

from __future__ import annotations

import re
import zipfile
from math import prod
from typing import IO, TypeGuard

import numpy as np

from taamctl.core.input_limits import (
    DEFLATE,
    MOST_HEADER,
    MOST_NESTED,
    require_memory,
)
from taamctl.graph.raw_values import reading

_TOKEN = re.compile(
    r"\s*(?:'([^'\\]*)'|\"([^\"\\]*)\"|(-?\d{1,19})L?\b|(True|False|None)|([][(){},:]))"
)
_NAMED = {"True": True, "False": False, "None": None}
_CLOSED_BY = {"(": ")", "[": "]", "{": "}"}
_MAGIC = b"\x93NUMPY"
_PACKED = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)  # as NumPy and torch write


def require_sound(stream: IO[bytes], where: str) -> None:
    """Refuse an .npz or .npy whose sizes contradict its bytes, or find no memory; the stream is
    then at its begin.

    Raises:
        TaamctlError: it does; the message names the array.
    """
    with reading(where):
        stream.seek(0)
        magic = stream.read(len(_MAGIC))
        stream.seek(0)
        if magic == _MAGIC:
            size = stream.seek(0, 2)
            stream.seek(0)
            _require_array(stream, size, "its array")
        else:
            with zipfile.ZipFile(stream) as archive:
                require_members(archive, where)
                _require_arrays(archive)
        stream.seek(0)


def require_members(archive: zipfile.ZipFile, where: str) -> None:
    """Refuse a zip whose members cannot be what they claim to be, or find no memory.

    Raises:
        ValueError: one is packed otherwise, or to more than its bytes can hold.
        TaamctlError: there is no memory for them.
    """
    members = archive.infolist()
    require_memory(sum(member.file_size for member in members), where)
    for member in members:
        name = repr(member.filename[:60])
        if member.compress_type not in _PACKED:
            raise ValueError(f"{name} is packed in a way that NumPy and torch never use")
        if member.file_size > DEFLATE * (member.compress_size + 1):
            raise ValueError(
                f"{name} is to hold {member.file_size:,} bytes, packed in {member.compress_size:,}"
            )


def _require_arrays(archive: zipfile.ZipFile) -> None:
    for member in archive.infolist():
        with archive.open(member) as stream:
            if stream.read(len(_MAGIC)) == _MAGIC:
                stream.seek(0)
                _require_array(stream, member.file_size, repr(member.filename[:60]))


def _require_array(stream: IO[bytes], size: int, name: str) -> None:
    """Refuse an array whose header claims more or fewer bytes than follow it."""
    version, length = _begin(stream)
    text = stream.read(length)
    if len(text) < length:
        raise ValueError(f"{name} ends inside its header")
    header = parsed(text.decode("utf-8" if version == 3 else "latin1"))
    if not isinstance(header, dict) or set(header) != {"descr", "fortran_order", "shape"}:
        raise ValueError(f"the header of {name} has not just descr, fortran_order and shape")
    shape = header["shape"]
    if not _is_shape(shape):
        raise ValueError(f"the header of {name} gives no shape")
    kind = np.lib.format.descr_to_dtype(header["descr"])
    if kind.hasobject:
        return  # a pickle, which is not read
    claimed, there = prod(shape) * kind.itemsize, size - stream.tell()
    if claimed != there:
        raise ValueError(f"{name} is to hold {claimed:,} bytes, {there:,} are there")


def _is_shape(shape: object) -> TypeGuard[tuple[int, ...]]:
    return isinstance(shape, tuple) and all(type(size) is int and size >= 0 for size in shape)


def _begin(stream: IO[bytes]) -> tuple[int, int]:
    """Return the version of a header, and its length."""
    begin = stream.read(len(_MAGIC) + 2)
    version = begin[-2]
    width = 2 if version == 1 else 4
    length = int.from_bytes(stream.read(width), "little")
    if version not in (1, 2, 3) or length > MOST_HEADER:
        raise ValueError(f"a header of version {version} and {length:,} bytes")
    return version, length


def parsed(text: str) -> object:
    """Return the value that a header spells as Python does: text, whole numbers, True, False, None,
    and tuples, lists and mappings of these; no other literal, and no operator.

    Raises:
        ValueError: anything else, or brackets in more than `MOST_NESTED` brackets.
    """
    tokens, at = list[re.Match[str]](), 0
    end = len(text.rstrip())
    while at < end:
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"a header with {text[at : at + 20]!r}")
        tokens.append(found)
        at = found.end()
    value, after = _value(tokens, 0, 0)
    if after != len(tokens):
        raise ValueError(f"a header with {tokens[after][0][:20]!r} behind its end")
    return value


def _value(tokens: list[re.Match[str]], at: int, depth: int) -> tuple[object, int]:
    """Return the value that begins at a token, and the token behind it."""
    if at >= len(tokens) or depth > MOST_NESTED:
        raise ValueError("a header that ends early, or nests too deep")
    single, double, number, named, sign = tokens[at].groups()
    if number is not None:
        return int(number), at + 1
    if named is not None:
        return _NAMED[named], at + 1
    if sign is None:
        return (single if single is not None else double), at + 1
    if sign not in _CLOSED_BY:
        raise ValueError(f"a header with {sign!r} where a value is expected")
    return _values(tokens, at + 1, depth + 1, sign)


def _values(tokens: list[re.Match[str]], at: int, depth: int, opened: str) -> tuple[object, int]:
    """Return what stands in brackets, and the token behind them."""
    closing = _CLOSED_BY[opened]
    keys, found, ended = list[object](), list[object](), False
    while _sign(tokens, at) != closing:
        if found and not ended:
            raise ValueError("a header that lacks a comma")
        if opened == "{":
            key, at = _value(tokens, at, depth)
            if not isinstance(key, str) or _sign(tokens, at) != ":":
                raise ValueError("a header with a key that is no text")
            keys.append(key)
            at += 1
        value, at = _value(tokens, at, depth)
        found.append(value)
        ended = _sign(tokens, at) == ","
        at += ended
    return _closed(opened, keys, found, ended), at + 1


def _sign(tokens: list[re.Match[str]], at: int) -> str | None:
    """Return the sign at a token, None for a value.

    Raises:
        ValueError: there is no token.
    """
    if at >= len(tokens):
        raise ValueError("a header that lacks a bracket")
    return tokens[at][5]


def _closed(opened: str, keys: list[object], found: list[object], ended: bool) -> object:
    """Return the mapping, list, tuple or single value in brackets; `ended` by a comma."""
    if opened == "{":
        return dict(zip(keys, found, strict=True))
    if opened == "[":
        return found
    if len(found) == 1 and not ended:
        return found[0]
    return tuple(found)
