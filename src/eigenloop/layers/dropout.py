"""Dropout with one mask for all steps (Gal, Ghahramani 2016; AWD-LSTM, Merity et al. 2018, section 4.3)."""

from __future__ import annotations

import torch
from torch import Tensor

from eigenloop import dtypes


def locked_dropout(x: Tensor, p: float, time: int | None) -> Tensor:
    """Drop features with probability p, the same at every index of dimension `time`, and scale the rest by 1 / (1 - p).

    >>> dropped = locked_dropout(torch.ones(5, 2, 3), 0.5, time=0)
    >>> bool((dropped == dropped[0]).all())
    True
    """
    if p == 1:
        return torch.zeros_like(x)
    shape = [1 if dimension == time else size for dimension, size in enumerate(x.shape)]
    mask = torch.empty(shape, dtype=dtypes.real(x.dtype), device=x.device).bernoulli_(1 - p).div_(1 - p)
    return x * mask
