"""How far apart two tensors are, and gradients by hand; shared by the tests."""

from collections.abc import Callable, Sequence

import scipy.linalg
import torch
from torch import Tensor


def relative(ours: Tensor, theirs: Tensor) -> float:
    """Largest difference, relative to the largest entry of `theirs` (absolute below 1)."""
    assert ours.shape == theirs.shape, (ours.shape, theirs.shape)
    ours, theirs = ours.detach(), theirs.detach()
    if ours.numel() == 0:
        return 0.0
    return float((ours - theirs).abs().max() / theirs.abs().max().clamp_min(1.0))


def finite_difference(function: Callable[[], Tensor], parameter: Tensor, step: float = 1e-6) -> Tensor:
    """Central differences of a scalar function with respect to every entry of a float64 parameter."""
    result = torch.zeros_like(parameter)
    with torch.no_grad():
        for i in range(parameter.numel()):
            flat, before = parameter.view(-1), parameter.view(-1)[i].item()
            values = []
            for sign in (1, -1):
                flat[i] = before + sign * step
                values.append(function().item())
            flat[i] = before
            result.view(-1)[i] = (values[0] - values[1]) / (2 * step)
    return result


def exponential(A: Tensor) -> Tensor:
    """The matrix exponential by scipy: torch 2.13 is wrong by 1e-10 for single matrices of norm 0.005 to 0.05."""
    return torch.from_numpy(scipy.linalg.expm(A.detach().double().numpy()))


def weighted(outputs: Sequence[Tensor], seed: int = 0) -> Tensor:
    """A scalar that depends on every entry of the outputs with a weight of its own."""
    generator = torch.Generator().manual_seed(seed)
    total = 0.0
    for out in outputs:
        weight = torch.randn(out.shape, generator=generator, dtype=out.dtype)
        total = total + (out * weight).sum()
    return total.real if total.is_complex() else total
