"""Locating data files, gzipped or not: in the user's data folder, or by a download with a verified checksum.

The package contains no data. A file is looked for in the given folder (``--data-dir``), or else in the one that
``EIGENLOOP_DATA`` names, then in the folder of earlier downloads; if it is in none of them, it is downloaded.
"""

from __future__ import annotations

import gzip
import hashlib
import os
import zlib
from dataclasses import dataclass
from pathlib import Path

from eigenloop.errors import DataError

#: The environment variable that names the data folder.
VARIABLE = "EIGENLOOP_DATA"


@dataclass(frozen=True)
class Source:
    """A published file.

    Attributes:
        name: its name, without ``.gz``.
        folders: subfolders of the data folder in which it may be, the usual one first.
        sha256: hash of the uncompressed content.
        url: where to download it; None if it cannot be downloaded.
        packed_sha256: hash of the download, if that is gzipped.
    """

    name: str
    folders: tuple[str, ...]
    sha256: str
    url: str | None = None
    packed_sha256: str | None = None

    def content(self, data_dir: Path | None, verify: bool = True) -> tuple[Path, bytes]:
        """Find the file or download it; return its path and its content.

        With `verify` the content must be the published one. Without it the file must be in the data folder, because a
        download would mix published files with the user's own.

        Raises:
            DataError: the file is missing, cannot be downloaded or read, or is not the published one.
        """
        path = self.path(data_dir) if verify else self._own(data_dir)
        data = read(path)
        if verify and (digest := hashlib.sha256(data).hexdigest()) != self.sha256:
            fix = "delete it to have it downloaded again" if path.parent == self._cache else "get it again"
            raise DataError(
                path,
                f"this is not the published {self.name}: {len(data):,} bytes with sha256 {digest[:16]}... where "
                f"{self.sha256[:16]}... is expected; it may be cut off or edited, so {fix}",
            )
        return path, data

    def path(self, data_dir: Path | None) -> Path:
        """Find the file, or download it, and return its path."""
        return self.given(data_dir) or self._earlier() or self._downloaded(data_folder(data_dir))

    def given(self, data_dir: Path | None) -> Path | None:
        """Return the path of the file in the data folder, or None if it is not there."""
        folder = data_folder(data_dir)
        return None if folder is None else find(folder, self.folders, self._names)

    def _own(self, data_dir: Path | None) -> Path:
        if (path := self.given(data_dir)) is None:
            raise self._lost(self._missing(data_folder(data_dir)))
        return path

    def _earlier(self) -> Path | None:
        return find(self._cache, (), self._names)

    @property
    def _names(self) -> tuple[str, str]:
        return self.name, self.name + ".gz"

    @property
    def _cache(self) -> Path:
        import pooch

        return Path(pooch.os_cache("eigenloop")) / self.folders[0]

    def _lost(self, problem: str) -> DataError:
        put = f"put it into a folder {self.folders[0]} and name the folder above with"
        return DataError(self.name, problem, f"{put} data_dir or {VARIABLE}", f"{put} --data-dir or {VARIABLE}")

    def _missing(self, folder: Path | None) -> str:
        if folder is None:
            return "no data folder is set"
        return f"it is not in {folder} (looked for {self.folders[0]}/{self.name}, gzipped or not)"

    def _downloaded(self, folder: Path | None) -> Path:
        import pooch  # imported only for a download, because it imports a web client

        missing = self._missing(folder)
        if self.url is None:
            raise self._lost(f"{missing}, and it cannot be downloaded")
        cache, name = self._cache, self._names[self.packed_sha256 is not None]
        try:
            cache.mkdir(parents=True, exist_ok=True)
            downloader = pooch.HTTPDownloader(progressbar=False, timeout=30)
            return Path(pooch.retrieve(self.url, self.packed_sha256 or self.sha256, name, cache, downloader=downloader))
        except (OSError, ValueError) as error:  # requests' errors are OSErrors; a wrong checksum is a ValueError
            tried = f"the download from {self.url} failed ({_first_line(error)})"
            raise self._lost(f"{missing}, and {tried}") from error


def data_folder(data_dir: Path | None) -> Path | None:
    """Return `data_dir`, or the folder that EIGENLOOP_DATA names, or None; raises DataError if it does not exist."""
    named = data_dir if data_dir is not None else os.environ.get(VARIABLE)
    if not named:
        return None
    folder = Path(os.path.expanduser(named))
    if not os.path.isdir(folder):
        by = "data_dir" if data_dir is not None else VARIABLE
        raise DataError(folder, f"there is no such folder, and {by} names it as the one with the data")
    return folder


def find(folder: Path, below: tuple[str, ...], names: tuple[str, ...]) -> Path | None:
    """Return the first file with one of these names in these subfolders of `folder`, or in `folder` itself.

    Something that is not a file is returned too, so that reading it gives an error instead of hiding the mistake.
    """
    for path in (folder / sub / name for sub in (*below, "") for name in names):
        try:
            path.stat()
        except (FileNotFoundError, NotADirectoryError):
            continue
        except OSError as error:
            raise DataError(path, f"it cannot be read: {error.strerror or error}") from error
        return path
    return None


def read(path: Path) -> bytes:
    """Return the content of a file, unpacked if it is gzipped, whatever its name; raises DataError if it is damaged."""
    try:
        data = path.read_bytes()
        return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise DataError(path, f"the gzip file is cut off or damaged ({error}): get it again") from error
    except OSError as error:
        raise DataError(path, f"it cannot be read: {error.strerror or error}") from error


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:200]
