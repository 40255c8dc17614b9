"""Weights with gaps between their numbers: C reads them as if there were none, so they are packed on the way."""

import pytest
import torch
from comparing import relative
from torch import Tensor

from eigenloop import recurrence
from eigenloop.recurrence import kernel

GATES = {"simple": 1, "complex": 1, "gated": 3, "lstm": 4}


@pytest.mark.skipif(kernel.library() is None, reason="the compiled kernel is not there")
@pytest.mark.parametrize("kind", GATES)
def test_gaps_change_nothing(kind: str) -> None:
    T, B, n, m = 5, 3, 6, 4
    g = torch.Generator().manual_seed(0)
    real = torch.float64
    dtype = torch.complex128 if kind == "complex" else real

    def normal(*shape: int, dtype: torch.dtype = dtype) -> Tensor:
        return torch.randn(shape, generator=g, dtype=dtype)

    wide = GATES[kind] * n
    values = [normal(T, B, m), normal(wide, n), normal(n, dtype=real), normal(B, n), normal(wide, m), normal(wide)]
    values += [normal(B, n)] * (kind == "lstm")

    def run(leaves: list[Tensor]) -> list[Tensor]:
        x, W, b, h0, U, shift, *c0 = leaves
        options = {"input_weight": U, "input_bias": shift}
        if kind == "lstm":
            outputs = recurrence.lstm(x, W, b, h0, *c0, None, "modrelu", **options)
        elif kind == "gated":
            outputs = recurrence.gated(x, W, b, None, h0, None, "modrelu", "after", **options)
        else:
            outputs = recurrence.simple(x, W, b, h0, None, "modrelu", **options)
        total = sum((t.real.sin() + t.real.square()).sum() for t in outputs)
        return [*outputs, *torch.autograd.grad(total, leaves)]

    packed = run([value.clone().requires_grad_() for value in values])
    spread = run([torch.stack((value, value + 1), dim=-1)[..., 0].requires_grad_() for value in values])
    for ours, theirs in zip(spread, packed, strict=True):
        assert relative(ours, theirs) < 1e-12
