"""Peak memory of a call, as counted by the Linux kernel."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

from eigenloop import recurrence

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_megabytes(call: Callable[[], None]) -> float | None:
    """Return the largest increase of resident memory during a call, in MB; None if it cannot be measured.

    A first call loads libraries, so that they are not counted. Memory that our recurrence keeps between calls is
    released before the second, so that it is counted.
    """
    call()
    gc.collect()
    recurrence.release_memory()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        before = _read("VmRSS")
        _CLEAR.write_text("5")  # resets the peak
    except (OSError, AttributeError):
        return None
    call()
    return (_read("VmHWM") - before) / 1024


def _read(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])
