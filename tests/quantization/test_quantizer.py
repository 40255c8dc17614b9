"""The quantizer against its definition written out."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import eigenloop as el
from eigenloop.quantization import codes, quantize

bits_ = st.integers(2, 16)


@st.composite
def matrices(draw: st.DrawFn) -> Tensor:
    """Matrices of all kinds of sizes and scales, among them zeros and single entries."""
    rows, columns = draw(st.integers(1, 9)), draw(st.integers(1, 9))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 2**31)))
    scale = 10.0 ** draw(st.integers(-6, 6))
    W = torch.randn(rows, columns, generator=generator, dtype=torch.float64) * scale
    return W * (
        torch.rand(rows, columns, generator=generator, dtype=torch.float64) < draw(st.sampled_from([1.0, 0.5, 0.0]))
    )


@settings(max_examples=200)
@given(W=matrices(), bits=bits_, per_row=st.booleans())
def test_every_entry_is_the_nearest_on_the_grid(W: Tensor, bits: int, per_row: bool) -> None:
    found = quantize(W, bits, per_row)
    half = 2 ** (bits - 1)
    for row, quantized in zip(W.tolist(), found.tolist(), strict=True):
        alpha = max(map(abs, row if per_row else W.flatten().tolist()))
        grid = np.arange(-half, half) * (alpha / half)
        for entry, value in zip(row, quantized, strict=True):
            assert abs(entry - value) <= np.abs(grid - entry).min() * (1 + 1e-9) + 1e-300
            assert np.abs(grid - value).min() <= 1e-12 * max(alpha, 1e-300)


@settings(max_examples=100)
@given(W=matrices(), bits=bits_)
def test_error_range_and_step(W: Tensor, bits: int) -> None:
    number, step = codes(W, bits)
    half = 2 ** (bits - 1)
    assert number.min() >= -half
    assert number.max() <= half - 1
    alpha = float(W.abs().max())
    assert float(step) == pytest.approx((alpha or 1.0) / half)
    error = (quantize(W, bits) - W).abs()
    assert float(error.max()) <= float(step) * (1 + 1e-9)  # a whole step for +alpha itself, which has no code
    inside = alpha - 0.5 * step > W
    assert float(torch.where(inside, error, 0.0).max()) <= float(step) / 2 * (1 + 1e-9)


def test_halves_go_to_even_and_the_top_is_cut() -> None:
    W = torch.tensor([[-1.0, 1.0, 0.25, 0.75, -0.25, -0.75]])
    assert quantize(W, 2).tolist() == [[-1.0, 0.5, 0.0, 0.5, 0.0, -1.0]]
    assert quantize(-W, 2).tolist() != (-quantize(W, 2)).tolist()  # the range is not symmetric
    assert quantize(torch.zeros(2, 3), 4).tolist() == [[0.0] * 3] * 2
    assert quantize(torch.zeros(0, 3), 4).shape == (0, 3)


@settings(max_examples=100)
@given(W=matrices(), bits=bits_)
def test_idempotent_for_a_fixed_alpha(W: Tensor, bits: int) -> None:
    """-alpha has a code, so a matrix that holds it keeps its alpha."""
    alpha = W.abs().max()
    W = torch.cat([W, torch.full((1, W.shape[1]), -float(alpha), dtype=W.dtype)])
    once = quantize(W, bits)
    assert torch.equal(quantize(once, bits), once)


def test_sixteen_bits_are_within_a_step() -> None:
    W = el.initializers.haar(50)
    assert float((quantize(W, 16) - W).abs().max()) <= float(W.abs().max()) / 2**15


@settings(max_examples=50)
@given(W=matrices(), bits=bits_, per_row=st.booleans())
def test_the_gradient_passes_unchanged(W: Tensor, bits: int, per_row: bool) -> None:
    W.requires_grad_()
    weight = torch.randn_like(W)
    (quantize(W, bits, per_row) * weight).sum().backward()
    assert torch.equal(W.grad, weight)


def test_under_vmap_and_grad() -> None:
    W = torch.randn(3, 4, 5)
    separately = torch.stack([quantize(matrix, 4) for matrix in W])
    assert torch.equal(torch.func.vmap(lambda matrix: quantize(matrix, 4))(W), separately)
    assert torch.equal(torch.func.grad(lambda matrix: quantize(matrix, 4).sum())(W[0]), torch.ones(4, 5))


@pytest.mark.parametrize(
    ("bits", "kind", "message"),
    [
        (1, ValueError, "from 2 to 16, got 1"),
        (17, ValueError, "got 17"),
        (4.0, TypeError, "got 4.0"),
        (True, TypeError, "True"),
    ],
)
def test_widths_that_are_not_offered(bits: object, kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        quantize(torch.randn(2, 2), bits)
    with pytest.raises(kind, match=message):
        el.RNN(2, 3, bits=bits)


#: QORNN figure 1, right: quantiles of sigma_min / sigma_max of q(W) for Haar 10 x 10 (section 5.3 of the facts).
RATIOS = {
    2: (0.279, 0.370, 0.456),
    3: (0.579, 0.642, 0.701),
    4: (0.764, 0.807, 0.841),
    5: (0.877, 0.899, 0.919),
    8: (0.984, 0.987, 0.990),
}


@pytest.mark.parametrize("bits", RATIOS)
def test_conditioning_of_quantized_orthogonal_matrices(bits: int) -> None:
    generator = torch.Generator().manual_seed(bits)
    drawn = torch.stack([el.initializers.haar(10, generator=generator) for _ in range(1000)]).double()
    sigma = torch.linalg.svdvals(torch.func.vmap(lambda W: quantize(W, bits))(drawn))
    found = torch.quantile(sigma[:, -1] / sigma[:, 0], torch.tensor([0.05, 0.5, 0.95]).double())
    for ours, theirs in zip(found.tolist(), RATIOS[bits], strict=True):
        assert ours == pytest.approx(theirs, abs=0.02 if bits < 5 else 0.004)


def test_bounds_of_the_paper_hold() -> None:
    """(3) ||Wq Wq^T - I||_F <= 2e + e^2 and (4) |sigma - 1| <= e, with e = n / 2^(k-1), over 1,000 draws."""
    generator = torch.Generator().manual_seed(0)
    for draw in range(1000):
        bits, n = 2 + draw % 9, 2 + draw % 13
        W = el.initializers.haar(n, generator=generator).double()
        quantized, e = quantize(W, bits), n / 2 ** (bits - 1)
        assert float(torch.linalg.matrix_norm(quantized @ quantized.mT - torch.eye(n))) <= 2 * e + e * e
        assert float((torch.linalg.svdvals(quantized) - 1).abs().max()) <= e


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("per_row", [False, True])
def test_what_is_too_small_for_a_step_is_zero(dtype: torch.dtype, per_row: bool) -> None:
    tiny = torch.finfo(dtype).tiny
    for value in (tiny * 2**-20, tiny, 100 * tiny):
        assert not quantize(torch.tensor([[value, 0.0]], dtype=dtype), 8, per_row).any()
    W = torch.tensor([[-1e6 * tiny, 0.0]], dtype=dtype)
    assert torch.equal(quantize(W, 8, per_row), W)
    assert quantize(torch.tensor([[1e-44, 0.0]]), 8).isfinite().all()
