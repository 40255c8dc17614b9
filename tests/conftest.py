"""Settings for all tests: one thread a worker; property tests do not time out, and do not vary in CI."""

import os

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
