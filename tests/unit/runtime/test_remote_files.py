"""Files by URL: brought once, checked, and read from this machine."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from taamctl.core.errors import TaamctlError
from taamctl.runtime import remote_files
from taamctl.runtime.remote_files import local, shown, url_of

fsspec = pytest.importorskip("fsspec")


class Store:
    """fsspec's store in memory, which counts what is read."""

    def __init__(self) -> None:
        self.files = fsspec.filesystem("memory")
        self.read = 0

    def put(self, name: str, data: bytes) -> str:
        self.files.pipe(f"/{name}", data)
        return f"memory://{name}"


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Store]:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    made = Store()
    own = type(made.files).open

    def counted(*given: object, **how: object) -> object:
        made.read += "rb" in given
        return own(*given, **how)

    monkeypatch.setattr(type(made.files), "open", counted)
    yield made
    made.files.store.clear()


@pytest.mark.parametrize(
    ("given", "url"),
    [
        ("s3://bucket/a/b.h5", "s3://bucket/a/b.h5"),
        (Path("s3://bucket/a/b.h5"), "s3://bucket/a/b.h5"),
        (Path("file:///tmp/a.h5"), "file:///tmp/a.h5"),
        ("https://host/a?b=c", "https://host/a?b=c"),
        ("data/a.h5", None),
        ("C:/data/a.h5", None),
        (Path("/tmp/a:b/c"), None),
        ("a:b", None),
    ],
)
def test_a_url_is_told_from_a_path(given: str | Path, url: str | None) -> None:
    assert url_of(given) == url
    if url is None:
        assert local(given) == Path(given)


def test_a_file_is_brought_once_and_again_when_it_changed(store: Store) -> None:
    url = store.put("shop/a.h5", b"one")
    path = local(url)
    assert (path.name, path.read_bytes(), store.read) == ("a.h5", b"one", 1)
    assert local(Path(url)) == path and store.read == 1
    store.put("shop/a.h5", b"two")
    again = local(url)
    assert (again.read_bytes(), path.read_bytes(), store.read) == (b"two", b"one", 2)
    again.write_bytes(b"rot")
    assert local(url).read_bytes() == b"two" and store.read == 3
    other = local(store.put("other/a.h5", b"three"))
    assert other.read_bytes() == b"three" and again.read_bytes() == b"two"


def test_where_a_store_tells_no_change_it_is_asked_each_time(store: Store, monkeypatch) -> None:
    url = store.put("a.h5", b"one")
    monkeypatch.setattr(remote_files, "TELLING", set())
    local(url)
    store.put("a.h5", b"two")
    assert local(url).read_bytes() == b"two" and store.read == 2


def test_a_checksum_that_is_asked_for_is_held(store: Store) -> None:
    url = store.put("a#b.h5", b"one")
    right = hashlib.sha256(b"one").hexdigest()
    assert local(f"{url}#sha256={right}").read_bytes() == b"one"
    store.put("a#b.h5", b"two")
    with pytest.raises(TaamctlError, match=f"and {right} was asked for"):
        local(f"{url}#sha256={right}")


def test_what_is_cut_off_does_not_come_to_be_there(store: Store, monkeypatch) -> None:
    url = store.put("a.h5", b"whole")
    info = type(store.files).info
    monkeypatch.setattr(
        type(store.files), "info", lambda *given: {**info(*given), "size": 9, "type": "file"}
    )
    with pytest.raises(TaamctlError, match="5 bytes came, and it has 9") as caught:
        local(url)
    assert "again" in caught.value.hint
    assert not list((Path.home() / ".cache").rglob("*.h5"))


def test_what_cannot_be_read_is_refused(store: Store, tmp_path: Path) -> None:
    store.put("folder/a.h5", b"one")
    with pytest.raises(TaamctlError, match="is a folder") as caught:
        local("memory://folder")
    assert "taamctl bank export" in caught.value.hint
    with pytest.raises(TaamctlError, match="memory://none.h5 cannot be read: FileNotFoundError"):
        local("memory://none.h5")
    with pytest.raises(TaamctlError, match="cannot be read: ValueError") as caught:
        local("nothing://user:secret@host/a.h5?signature=secret")
    assert "secret" not in caught.value.message
    with pytest.raises(TaamctlError, match="cannot be read: FileNotFoundError"):
        local(f"file://{tmp_path}/none.h5")
    assert shown("https://u:p@host/a@b?x=y") == "https://host/a@b"


def test_a_missing_package_is_named(store: Store, monkeypatch) -> None:
    def refuse(url: str) -> None:
        raise ImportError("Install s3fs to access S3")

    monkeypatch.setattr(fsspec.core, "url_to_fs", refuse)
    with pytest.raises(TaamctlError, match="Install s3fs") as caught:
        local("s3://bucket/a.h5")
    assert "taamctl[remote]" in caught.value.hint


@pytest.mark.parametrize("said", ["garbage", "{}", "[1]", "null", '{"path": 1, "info": 2}'])
def test_a_record_that_cannot_be_read_is_none(store: Store, tmp_path: Path, said: str) -> None:
    url = store.put("a.h5", b"one")
    path = local(url)
    next(tmp_path.rglob("file.json")).write_text(said)
    assert local(url) == path and path.read_bytes() == b"one"


def test_a_mistyped_checksum_is_not_passed_over(store: Store) -> None:
    url = store.put("a.h5", b"one")
    whole = hashlib.sha256(b"one").hexdigest()
    assert local(f"{url}#SHA256={whole.upper()}").read_bytes() == b"one"
    for typed in ("", "abc", whole[:-1], whole + "0", "g" * 64):
        with pytest.raises(TaamctlError, match="no checksum"):
            local(f"{url}#sha256={typed}")
