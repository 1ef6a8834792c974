"""Finding raw files in a data root, and downloading them from a server on this machine."""

from __future__ import annotations

import hashlib
import threading
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest

from taamctl.core.errors import TaamctlError
from taamctl.core.progress import Progress
from taamctl.runtime import download, raw_files

BODY = bytes(range(256)) * 4000
DIGEST = hashlib.sha256(BODY).hexdigest()


@dataclass
class File:
    """A downloadable file."""

    name: str
    url: str
    sha256: str = ""


@dataclass
class Server:
    """What the server does and what it was asked."""

    url: str = ""
    ranges: list[str | None] = field(default_factory=list)
    body: bytes = BODY
    honours_range: bool = True
    shift: int = 0
    cut: int | None = None


@pytest.fixture
def server() -> Iterator[Server]:
    """Serve one body under every path."""
    state = Server()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked = self.headers.get("Range")
            state.ranges.append(asked)
            if self.path == "/gone":
                return self.send_error(404)
            start = (
                int(asked.removeprefix("bytes=").rstrip("-"))
                if asked and state.honours_range
                else 0
            )
            if start >= len(state.body) and start:
                self.send_response(416)
                self.send_header("Content-Range", f"bytes */{len(state.body)}")
                return self.end_headers()
            start += state.shift
            self.send_response(206 if asked and state.honours_range else 200)
            if asked and state.honours_range:
                self.send_header(
                    "Content-Range", f"bytes {start}-{len(state.body) - 1}/{len(state.body)}"
                )
            self.send_header("Content-Length", str(len(state.body) - start))
            self.end_headers()
            self.wfile.write(state.body[start : state.cut])

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as httpd:
        state.url = f"http://127.0.0.1:{httpd.server_address[1]}/file.zip"
        thread = threading.Thread(target=httpd.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        yield state
        httpd.shutdown()


class Recorder(Progress):
    """Remember what was reported."""

    def __init__(self) -> None:
        self.done = 0
        self.totals: list[int] = []
        self.lines: list[str] = []

    def start(self, label: str, total: int) -> None:
        self.totals.append(total)

    def advance(self, steps: int = 1) -> None:
        self.done += steps

    def line(self, text: str) -> None:
        self.lines.append(text)


def visible(folder: Path) -> set[str]:
    """Return the file names, locks aside."""
    return {p.name for p in folder.iterdir() if not p.name.endswith(".lock")}


def test_download_records_a_checksum_and_is_not_repeated(server: Server, tmp_path: Path) -> None:
    progress, target = Recorder(), tmp_path / "new" / "photo"
    assert download.fetch([File("file.zip", server.url)], target, progress) == [target / "file.zip"]
    assert (target / "file.zip").read_bytes() == BODY
    assert (target / "file.zip.sha256").read_text() == f"{DIGEST}  file.zip\n"
    assert visible(target) == {"file.zip", "file.zip.sha256"}
    assert (progress.totals, progress.done) == ([len(BODY)], len(BODY))
    download.fetch([File("file.zip", server.url)], target, progress)
    assert server.ranges == [None]
    assert progress.lines[-1] == f"{target / 'file.zip'} is there"


def test_published_checksum_needs_no_record(server: Server, tmp_path: Path) -> None:
    download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert visible(tmp_path) == {"file.zip"}


def test_interrupted_download_is_continued(server: Server, tmp_path: Path) -> None:
    server.cut = 1000
    with pytest.raises(
        TaamctlError, match=f"the connection ended after 1,000 of {len(BODY):,} bytes"
    ) as error:
        download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert f"put file.zip into {tmp_path}" in error.value.hint
    assert visible(tmp_path) == {"file.zip.part"}
    server.cut = None
    download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert server.ranges == [None, "bytes=1000-"]
    assert (tmp_path / "file.zip").read_bytes() == BODY


def test_server_without_ranges_starts_over(server: Server, tmp_path: Path) -> None:
    server.honours_range = False
    (tmp_path / "file.zip.part").write_bytes(b"old bytes")
    download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert (tmp_path / "file.zip").read_bytes() == BODY


def test_complete_part_is_taken(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.zip.part").write_bytes(BODY)
    download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert visible(tmp_path) == {"file.zip"}


def test_part_of_another_file_is_discarded(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.zip.part").write_bytes(BODY + b"x")
    with pytest.raises(TaamctlError, match="file.zip.part did not fit .* and was deleted"):
        download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert visible(tmp_path) == set()


def test_wrong_range_is_refused(server: Server, tmp_path: Path) -> None:
    (tmp_path / "file.zip.part").write_bytes(BODY[:10])
    server.shift = 5
    with pytest.raises(TaamctlError, match="the server sent another range than asked"):
        download.fetch([File("file.zip", server.url, DIGEST)], tmp_path)
    assert visible(tmp_path) == {"file.zip.part"}


def test_wrong_published_checksum(server: Server, tmp_path: Path) -> None:
    with pytest.raises(
        TaamctlError, match=f"sha256 is {DIGEST}, but the published one is {'0' * 64}"
    ):
        download.fetch([File("file.zip", server.url, "0" * 64)], tmp_path)
    assert visible(tmp_path) == set()


def test_later_download_must_match_the_first(server: Server, tmp_path: Path) -> None:
    download.fetch([File("file.zip", server.url)], tmp_path)
    (tmp_path / "file.zip").unlink()
    server.body = BODY[::-1]
    with pytest.raises(
        TaamctlError, match=f"the one recorded in .*file.zip.sha256 is {DIGEST}"
    ) as error:
        download.fetch([File("file.zip", server.url)], tmp_path)
    assert "delete" in error.value.hint
    assert visible(tmp_path) == {"file.zip.sha256"}


def test_missing_on_the_server(server: Server, tmp_path: Path) -> None:
    with pytest.raises(TaamctlError, match="cannot download .*/gone: the server answers 404"):
        download.fetch([File("file.zip", server.url.replace("file.zip", "gone"))], tmp_path)


def test_nobody_answers(tmp_path: Path) -> None:
    with pytest.raises(
        TaamctlError, match="cannot download http://127.0.0.1:9/x.npz: .*refused"
    ) as error:
        download.fetch([File("x.npz", "http://127.0.0.1:9/x.npz")], tmp_path / "photo", timeout=5)
    assert f"put x.npz into {tmp_path / 'photo'} by hand" in error.value.hint


def test_target_that_is_no_folder(server: Server, tmp_path: Path) -> None:
    (tmp_path / "photo").write_text("a file")
    with pytest.raises(TaamctlError, match="cannot write .*photo"):
        download.fetch([File("file.zip", server.url)], tmp_path / "photo")


def test_two_fetches_download_once(server: Server, tmp_path: Path) -> None:
    arguments = ([File("file.zip", server.url, DIGEST)], tmp_path)
    threads = [threading.Thread(target=download.fetch, args=arguments) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert server.ranges == [None]
    assert (tmp_path / "file.zip").read_bytes() == BODY


def test_data_root_order(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv(raw_files.VARIABLE, "~/named")
    assert raw_files.data_root(Path("~/given")) == tmp_path / "given"
    assert raw_files.data_root(None) == tmp_path / "named"
    monkeypatch.setenv(raw_files.VARIABLE, " ")
    assert raw_files.data_root(None) is None
    assert raw_files.resolve(None) == tmp_path / ".cache" / "taamctl" / "data"


def test_places_order() -> None:
    assert raw_files.places(("a", ""), ("x", "y"), ("z.zip",)) == (
        "a/x",
        "a/y",
        "x",
        "y",
        "z.zip::x",
        "z.zip::y",
    )


def zip_with(path: Path, **members: bytes) -> Path:
    """Write a zip archive."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, data in members.items():
            archive.writestr(name.replace("__", "/"), data)
    return path


def test_find_takes_the_first_candidate(tmp_path: Path) -> None:
    candidates = ("set/x", "set_*/x", "set.zip::x")
    assert raw_files.find(tmp_path / "nowhere", candidates) is None
    zip_with(tmp_path / "set.zip", inner__x=b"zipped", inner__y=b"other")
    found = raw_files.find(tmp_path, candidates)
    assert found is not None
    assert (found.open().read(), found.sibling("y").open().read()) == (b"zipped", b"other")
    assert str(found) == f"{tmp_path}/set.zip::inner/x"
    for folder in ("set_2", "set_1", "set"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "x").write_text(folder)
        expected = "set_2" if folder == "set_2" else "set_1" if folder == "set_1" else "set"
        assert raw_files.find(tmp_path, candidates) == raw_files.Source(tmp_path / expected / "x")


def test_missing_sibling_and_broken_archive_are_named(tmp_path: Path) -> None:
    archive = zip_with(tmp_path / "set.zip", x=b"0" * 5000)
    with pytest.raises(TaamctlError, match="set.zip::y is missing"):
        raw_files.Source(archive, "x").sibling("y").open()
    with pytest.raises(TaamctlError, match="set/y is missing"):
        raw_files.Source(tmp_path / "set" / "x").sibling("y").open()
    data = bytearray(archive.read_bytes())
    data[40] ^= 255
    archive.write_bytes(data)
    with pytest.raises(TaamctlError, match="set.zip::x cannot be read"):
        raw_files.Source(archive, "x").open()
    archive.write_bytes(data[:60])
    with pytest.raises(TaamctlError, match="set.zip cannot be read"):
        raw_files.find(tmp_path, ("set.zip::x",))


def test_as_folder(tmp_path: Path) -> None:
    archive = zip_with(tmp_path / "set.zip", raw__x=b"1", raw__y=b"2", raw__z=b"3")
    with raw_files.as_folder(raw_files.Source(archive, "raw/x"), ("x", "y", "absent")) as folder:
        assert {p.name: p.read_bytes() for p in folder.iterdir()} == {"x": b"1", "y": b"2"}
    assert not folder.exists()
    with raw_files.as_folder(raw_files.Source(tmp_path / "a" / "x"), ("x",)) as folder:
        assert folder == tmp_path / "a"


def test_locate_says_what_to_put_where(tmp_path: Path) -> None:
    message = f"photo: no raw data under {tmp_path}; looked for {tmp_path}/photo/x.npz"
    with pytest.raises(TaamctlError, match=message) as error:
        raw_files.locate(tmp_path, "photo", ("photo/x.npz",), "x.npz")
    command = f"taamctl data fetch photo --data-root {tmp_path}"
    assert error.value.hint == f"put x.npz into {tmp_path}/photo, or run `{command}`"
