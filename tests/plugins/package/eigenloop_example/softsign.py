"""An activation that Python alone knows: f(z) = z / (1 + |z|), with f' = (1 - |f|)^2."""

from __future__ import annotations

from torch import Tensor

from eigenloop.recurrence import Activation


def _apply_(z: Tensor, bias: Tensor | None, slope: float) -> Tensor:
    return z.div_(1 + z.abs())


def _derivative(value: Tensor, slope: float) -> Tensor:
    return (1 - value.abs()).square()


SOFTSIGN = Activation(_apply_, _derivative)
