"""Settings for all tests: one thread a worker; property tests do not time out, and do not vary in CI."""

import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import browser
import pytest
import torch
from hypothesis import settings

torch.set_num_threads(1)
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")


@pytest.fixture(autouse=True)
def _seed() -> None:
    torch.manual_seed(20190528)


@pytest.fixture
def elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Work in an empty folder, on a screen wide enough that no line is wrapped."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; where there is none, its tests skip and say what is missing."""
    with browser.started() as started:
        yield started
