"""The simple recurrence with a complex state in the compiled kernel: a real recurrence of twice the size.

A complex number is a pair of adjacent reals in memory, and multiplying it by w = a + ib means multiplying the pair by
[[a, -b], [b, a]]. So h_t = f(W h_{t-1} + U x_t) is a real recurrence whose matrices have these blocks in place of their
entries, with four times the arithmetic of a real state of n units; modReLU acts on the pairs. The gradients need no
extra rule: torch's complex gradient dL/dRe + i dL/dIm is the real gradient of the pair.
"""

from __future__ import annotations

import torch
from torch import Tensor

from eigenloop import dtypes
from eigenloop.recurrence.fused_simple import PAIRS, fused_simple


def fused_complex(
    x: Tensor,
    input_weight: Tensor | None,
    W: Tensor,
    input_bias: Tensor | None,
    bias: Tensor | None,
    h0: Tensor,
    lengths: Tensor | None,
    activation: str,
    reverse: bool,
) -> tuple[Tensor, Tensor]:
    """Run the recurrence in the kernel, with the arguments of `fused_simple`, all complex except for the bias.

    A real input or weight is converted to complex.
    """
    out, h_n = fused_simple(
        _pairs(x, W.dtype),
        None if input_weight is None else blocks(input_weight.to(W.dtype)),
        blocks(W),
        None if input_bias is None else _pairs(input_bias, W.dtype),
        None if bias is None else bias.to(dtypes.real(W.dtype)),
        _pairs(h0, W.dtype),
        lengths,
        PAIRS if activation == "modrelu" else activation,
        reverse,
        0.0,
    )
    return _joined(out), _joined(h_n)


def blocks(W: Tensor) -> Tensor:
    """Replace every entry a + ib by [[a, -b], [b, a]]: (n, k) complex to (2n, 2k) real; differentiable.

    >>> blocks(torch.tensor([[1 + 2j]]))
    tensor([[ 1., -2.],
            [ 2.,  1.]])
    """
    first, second = torch.stack((W.real, -W.imag), dim=-1), torch.stack((W.imag, W.real), dim=-1)
    return torch.stack((first, second), dim=1).reshape(2 * W.shape[0], 2 * W.shape[1])


def _pairs(z: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (..., n) complex as (..., 2n) real, without a copy if possible."""
    return torch.view_as_real(z.to(dtype).resolve_conj()).flatten(-2)


def _joined(pairs: Tensor) -> Tensor:
    """Return (..., 2n) real as (..., n) complex, without a copy; in a compiled graph as a copy.

    The compiler cannot return a view with another dtype at the end of a graph.
    """
    joined = torch.view_as_complex(pairs.unflatten(-1, (-1, 2)))
    return joined.clone() if torch.compiler.is_compiling() else joined
