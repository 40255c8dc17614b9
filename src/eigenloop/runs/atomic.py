"""Atomic writes: a file or folder is either complete or unchanged, even if the process or the machine is stopped."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

#: Ending of the hidden name of a folder while it is replaced.
_OLD = ".old.tmp"


def write_text(path: Path, text: str) -> None:
    """Replace the content of a file atomically: if writing fails, the file is unchanged."""
    write_bytes(path, text.encode("utf-8"))


def write_bytes(path: Path, content: bytes) -> None:
    """Replace the content of a file atomically: if writing fails, the file is unchanged."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp")
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(name, 0o666 & ~_umask())
        os.replace(name, path)
    except BaseException:
        with suppress(OSError):
            os.unlink(name)
        raise
    sync_folder(path.parent)


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Yield a temporary folder that is renamed to `path` when the block ends; an existing `path` is replaced."""
    scratch = Path(tempfile.mkdtemp(dir=path.parent, prefix=f".{path.name}.", suffix=".tmp"))
    try:
        yield scratch
        for file in scratch.iterdir():
            sync_file(file)
        os.chmod(scratch, 0o777 & ~_umask())
        sync_folder(scratch)
        _rename(scratch, path)
    except BaseException:
        shutil.rmtree(scratch, ignore_errors=True)
        raise


def _rename(scratch: Path, path: Path) -> None:
    """Rename a folder to `path`; an earlier folder is kept until that is done, and put back if it fails."""
    old = path.with_name(f".{path.name}{_OLD}")
    if path.exists():
        shutil.rmtree(old, ignore_errors=True)
        os.rename(path, old)
    try:
        os.rename(scratch, path)
    except BaseException:
        if old.exists():
            os.rename(old, path)
        raise
    sync_folder(path.parent)
    shutil.rmtree(old, ignore_errors=True)


def remove_leftovers(folder: Path) -> None:
    """Remove the temporary files that a killed process left behind; put back a folder that it was replacing."""
    for leftover in folder.glob(".*.tmp"):
        replaced = folder / leftover.name.removeprefix(".").removesuffix(_OLD)
        if leftover.name.endswith(_OLD) and not replaced.exists():
            leftover.rename(replaced)
        elif leftover.is_dir():
            shutil.rmtree(leftover, ignore_errors=True)
        else:
            leftover.unlink(missing_ok=True)


def sync_file(path: Path) -> None:
    """Wait until a file's content is on the disk."""
    with path.open("r+b") as file:  # some systems cannot sync a file that is open for reading only
        os.fsync(file.fileno())


def sync_folder(path: Path) -> None:
    """Wait until a folder's entries are on the disk; does nothing on systems that cannot open folders."""
    with suppress(OSError):
        descriptor = os.open(path, os.O_RDONLY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _umask() -> int:
    """Return the process's umask, which can only be read by setting it."""
    mask = os.umask(0o022)
    os.umask(mask)
    return mask
