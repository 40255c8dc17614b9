"""A folder is replaced as a whole: whatever fails, and wherever a process is killed, one version of it is there."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from eigenloop.runs import atomic

KILLED = """
import os, sys
from pathlib import Path
from eigenloop.runs import atomic

rename, done = os.rename, []
def counted(a, b):
    if len(done) == int(sys.argv[2]):
        os._exit(9)
    done.append(a)
    rename(a, b)
os.rename = counted
with atomic.new_folder(Path(sys.argv[1])) as scratch:
    (scratch / "file").write_text("new")
"""


def write(path: Path, text: str) -> None:
    with atomic.new_folder(path) as scratch:
        (scratch / "file").write_text(text)


def content(folder: Path) -> dict[str, str]:
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def test_the_new_folder_replaces_the_old_one(tmp_path: Path) -> None:
    for text in ("old", "new"):
        write(tmp_path / "a", text)
        assert content(tmp_path) == {"a/file": text}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("working", [0, 1])
def test_a_rename_that_fails_leaves_the_old_folder(
    working: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "a", "old")
    rename, done = os.rename, []

    def failing(source: Path, target: Path) -> None:
        done.append(source)
        if len(done) == working + 1:
            raise OSError("no space left on device")
        rename(source, target)

    monkeypatch.setattr(os, "rename", failing)
    with pytest.raises(OSError, match="no space"):
        write(tmp_path / "a", "new")
    assert content(tmp_path) == {"a/file": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


@pytest.mark.parametrize("renames", [0, 1])
def test_a_process_killed_at_a_rename_leaves_the_old_folder(renames: int, tmp_path: Path) -> None:
    write(tmp_path / "a", "old")
    script = [sys.executable, "-c", KILLED, str(tmp_path / "a"), str(renames)]
    assert subprocess.run(script, check=False).returncode == 9
    assert (tmp_path / "a").exists() == (renames == 0)
    atomic.remove_leftovers(tmp_path)
    assert content(tmp_path) == {"a/file": "old"}
    assert [path.name for path in tmp_path.iterdir()] == ["a"]


def test_what_a_kill_left_is_gone_after_the_next_folder(tmp_path: Path) -> None:
    write(tmp_path / "a", "old")
    (tmp_path / "a").rename(tmp_path / ".a.old.tmp")
    write(tmp_path / "a", "new")
    assert content(tmp_path) == {"a/file": "new"}


@pytest.mark.skipif(sys.platform == "win32", reason="permissions")
@pytest.mark.parametrize(("mask", "mode"), [(0o022, 0o755), (0o077, 0o700), (0o002, 0o775)])
def test_permissions_follow_the_umask(mask: int, mode: int, tmp_path: Path) -> None:
    before = os.umask(mask)
    try:
        write(tmp_path / "a", "new")
    finally:
        os.umask(before)
    assert (tmp_path / "a").stat().st_mode & 0o777 == mode
