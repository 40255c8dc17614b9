"""Peak memory of a call, from the kernel's own count (Linux)."""

from __future__ import annotations

import ctypes
import gc
from collections.abc import Callable
from pathlib import Path

from eigenloop import recurrence

_STATUS = Path("/proc/self/status")
_CLEAR = Path("/proc/self/clear_refs")


def peak_megabytes(call: Callable[[], None]) -> float | None:
    """Return by how much the resident memory rises at most during the call; None where that cannot be read.

    The call is made once before, so that libraries are not counted for whoever comes first. Memory that we keep between
    calls is given back, so that it counts.
    """
    call()
    gc.collect()
    recurrence.release_memory()
    try:
        ctypes.CDLL(None).malloc_trim(0)
        before = _read("VmRSS")
        _CLEAR.write_text("5")  # the peak starts again from here
    except (OSError, AttributeError):
        return None
    call()
    return (_read("VmHWM") - before) / 1024


def _read(field: str) -> int:
    line = next(line for line in _STATUS.read_text().splitlines() if line.startswith(field))
    return int(line.split()[1])
