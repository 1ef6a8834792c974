"""The short form of `python tests/fuzz.py`: damaged files of every kind are read or refused."""

from __future__ import annotations

import importlib.util
import io
import os
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

from taamctl.bank import transfer
from taamctl.core.errors import TaamctlError
from taamctl.params import params_file
from taamctl.store import heap_check

TESTS = Path(__file__).resolve().parents[1]
LINUX = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits and forks")
SLOW = {
    "tar": 60,
    "dgl": 60,
    "mat": 100,
    "split": 150,
    "tasks": 150,
    "pajek": 150,
    "manifest": 150,
    "parquet": 60,
    "ogb": 100,
}


@pytest.fixture(scope="module")
def fuzz() -> ModuleType:
    spec = importlib.util.spec_from_file_location("taamctl_tests_fuzz", TESTS / "fuzz.py")
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # where its dataclasses are looked up
    spec.loader.exec_module(module)
    return module


@LINUX
@pytest.mark.parametrize(
    "parser",
    [
        *("npz", "table", "mtx", "graphml", "json", "gexf", "gml", "pajek", "mat", "pyg", "dgl"),
        *("ogb", "parquet", "params", "set", "manifest", "tar", "h5", "labels", "tasks", "split"),
    ],
)
def test_damaged_files_are_read_or_refused(fuzz: ModuleType, parser: str, tmp_path: Path) -> None:
    library = {"dgl": "dgl", "parquet": "pyarrow"}.get(parser, "networkx")
    pytest.importorskip(library)
    assert parser in fuzz.PARSERS
    count = SLOW.get(parser, 300)
    result = fuzz.fuzz(parser, count, seed=20, jobs=1, keep=tmp_path)
    assert not result.wrong, "\n".join(fuzz._summary(result))
    assert result.inputs == count and result.refused
    assert result.peak < 2 << 30


@LINUX
def test_the_fuzzer_sees_what_is_wrong(
    fuzz: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A parser that lets an exception through, one that ends its process, one that writes."""
    outside = Path("/var/tmp") / f"{tmp_path.name}-{os.getpid()}"  # no folder for temporary files
    faults = (
        "raise IndexError('here')",
        "import os; os.abort()",
        f"open({str(outside)!r}, 'w')",
        "raise TaamctlError(' ')",
    )
    for fault in faults:
        code = (
            f"import sys; sys.path.insert(0, {str(TESTS)!r}); import fuzz\n"
            "from taamctl.core.errors import TaamctlError\n"
            f"def call(paths):\n    {fault}\n"
            "fuzz.reader = lambda parser: call\nfuzz._warm = lambda *_: "
            "[__import__('os').makedirs(c.folder.name, exist_ok=True) for c in _[2]]\n"
            "sys.argv[0] = fuzz.__file__; sys.exit(fuzz.main())"
        )
        script = tmp_path / "worker.py"
        script.write_text(code, encoding="utf-8")
        monkeypatch.setattr(fuzz, "__file__", str(script))
        result = fuzz.fuzz("json", 3, seed=0, jobs=1)
        assert len(result.wrong) == result.inputs == 3, fault
    assert not outside.exists()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("infer.hops={2:1}", "2:1"),
        ("train.epochs=" + "9" * 5000, "is no YAML value"),
        ("train.epochs=&a [*a, *a]", "is no YAML value"),
        ("train.lr=" + "[" * 5000, "is no YAML value"),
        ("train.lr=" + "x" * (1 << 19), "is no YAML value"),
    ],
)
def test_values_of_yaml_have_limits(text: str, message: str) -> None:
    tree = params_file.read(params_file.PACKAGED)
    if message == "is no YAML value":
        with pytest.raises(TaamctlError, match=message) as error:
            params_file.set_value(tree, text)
        assert len(error.value.message) < 200
        return
    params_file.set_value(tree, text)
    assert 121 not in tree["infer"]["hops"]


@pytest.mark.parametrize("kind", ["sparse", "twice"])
def test_members_that_no_exported_bank_has(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "bank.tar"
    with tarfile.open(path, "w", format=tarfile.USTAR_FORMAT) as archive:
        for _ in range(2):
            member = tarfile.TarInfo("manifest.json")
            member.size = 4
            archive.addfile(member, io.BytesIO(b"null"))
    if kind == "sparse":
        content = bytearray(path.read_bytes())
        content[156:157] = tarfile.GNUTYPE_SPARSE
        content[257:265] = b"ustar  \0"
        content[386:483] = bytes(97)
        content[483:495] = b"77777777777\0"  # 8 GiB
        content[148:156] = b" " * 8
        content[148:156] = b"%06o\0 " % sum(content[:512])
        path.write_bytes(content)
    message = "holds 'manifest.json'" if kind == "sparse" else "holds manifest.json twice"
    with pytest.raises(TaamctlError, match=message):
        transfer.restore(path, tmp_path / "restored")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["bank.tar"]


def test_heaps_of_hdf5_are_walked_before_it_does(tmp_path: Path) -> None:
    h5py = pytest.importorskip("h5py")
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as file:
        file["text"] = ["a", "bc" * 500, ""] * 20
        file.attrs["said"] = "text" * 100
    whole = path.read_bytes()
    assert heap_check.are_sound(path)
    at = whole.index(heap_check.MAGIC)
    for size in (0, 7, 1 << 40):
        content = bytearray(whole)
        content[at + 24 : at + 32] = size.to_bytes(8, "little")
        content[at + 16 : at + 18] = b"\0\0"  # the first object says that it is free
        path.write_bytes(content)
        assert not heap_check.are_sound(path)
    for low in range(at + 16, at + 4096, 64):
        content = bytearray(whole)
        content[low : low + 64] = bytes(64)
        path.write_bytes(content)
        heap_check.are_sound(path)  # comes to an end, whatever is zeroed
