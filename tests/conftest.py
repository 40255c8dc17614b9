"""Settings for all tests: one thread a worker; property tests do not time out, and do not vary in CI."""

import os
from collections.abc import Iterator
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


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """A browser; where there is none, its tests skip and say what is missing."""
    with browser.started() as started:
        yield started
