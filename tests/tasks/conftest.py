"""Fixtures of tests that read data from files."""

from pathlib import Path

import pytest
from data_folders import character_files, isolate, word_files, write_all


@pytest.fixture
def isolated(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without the data and caches of this machine."""
    isolate(monkeypatch, tmp_path / "cache")


@pytest.fixture(scope="session")
def ptb_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A few sentences, as words and as characters."""
    return write_all(tmp_path_factory.mktemp("data") / "ptb", {**word_files(), **character_files()})
