"""Strict triangles stored as vectors: only the n(n-1)/2 free entries are parameters."""

from __future__ import annotations

import torch
from torch import Tensor


def triangle_size(n: int) -> int:
    """Return the number of entries strictly above (or below) the diagonal."""
    return n * (n - 1) // 2


def _flat_upper(n: int, device: torch.device) -> Tensor:
    rows, columns = torch.triu_indices(n, n, 1, device=device)
    return rows * n + columns


def upper(entries: Tensor, n: int) -> Tensor:
    """Return the strictly upper triangular matrix with the given n(n-1)/2 entries, row by row; differentiable."""
    flat = entries.new_zeros(n * n).scatter(0, _flat_upper(n, entries.device), entries)
    return flat.view(n, n)


def upper_entries(matrix: Tensor) -> Tensor:
    """Return the strict upper triangle as a vector: the inverse of `upper`."""
    return matrix.reshape(-1)[_flat_upper(matrix.shape[0], matrix.device)]


def skew(entries: Tensor, n: int) -> Tensor:
    """Build the skew matrix A = X - X^T whose strict upper triangle X holds `entries`.

    >>> skew(torch.tensor([1.0, 2.0, 3.0]), 3)
    tensor([[ 0.,  1.,  2.],
            [-1.,  0.,  3.],
            [-2., -3.,  0.]])
    """
    triangle = upper(entries, n)
    return triangle - triangle.mT
