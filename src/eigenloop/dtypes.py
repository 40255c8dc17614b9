"""The real, complex and double-precision counterparts of a dtype, as tables that torch.compile can follow."""

from __future__ import annotations

import torch

_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}


def real(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the real part.

    >>> real(torch.complex64), real(torch.bfloat16)
    (torch.float32, torch.bfloat16)
    """
    return _REAL.get(dtype, dtype)


def double(dtype: torch.dtype) -> torch.dtype:
    """Return float64, or complex128 for a complex dtype."""
    return torch.complex128 if dtype.is_complex else torch.float64
