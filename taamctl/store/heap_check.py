"""The heaps of an HDF5 file, where its texts lie, looked at before HDF5 walks them: it walks for
ever where the size of an object is 0, as after a block of a disk went bad.

Source: the HDF Group, "HDF5 File Format Specification Version 3.0", section III.E, Global Heap.
"""

from __future__ import annotations

import mmap
from pathlib import Path

import numpy as np

MAGIC = b"GCOL\x01\0\0\0"  # the signature and version 1 of a collection of objects
HEADER = 16  # bytes before the first object, and before what each object holds
REFERENCE = np.dtype([("length", "<u4"), ("collection", "<u8"), ("object", "<u4")])
EITHER_END = 1 << 25  # bytes at the begin and the end of a larger file that are looked at: texts
# are written before and after the large arrays


def are_sound(path: Path, whole: bool = False) -> bool:
    """Tell whether every collection of objects in a file can be walked to its end.

    Args:
        whole: look at all of a large file: texts of another programme stand anywhere.
    """
    if not path.stat().st_size:
        return True
    with (
        path.open("rb") as stream,
        mmap.mmap(stream.fileno(), 0, access=mmap.ACCESS_READ) as content,
    ):
        size = len(content)
        parts = [(0, size)]
        if size > 2 * EITHER_END and not whole:
            parts = [(0, EITHER_END), (size - EITHER_END, size)]
        return all(_sound_between(content, low, high) for low, high in parts)


def texts_fit(path: Path, at: int | None, count: int) -> bool:
    """Tell whether texts claim no more bytes than the file has; HDF5 takes memory for what they
    claim.

    Args:
        at: where the references to the texts stand; None where that is not in one place.
        count: how many there are.
    """
    if at is None:
        return True
    with path.open("rb") as stream:
        stream.seek(at)
        claimed = np.frombuffer(stream.read(count * REFERENCE.itemsize), REFERENCE)["length"]
    return int(claimed.sum(dtype=np.int64)) <= path.stat().st_size


def _sound_between(content: mmap.mmap, low: int, high: int) -> bool:
    at = content.find(MAGIC, low, high)
    while at >= 0:
        if not _sound(content, at):
            return False
        at = content.find(MAGIC, at + len(MAGIC), high)
    return True


def _sound(content: mmap.mmap, begin: int) -> bool:
    """Tell whether the objects of a collection follow each other to its end."""
    end = begin + _number(content, begin + 8)
    if end > len(content):
        return False
    at = begin + HEADER
    while at + HEADER <= end:
        size = _number(content, at + 8)
        is_free = content[at : at + 2] == b"\0\0"  # its size counts its own header
        step = size if is_free else HEADER + -(-size // 8) * 8
        if step < HEADER or at + step > end:
            return False
        at += step
    return True


def _number(content: mmap.mmap, at: int) -> int:
    return int.from_bytes(content[at : at + 8], "little")
