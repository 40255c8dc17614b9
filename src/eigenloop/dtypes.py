"""The real, complex and double-precision counterparts of a dtype, as tables that torch.compile can trace."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

_COMPLEX = {torch.float16: torch.complex32, torch.float32: torch.complex64, torch.float64: torch.complex128}
_REAL = {torch.complex32: torch.float16, torch.complex64: torch.float32, torch.complex128: torch.float64}


def real(dtype: torch.dtype) -> torch.dtype:
    """Return the dtype of the real part of a tensor with this dtype.

    >>> real(torch.complex64), real(torch.bfloat16)
    (torch.float32, torch.bfloat16)
    """
    return _REAL.get(dtype, dtype)


def complex(dtype: torch.dtype) -> torch.dtype:
    """Return the complex dtype whose real and imaginary parts have the given dtype.

    Raises:
        TypeError: it is bfloat16, which has no complex counterpart.

    >>> complex(torch.float64)
    torch.complex128
    """
    if dtype == torch.bfloat16:
        raise TypeError("there is no complex bfloat16: use float32 or float64 for a network with a complex state")
    return _COMPLEX.get(dtype, dtype)


def double(dtype: torch.dtype) -> torch.dtype:
    """Return float64, or complex128 for a complex dtype."""
    return torch.complex128 if dtype.is_complex else torch.float64


def keeping_kind(convert: Callable[[Tensor], Tensor]) -> Callable[[Tensor], Tensor]:
    """Wrap a conversion passed to nn.Module's `_apply` so that complex tensors stay complex and real ones real.

    Without it ``.double()`` would skip complex tensors, ``.to(float64)`` would drop their imaginary part, and
    ``.to(complex128)`` would make real parameters such as thresholds and angles complex.

    Raises:
        TypeError: (when called) a complex tensor is to become bfloat16, which has no complex counterpart.

    >>> convert = keeping_kind(lambda t: t.to(torch.float64))
    >>> convert(torch.ones(2) * 1j).dtype, convert(torch.ones(2)).dtype
    (torch.complex128, torch.float64)
    """

    def converted(tensor: Tensor) -> Tensor:
        if tensor.is_complex():
            parts = convert(torch.view_as_real(tensor))
            complex(parts.dtype)  # raises a TypeError if there is none
            return torch.view_as_complex((parts.real if parts.is_complex() else parts).contiguous())
        result = convert(tensor)
        return result.real.contiguous() if result.is_complex() else result

    return converted
