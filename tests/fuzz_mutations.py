"""Damage to a file, drawn by seed: bits, runs, cuts, splices, numbers in headers, and what lies
inside zips, gzips and npy arrays, whose checksums are made right again.
"""

from __future__ import annotations

import gzip
import io
import random
import re
import warnings
import zipfile
import zlib
from collections.abc import Callable, Sequence

Draw = random.Random
NUMBER = re.compile(rb"-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
NUMBERS = (
    *(b"0 -1 1 2 255 65536 2147483647 2147483648 4294967296 9223372036854775807".split()),
    *(b"-9223372036854775808 18446744073709551616 1000000000000 1e308 1e999 nan inf -inf".split()),
    *(b"0x10 1_000 1.5 -0.0 1e-400 007 00:10 12:34:56".split()),
    *(b"9" * 400, b"1" + b"0" * 5000, "٣".encode(), b"1+2j", b"True", b"None"),
)
WORDS = (
    *(b"id label source target nodes edges x y part train test val directed node edge".split()),
    *(b"nan NaN NA null None true false N/A ? *Vertices *Edges *Arcs graph key data".split()),
    *("é".encode(), "\u2028".encode(), b"\xff\xfe", b"\x00", b"\xef\xbb\xbf", b'"', b"'", b"\\"),
    *(b"&amp;", b"&#0;", b"&x;", b"<![CDATA[", b"<!--", b"!!int x", b"!!binary x", b"&a [*a]"),
    *(b"*a", b"<<: *a", b"? ", b"- ", b"{", b"}", b"[", b"]", b"|", b"%", b"#", b"\t", b"\r", b","),
    *(b'"\\ud800"', b'<!DOCTYPE a [<!ENTITY b "c">]>', b"__class__", b"a" * 300),
)
DESCRIPTIONS = (
    *(b"'|O' '<U1' '<U0' '|S0' '<f16' '<c8' '<M8[ns]' '>f4' '|V8' '|b1' '<i3' 'f' ''".split()),
    *(b"[('a','<f8')]", b"[('a','<f8',(1000000,))]", b"('<f8',(3,))", b"1", b"'<U2000000000'"),
)


def mutant(draw: Draw, content: bytes, others: Sequence[bytes] = ()) -> bytes:
    """Return a damaged copy; `others` are contents of the same kind, to splice with."""
    for _ in range(draw.choice((1, 1, 1, 2, 3, 6))):
        content = _once(draw, content, others)
    return content


def _once(draw: Draw, content: bytes, others: Sequence[bytes]) -> bytes:
    if content[:2] == b"\x1f\x8b" and draw.random() < 0.8:
        return _in_gzip(draw, content)
    if content[:4] == b"PK\x03\x04" and draw.random() < 0.75:
        return _in_zip(draw, content)
    if content[:6] == b"\x93NUMPY" and draw.random() < 0.5:
        return _npy_header(draw, content)
    if others and draw.random() < 0.06:
        return _splice(draw, content, draw.choice(others))
    if _is_text(content) and draw.random() < 0.65:
        return draw.choice(TEXT)(draw, content)
    return draw.choice(BYTES)(draw, content)


def _is_text(content: bytes) -> bool:
    head = content[:200]
    return b"\0" not in head and all(byte < 128 for byte in head)


def _span(draw: Draw, content: bytes, most: int = 64) -> tuple[int, int]:
    low = draw.randrange(len(content) + 1)
    return low, min(len(content), low + draw.randint(1, most))


def _splice(draw: Draw, content: bytes, other: bytes) -> bytes:
    return content[: draw.randrange(len(content) + 1)] + other[draw.randrange(len(other) + 1) :]


def _flip(draw: Draw, content: bytes) -> bytes:
    made = bytearray(content)
    for _ in range(draw.randint(1, 8)):
        if made:
            made[draw.randrange(len(made))] ^= 1 << draw.randrange(8)
    return bytes(made)


def _random_run(draw: Draw, content: bytes) -> bytes:
    low, high = _span(draw, content)
    return content[:low] + draw.randbytes(high - low) + content[high:]


def _zeros(draw: Draw, content: bytes) -> bytes:
    size = draw.choice((4, 8, 16, 64, 512))
    low = draw.randrange(len(content) // size + 1) * size
    return content[:low] + bytes(len(content[low : low + size])) + content[low + size :]


def _delete(draw: Draw, content: bytes) -> bytes:
    low, high = _span(draw, content)
    return content[:low] + content[high:]


def _insert(draw: Draw, content: bytes) -> bytes:
    low, _ = _span(draw, content)
    return content[:low] + draw.randbytes(draw.randint(1, 40)) + content[low:]


def _double(draw: Draw, content: bytes) -> bytes:
    low, high = _span(draw, content, 400)
    return content[:high] + content[low:high] * draw.choice((1, 1, 2, 50)) + content[high:]


def _cut(draw: Draw, content: bytes) -> bytes:
    return content[: draw.randrange(len(content) + 1)]


def _swap(draw: Draw, content: bytes) -> bytes:
    (a, b), (c, d) = sorted([_span(draw, content), _span(draw, content)])
    if b > c:
        return _flip(draw, content)
    return content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]


def _binary_number(draw: Draw, content: bytes) -> bytes:
    """Put a telling number where one of 1, 2, 4 or 8 bytes may stand."""
    size = draw.choice((1, 2, 4, 4, 8, 8))
    value = draw.choice((0, 1, -1, 127, 1 << 20, 1 << 31, 1 << 40, 1 << 62, (1 << 63) - 1, -2))
    spelled = (value % (1 << 8 * size)).to_bytes(size, draw.choice(("little", "little", "big")))
    low = draw.randrange(len(content) + 1)
    if draw.random() < 0.5:
        low -= low % size
    return content[:low] + spelled + content[low + size :]


def _number(draw: Draw, content: bytes) -> bytes:
    found = list(NUMBER.finditer(content))
    if not found:
        return _flip(draw, content)
    at = draw.choice(found)
    return content[: at.start()] + draw.choice(NUMBERS) + content[at.end() :]


def _word(draw: Draw, content: bytes) -> bytes:
    low, high = _span(draw, content, 10)
    return content[:low] + draw.choice(WORDS) + content[draw.choice((low, high)) :]


def _lines(draw: Draw, content: bytes) -> bytes:
    """Leave out, repeat or move a line."""
    lines = content.split(b"\n")
    at = draw.randrange(len(lines))
    line = lines.pop(at)
    lines[at:at] = [line] * draw.choice((0, 2, 40))
    if draw.random() < 0.3:
        lines.insert(draw.randrange(len(lines) + 1), line)
    return b"\n".join(lines)


def _cells(draw: Draw, content: bytes) -> bytes:
    """Leave out, double or exchange what stands between delimiters."""
    by = draw.choice((b",", b" ", b":", b"<", b"\t", b'"'))
    cells = content.split(by)
    a, b = draw.randrange(len(cells)), draw.randrange(len(cells))
    cells[a], cells[b] = cells[b], draw.choice((cells[a], b"", cells[b]))
    return by.join(cells)


def _nested(draw: Draw, content: bytes) -> bytes:
    low = draw.randrange(len(content) + 1)
    depth = draw.choice((10, 500, 3000, 100_000))
    opening = draw.choice((b"[", b"{", b'{"a":', b"<a>", b"a [ ", b"- ", b"(", b"[[", b"? "))
    return content[:low] + opening * depth + content[low:]


BYTES: tuple[Callable[[Draw, bytes], bytes], ...] = (
    *(_flip, _flip, _random_run, _zeros, _delete, _insert, _double, _cut, _swap),
    *(_binary_number, _binary_number, _binary_number),
)
TEXT: tuple[Callable[[Draw, bytes], bytes], ...] = (
    *(_number, _number, _number, _word, _word, _word, _lines, _lines, _cells, _cells, _nested),
)


def _in_gzip(draw: Draw, content: bytes) -> bytes:
    try:
        inside = gzip.decompress(content)
    except (OSError, EOFError, zlib.error):
        return draw.choice(BYTES)(draw, content)
    return gzip.compress(_once(draw, inside, ()), 1, mtime=0)


def _in_zip(draw: Draw, content: bytes) -> bytes:
    """Damage a member, its name or its place, and make the archive's checksums right."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            members = [(info.filename, archive.read(info)) for info in archive.infolist()]
    except Exception:  # whatever a damaged archive makes of Python's reader
        return draw.choice(BYTES)(draw, content)
    if not members:
        return content
    at = draw.randrange(len(members))
    name, inside = members[at]
    what = draw.random()
    if what < 0.8:
        members[at] = (name, _once(draw, inside, [inside for _, inside in members]))
    elif what < 0.9:
        members[at] = (draw.choice(members)[0], inside)
    elif what < 0.95:
        members.pop(at)
    else:
        members[at] = (_renamed(draw, name), inside)
    return _zipped(draw, members)


def _renamed(draw: Draw, name: str) -> str:
    made = mutant(draw, name.encode()).decode("utf-8", "ignore").replace("\0", "")
    return made[:1000] or "x"


def _zipped(draw: Draw, members: Sequence[tuple[str, bytes]]) -> bytes:
    kinds = (*[zipfile.ZIP_STORED] * 6, zipfile.ZIP_DEFLATED, zipfile.ZIP_LZMA, zipfile.ZIP_BZIP2)
    made = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(made, "w", draw.choice(kinds)) as archive:
        warnings.simplefilter("ignore", UserWarning)  # a name that stands twice is meant
        for name, inside in members:
            # a ZipInfo of our own: the time of a file would make equal draws unequal
            info = zipfile.ZipInfo(name)
            info.compress_type = archive.compression
            archive.writestr(info, inside)
    return made.getvalue()


def _npy_header(draw: Draw, content: bytes) -> bytes:
    """Change type, order or shape in the header of an npy array, its length made right."""
    width = 2 if content[6:7] == b"\x01" else 4
    length = int.from_bytes(content[8 : 8 + width], "little")
    begin = 8 + width
    header, rest = content[begin : begin + length], content[begin + length :]
    kind = draw.random()
    if kind < 0.4:
        header = _number(draw, header)
    elif kind < 0.7:
        descr = draw.choice(DESCRIPTIONS)
        header = re.sub(rb"'descr': ('[^']*'|\[.*?\])", lambda _: b"'descr': " + descr, header)
    else:
        header = draw.choice((*TEXT, *BYTES))(draw, header)
    header = header[:65000]
    return content[:8] + len(header).to_bytes(width, "little") + header + rest
