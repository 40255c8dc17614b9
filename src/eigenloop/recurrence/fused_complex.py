"""The simple recurrence with a complex state in the compiled kernel: a real recurrence of twice the size.

A complex number is a pair of reals side by side in memory, and multiplying it by w = a + ib is multiplying the pair by
[[a, -b], [b, a]]. So h_t = f(W h_{t-1} + U x_t) is the real recurrence whose matrices have these blocks in the place of
their entries, four times the arithmetic of a real state of n units; modReLU acts on the pairs. The gradients need no
rule of their own: torch's complex gradient dL/dRe + i dL/dIm is the real one of the pair.
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
    """Run the recurrence in the kernel; arguments as those of `fused_simple`, complex but for the bias.

    An input or weight that is real counts as complex.
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
    """Put [[a, -b], [b, a]] in the place of every entry a + ib: (n, k) complex to (2n, 2k) real; differentiable.

    >>> blocks(torch.tensor([[1 + 2j]]))
    tensor([[ 1., -2.],
            [ 2.,  1.]])
    """
    first, second = torch.stack((W.real, -W.imag), dim=-1), torch.stack((W.imag, W.real), dim=-1)
    return torch.stack((first, second), dim=1).reshape(2 * W.shape[0], 2 * W.shape[1])


def _pairs(z: Tensor, dtype: torch.dtype) -> Tensor:
    """Return (..., n) complex as (..., 2n) real, on the same memory where it can be."""
    return torch.view_as_real(z.to(dtype).resolve_conj()).flatten(-2)


def _joined(pairs: Tensor) -> Tensor:
    """Return (..., 2n) real as (..., n) complex, on the same memory; as a copy in a compiled graph.

    The compiler cannot hand on a view of another dtype where a graph ends.
    """
    joined = torch.view_as_complex(pairs.unflatten(-1, (-1, 2)))
    return joined.clone() if torch.compiler.is_compiling() else joined
