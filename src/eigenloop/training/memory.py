"""Recognising errors that mean out of memory."""

from __future__ import annotations

import torch


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error means out of memory; torch has no exception class for that on the CPU."""
    return isinstance(error, (MemoryError, torch.OutOfMemoryError)) or "allocate memory" in str(error)
