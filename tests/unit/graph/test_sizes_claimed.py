"""What a file claims is held against its bytes: npz, gzip, pickles."""

from __future__ import annotations

import ast
import gzip
import io
import pickle
import random
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from taamctl.core import input_limits
from taamctl.core.errors import TaamctlError
from taamctl.graph import gzip_check, npz_check, pickle_check, pickled_arrays


def npy(header: str, content: bytes = b"") -> bytes:
    """Return an array with a header of one's own."""
    return b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header.encode() + content


def npz(**members: bytes) -> io.BytesIO:
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(f"{name}.npy", content)
    return made


def literal(draw: random.Random, depth: int = 0) -> Any:
    kinds = ["text", "number", "named", *["tuple", "list", "dict"] * (depth < 4)]
    kind = draw.choice(kinds)
    if kind == "text":
        return "".join(draw.choice("ab<8 ,:(é)") for _ in range(draw.randint(0, 5)))
    if kind in ("number", "named"):
        return draw.randint(-(10**17), 10**17) if kind == "number" else draw.choice([True, None])
    inner = [literal(draw, depth + 1) for _ in range(draw.randint(0, 3))]
    if kind == "dict":
        return {f"k{i}": value for i, value in enumerate(inner)}
    return tuple(inner) if kind == "tuple" else inner


def test_headers_are_read_as_python_reads_them() -> None:
    draw = random.Random(0)
    for _ in range(500):
        text = repr(literal(draw))
        assert npz_check.parsed(text) == ast.literal_eval(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "__import__('os')",
            "1+1",
            "{'a': 1, **x}",
            "f'a'",
            "b'a'",
            "'a' 'b'",
            "(1",
            "1)",
            "{1: 2}",
        ),
        *(
            "[1 2]",
            "(,)",
            "{'a'}",
            "'\\x41'",
            "[" * 50 + "]" * 50,
            "1e5",
            "9" * 30,
            "",
            "lambda: 0",
        ),
    ],
)
def test_headers_hold_nothing_else(text: str) -> None:
    with pytest.raises(ValueError, match="header"):
        npz_check.parsed(text)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (
            npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1000000000000,), }"),
            "8,000,000,",
        ),
        (npy("{'descr': '<U500000000', 'fortran_order': False, 'shape': (), }"), "2,000,000,000"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (2,), }", b"1" * 8), "16 bytes, 8"),
        (npy("{'descr': '<f8', 'fortran_order': False, 'shape': (-1,), }"), "gives no shape"),
        (npy("{'descr': '<f8', 'fortran_order': open('x'), 'shape': (), }"), "a header with"),
        (npy("{'descr': '<f8', 'shape': ()}"), "not just descr"),
        (b"\x93NUMPY\x02\x00\xff\xff\xff\x7f", "2,147,483,647 bytes"),
    ],
)
def test_an_array_that_claims_what_is_not_there(content: bytes, message: str) -> None:
    with pytest.raises(TaamctlError, match=rf"f\.npz cannot be read: .*{message}"):
        npz_check.require_sound(npz(x=content), "f.npz")


def test_a_zip_that_claims_more_than_it_can_hold(monkeypatch: pytest.MonkeyPatch) -> None:
    stream = npz(x=npy("{'descr': '|u1', 'fortran_order': False, 'shape': (9,), }", b"1" * 9))
    claims = bytearray(stream.getvalue())
    at = claims.rindex(b"PK\x01\x02") + 24
    claims[at : at + 4] = (1 << 26).to_bytes(4, "little")
    with pytest.raises(TaamctlError, match="'x.npy' is to hold 67,108,864 bytes, packed in"):
        npz_check.require_sound(io.BytesIO(claims), "f.npz")
    bomb = npz(
        x=npy("{'descr': '|u1', 'fortran_order': False, 'shape': (134217728,), }", bytes(1 << 27))
    )
    monkeypatch.setattr(input_limits, "free_memory", lambda: 1 << 26)
    with pytest.raises(TaamctlError, match=r"take 128 MiB of memory, 64 MiB are free"):
        npz_check.require_sound(bomb, "f.npz")


def test_whole_arrays_of_every_kind_pass() -> None:
    rng = np.random.default_rng(0)
    for code in ("f8", ">f4", "i2", "?", "U3", "S2", "M8[s]", "c16", "O"):
        for shape in ((), (0,), (3,), (2, 0, 4), (2, 3)):
            array = rng.integers(0, 9, shape).astype("i8").astype(code)
            made = io.BytesIO()
            np.savez(made, a=np.asfortranarray(array), b=np.zeros(1))
            npz_check.require_sound(made, "f")
            made = io.BytesIO()
            np.save(made, array)
            npz_check.require_sound(made, "f")


def test_a_gzip_that_fills_the_memory(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "a.csv.gz"
    path.write_bytes(gzip.compress(bytes(40 << 20)))
    gzip_check.require_room_unpacked(path)
    monkeypatch.setattr(gzip_check, "free_memory", lambda: 20 << 20)
    with pytest.raises(TaamctlError, match=r"holds more than 20 MiB, packed in 40 KiB"):
        gzip_check.require_room_unpacked(path)
    monkeypatch.setattr(gzip_check, "free_memory", lambda: 41 << 20)
    gzip_check.require_room_unpacked(path)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"N\x72\xff\xff\xff\x7f.", "keeps an object under the number 2147483647"),
        (b"Np99999999999\n.", "keeps an object under the number 99999999999"),
        (b")" + b"\x85" * 30_000 + b".", "holds 30,000 tuples"),
        (b"\x8e\xff\xff\xff\xff\xff\xff\xff\x7fab", "is cut off"),
        (b"cbuiltins\n", "is cut off"),
    ],
)
def test_pickles_that_take_memory_or_depth(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        pickle_check.require_sound(content, "f")


def test_every_pickle_of_python_is_walked_to_its_end() -> None:
    draw = random.Random(1)
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        for _ in range(100):
            value = [literal(draw), draw.random(), b"bytes", bytearray(b"x"), 1 << 2000, {1, 2}]
            pickle_check.require_sound(pickle.dumps(value, protocol), "f")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_arrays_in_pickles_are_the_same(protocol: int) -> None:
    class Reader(pickle.Unpickler):
        def find_class(self, module: str, name: str) -> Any:
            made = pickled_arrays.stand_in_for(module, name)
            return made or {"encode": lambda text, _: text.encode("latin1"), "bytes": bytes}[name]

    rng = np.random.default_rng(0)
    for code in ("f8", ">i4", "?", "U4", "S3", "f2"):
        for shape in ((), (0, 3), (4,), (2, 3)):
            array = np.asfortranarray(rng.integers(0, 9, shape).astype(code))
            made = pickled_arrays.plain(Reader(io.BytesIO(pickle.dumps(array, protocol))).load())
            assert made.dtype == array.dtype
            np.testing.assert_array_equal(made, array)
    matter = pickle.dumps(np.array([object], object)[:0], protocol)
    assert pickled_arrays.plain(Reader(io.BytesIO(matter)).load()) is None


def test_types_and_arrays_with_made_up_insides() -> None:
    kind = pickled_arrays.PickledKind("f8")
    kind.__setstate__((3, "<", None, ("a",), {"a": (1, 2)}, 10**9, 1, 0))
    assert kind.kind is None
    array = pickled_arrays.PickledArray()
    for shape, content in (((10**12,), b"x"), ((-1,), b""), ((2, 2), b"1" * 31), ("ab", b"")):
        with pytest.raises(ValueError, match="an array"):
            array.__setstate__((1, shape, pickled_arrays.PickledKind("f8"), False, content))
