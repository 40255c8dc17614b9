"""Standardisation stored in the network, so that it takes raw values and returns outputs in the original units."""

from __future__ import annotations

import torch
from torch import Tensor, nn


class Scaling(nn.Module):
    """Mean m and scale s of each feature, set from the training split: z = (x - m) / s, and back x = m + s z.

    Both are buffers: they are saved in the state_dict and move with the network, and no optimizer changes them.
    Initially m = 0 and s = 1.

    >>> scaling = Scaling(2)
    >>> scaling.set_(torch.tensor([1.0, 0.0]), torch.tensor([2.0, 1.0]))
    >>> scaling(torch.tensor([5.0, 3.0])), scaling.back(torch.tensor([2.0, 3.0]))
    (tensor([2., 3.]), tensor([5., 3.]))
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, features: int, *, device: torch.device | None = None, dtype: torch.dtype | None = None) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(features, device=device, dtype=dtype))
        self.register_buffer("scale", torch.ones(features, device=device, dtype=dtype))

    @torch.no_grad()
    def set_(self, mean: Tensor, scale: Tensor) -> None:
        """Set mean and scale, (features,) each; raises ValueError unless every scale is positive."""
        if not bool((scale > 0).all()):
            raise ValueError("every scale must be above zero: give 1 where nothing varies")
        self.mean.copy_(mean)
        self.scale.copy_(scale)

    def forward(self, x: Tensor) -> Tensor:
        """Return (x - m) / s over the last dimension."""
        return (x - self.mean) / self.scale

    def back(self, z: Tensor) -> Tensor:
        """Return m + s z, the inverse of `forward`."""
        return self.mean + self.scale * z

    def extra_repr(self) -> str:
        """Return the number of features, for the printed module."""
        return str(len(self.mean))
