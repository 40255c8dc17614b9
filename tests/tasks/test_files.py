"""Where files are found, and downloads from a server of our own."""

import gzip
import hashlib
import threading
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import ClassVar

import pooch
import pytest
from data_folders import isolate, write
from fuzzing import refuses_what_is_no_file, refuses_whatever_is_damaged

from eigenloop.tasks import DataError
from eigenloop.tasks.files import VARIABLE, Source, data_folder, read

TEXT = b"some published text\n" * 50
SOURCE = Source("text.txt", ("texts", "other/place"), hashlib.sha256(TEXT).hexdigest())
PACKED = gzip.compress(TEXT, mtime=0)
RETRIEVE = pooch.retrieve


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """The folder of earlier downloads."""
    isolate(monkeypatch, tmp_path / "cache")
    return tmp_path / "cache" / "eigenloop" / "texts"


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("below", ["texts", "other/place", "."])
def test_found_in_the_folder_given_or_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, below: str, packed: bool
) -> None:
    path = write(tmp_path / "data" / below / "text.txt", TEXT, packed)
    assert SOURCE.content(tmp_path / "data") == (path, TEXT)
    assert SOURCE.content(tmp_path / "data", verify=False) == (path, TEXT)
    monkeypatch.setenv(VARIABLE, str(tmp_path / "data"))
    assert SOURCE.content(None) == (path, TEXT)


def test_order_of_precedence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, cache: Path) -> None:
    given, named = tmp_path / "given", tmp_path / "named"
    places = [
        given / "texts" / "text.txt",
        given / "texts" / "text.txt.gz",
        given / "other" / "place" / "text.txt",
        given / "other" / "place" / "text.txt.gz",
        given / "text.txt",
        given / "text.txt.gz",
        cache / "text.txt",
        cache / "text.txt.gz",
    ]
    for path in (*places, named / "texts" / "text.txt"):
        write(path, TEXT)
    monkeypatch.setenv(VARIABLE, str(named))
    for path in places:
        assert SOURCE.path(given) == path
        path.unlink()
    with pytest.raises(DataError, match="cannot be downloaded"):
        SOURCE.path(given)
    assert SOURCE.path(None) == named / "texts" / "text.txt"


def test_a_gzipped_file_may_have_any_name(tmp_path: Path) -> None:
    assert read(write(tmp_path / "text.txt", PACKED)) == TEXT
    assert read(write(tmp_path / "text.txt.gz", TEXT)) == TEXT


def test_home_is_written_as_a_tilde(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "data").mkdir()
    assert data_folder(Path("~/data")) == tmp_path / "data"


@pytest.mark.parametrize("name", ["nowhere", "x" * 300, "~no-such-user/data", "file", "file/below"])
def test_a_folder_that_is_not_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.chdir(tmp_path)
    Path("file").write_text("")
    with pytest.raises(DataError, match="no such folder, and data_dir names it"):
        SOURCE.content(Path(name))
    monkeypatch.setenv(VARIABLE, name)
    with pytest.raises(DataError, match=f"no such folder, and {VARIABLE} names it"):
        SOURCE.content(None)


def test_a_folder_that_may_not_be_entered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    stat = Path.stat

    def forbidden(self: Path, **options: bool) -> object:
        if self.name == "text.txt":
            raise PermissionError(13, "Permission denied", str(self))
        return stat(self, **options)

    monkeypatch.setattr(Path, "stat", forbidden)
    with pytest.raises(DataError, match=r"text\.txt: it cannot be read: Permission denied"):
        SOURCE.content(tmp_path)


@pytest.mark.parametrize("name", ["text.txt", "text.txt.gz"])
def test_damaged_files_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    path = write(tmp_path / "texts" / name, PACKED if name.endswith(".gz") else TEXT)
    refuses_whatever_is_damaged(path, lambda: SOURCE.content(tmp_path))
    refuses_what_is_no_file(path, lambda: SOURCE.content(tmp_path), monkeypatch)


def test_other_content_is_for_those_who_want_it(tmp_path: Path) -> None:
    path = write(tmp_path / "texts" / "text.txt", b"mine")
    with pytest.raises(DataError, match=r"not the published text\.txt: 4 bytes .* get it again"):
        SOURCE.content(tmp_path)
    assert SOURCE.content(tmp_path, verify=False) == (path, b"mine")


def test_own_files_are_not_downloaded(tmp_path: Path, cache: Path) -> None:
    write(cache / "text.txt", TEXT)
    for folder, match in ((tmp_path, "it is not in"), (None, "no data folder is set")):
        with pytest.raises(DataError, match=f"{match}.*data_dir or {VARIABLE}"):
            SOURCE.content(folder, verify=False)


def test_a_damaged_download_says_where_it_is(cache: Path) -> None:
    path = write(cache / "text.txt", TEXT[:-1])
    with pytest.raises(DataError, match="delete it to have it downloaded again") as caught:
        SOURCE.content(None)
    assert str(path) in str(caught.value)


class _Handler(BaseHTTPRequestHandler):
    """Serve what there is, and count."""

    files: ClassVar = {"/text.txt": TEXT, "/text.txt.gz": PACKED, "/cut.txt": TEXT[:-1], "/empty.txt": b""}
    asked: ClassVar[list[str]] = []

    def do_GET(self) -> None:
        self.asked.append(self.path)
        body = self.files.get(self.path)
        self.send_response(200 if body is not None else 404)
        self.send_header("Content-Length", str(len(body or b"")))
        self.end_headers()
        self.wfile.write(body or b"")

    def log_message(self, format: str, *args: object) -> None:
        pass


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """The address of a server on this machine, which may be asked."""
    monkeypatch.setattr(pooch, "retrieve", RETRIEVE)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    monkeypatch.setattr(_Handler, "asked", [])
    with ThreadingHTTPServer(("127.0.0.1", 0), _Handler) as listening:
        thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.01})
        thread.start()
        yield f"http://127.0.0.1:{listening.server_address[1]}"
        listening.shutdown()
        thread.join()


@pytest.mark.parametrize("packed", [False, True])
def test_downloads_once(tmp_path: Path, server: str, cache: Path, packed: bool) -> None:
    name = "text.txt.gz" if packed else "text.txt"
    known = hashlib.sha256(PACKED).hexdigest() if packed else None
    source = replace(SOURCE, url=f"{server}/{name}", packed_sha256=known)
    for folder in (None, tmp_path):
        assert source.content(folder) == (cache / name, TEXT)
    assert _Handler.asked == [f"/{name}"]
    assert [path.name for path in cache.iterdir()] == [name]


@pytest.mark.parametrize("name", ["cut.txt", "empty.txt", "missing.txt"])
def test_a_download_that_is_not_the_published_file_is_not_kept(server: str, cache: Path, name: str) -> None:
    source = replace(SOURCE, url=f"{server}/{name}")
    with pytest.raises(DataError, match=rf"text\.txt: .*download from {server}/{name} failed .*data_dir or"):
        source.content(None)
    assert list(cache.iterdir()) == []


def test_no_network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pooch, "retrieve", RETRIEVE)
    monkeypatch.setenv("NO_PROXY", "127.0.0.1")
    closed = "http://127.0.0.1:1/text.txt"
    with pytest.raises(
        DataError, match=rf"it is not in {tmp_path} .*, and the download from {closed} failed"
    ) as caught:
        replace(SOURCE, url=closed).content(tmp_path)
    assert "\n" not in str(caught.value)
    assert len(str(caught.value)) < 700


def test_a_cache_that_cannot_be_written(tmp_path: Path, server: str) -> None:
    (tmp_path / "cache").write_text("a file where the folder should be")
    with pytest.raises(DataError, match="the download from"):
        replace(SOURCE, url=f"{server}/text.txt").content(None)
