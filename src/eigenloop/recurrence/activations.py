"""The activations of a recurrence and their derivatives, by name in `ACTIVATIONS`.

The compiled kernel implements ours (`kernel.ACTIVATIONS`); others run on the reference path.

modReLU (Arjovsky et al. 2016, eq. 8; real form in Helfrich et al. 2018): f(z) = sign(z) ReLU(|z| + b), with
sign(0) = 0 and one trainable b per unit; for complex z, z / |z| replaces sign(z).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from eigenloop import registry


@dataclass(frozen=True)
class Activation:
    """A pointwise function f(z, bias) whose derivative can be computed from its value.

    Attributes:
        apply_: replaces z by f(z) in place; `slope` is leaky_relu's, other functions ignore it.
        derivative: returns df/dz, elementwise, given f(z); for real z.
        additive_bias: whether the bias is added to z; False for modReLU, where it is the threshold.
    """

    apply_: Callable[[Tensor, Tensor | None, float], Tensor]
    derivative: Callable[[Tensor, float], Tensor]
    additive_bias: bool = True


def _modrelu_(z: Tensor, bias: Tensor | None, slope: float) -> Tensor:
    if bias is None:
        return z
    modulus = torch.relu_(z.abs() + bias)
    return z.sgn_().mul_(modulus)


def _leaky_relu_(z: Tensor, bias: Tensor | None, slope: float) -> Tensor:
    return torch.nn.functional.leaky_relu_(z, slope)


def _nonzero(value: Tensor, slope: float) -> Tensor:
    return (value != 0).to(value.dtype)


def _leaky_derivative(value: Tensor, slope: float) -> Tensor:
    return torch.where(value > 0, value.new_tensor(1.0), value.new_tensor(slope))


MODRELU = Activation(_modrelu_, _nonzero, additive_bias=False)
RELU = Activation(lambda z, bias, slope: z.relu_(), lambda value, slope: (value > 0).to(value.dtype))
LEAKY_RELU = Activation(_leaky_relu_, _leaky_derivative)
TANH = Activation(lambda z, bias, slope: z.tanh_(), lambda value, slope: 1 - value.square())
IDENTITY = Activation(lambda z, bias, slope: z, lambda value, slope: torch.ones_like(value))

#: The activations by name.
ACTIVATIONS: registry.Loaded[Activation] = registry.Loaded(registry.ACTIVATIONS)

#: The activations for complex states: they act on the modulus and keep the phase.
COMPLEX_ACTIVATIONS = ("modrelu", "identity")


def complex_modrelu_backward(grad: Tensor, z: Tensor, bias: Tensor) -> tuple[Tensor, Tensor]:
    """Backpropagate through complex modReLU; return dL/dz, and dL/db before summation over the batch.

    In polar form the modulus becomes ReLU(|z| + b), with slope 1 or 0, and a change in the direction of the phase is
    scaled by ReLU(|z| + b) / |z|. In torch's convention a gradient is dL/dRe + i dL/dIm.
    """
    modulus = z.abs()
    phase = torch.sgn(z)
    length = torch.relu(modulus + bias)
    turned = grad * phase.conj()
    radial = turned.real * (length > 0) * (modulus > 0)
    tangential = turned.imag * torch.where(modulus > 0, length / modulus, 0)
    return phase * torch.complex(radial, tangential), radial
