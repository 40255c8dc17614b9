"""Whether an error means that the memory is used up."""

from __future__ import annotations

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that there is no memory left; torch has no class of its own for that on the CPU."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error)
