"""Simulate a busy machine: one process per core that only computes."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

# The process ends when its parent has ended, so that a killed benchmark leaves no process behind.
_SPIN = "import os\nparent = os.getppid()\nwhile os.getppid() == parent:\n    sum(i * i for i in range(100000))\n"


@contextmanager
def busy_cores(seconds_to_settle: float = 0.5) -> Iterator[None]:
    """Keep every core busy inside the ``with`` block."""
    spinning = [subprocess.Popen([sys.executable, "-c", _SPIN]) for _ in range(os.cpu_count() or 1)]
    try:
        time.sleep(seconds_to_settle)
        yield
    finally:
        for process in spinning:
            process.kill()
            process.wait()
