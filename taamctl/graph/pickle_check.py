"""A look at the operations of a pickle before it is read: Python's own reader takes the memory and
the depth that they ask for.
"""

from __future__ import annotations

import pickletools

from taamctl.core.input_limits import MOST_TUPLES, require_memory

OBJECT = 64  # bytes of memory that an operation may need, beside those it spells
_PUT, _LONG_PUT, _STOP = ord("p"), ord("r"), ord(".")
_FIXED = {ord(code.code): code.arg.n for code in pickletools.opcodes if code.arg and code.arg.n > 0}
_LINES = {
    ord(code.code): 2 if code.arg.name == "stringnl_noescape_pair" else 1
    for code in pickletools.opcodes
    if code.arg and code.arg.n == pickletools.UP_TO_NEWLINE
}
_SIZED = {  # operation -> bytes of the length that follows
    ord(code.code): {-2: 1, -3: 4, -4: 4, -5: 8}[code.arg.n]
    for code in pickletools.opcodes
    if code.arg and code.arg.n < -1
}
_HASHED = frozenset(b"t\x85\x86\x87\x91")  # tuples and frozen sets: hashed as deep as they nest


def require_sound(content: bytes, where: str) -> None:
    """Refuse a pickle that is cut off, keeps more than it holds, or may nest too deep to be hashed.

    Raises:
        ValueError: it does.
        TaamctlError: there is no memory for its objects.
    """
    at, end, operations, hashed = 0, len(content), 0, 0
    while True:
        if at >= end:
            raise ValueError("its pickle is cut off")
        code = content[at]
        operations += 1
        hashed += code in _HASHED
        if code in (_PUT, _LONG_PUT):
            _require_number(content, at, code)
        if code == _STOP:
            break
        at = _behind(content, at, code)
    if hashed > MOST_TUPLES:
        raise ValueError(f"its pickle holds {hashed:,} tuples, expected tensors")
    require_memory(OBJECT * operations + end, where, "its objects")


def _require_number(content: bytes, at: int, code: int) -> None:
    """Refuse to keep an object under a number that no pickle of this size needs."""
    if code == _LONG_PUT:
        number = int.from_bytes(content[at + 1 : at + 5], "little")
    else:
        spelled = content[at + 1 : at + 20].split(b"\n")[0]
        number = int(spelled) if spelled.isdigit() else -1
    if not 0 <= number <= len(content):
        raise ValueError(f"its pickle keeps an object under the number {number}")


def _behind(content: bytes, at: int, code: int) -> int:
    """Return where the next operation stands."""
    if code in _FIXED:
        return at + 1 + _FIXED[code]
    if code in _SIZED:
        width = _SIZED[code]
        return at + 1 + width + int.from_bytes(content[at + 1 : at + 1 + width], "little")
    for _ in range(_LINES.get(code, 0)):
        at = content.find(b"\n", at + 1)
        if at < 0:
            raise ValueError("its pickle is cut off")
    return at + 1
