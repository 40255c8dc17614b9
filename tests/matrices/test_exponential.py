"""expRNN's map and dtriv's moving base."""

import unittest.mock

import pytest
import torch
from comparing import exponential, relative
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.matrices import Exponential
from eigenloop.matrices.skew_exponential import _SINGLE_RADIUS, skew_exponential
from eigenloop.matrices.triangle import skew, triangle_size, upper_entries

SCALE = st.sampled_from([0.0, 1e-9, 1e-3, 0.01, 0.03, 0.3, 3.0, 50.0])


def frechet(A: torch.Tensor, G: torch.Tensor) -> torch.Tensor:
    """The gradient of sum(G exp(A)) by the exponential of a block matrix (Van Loan 1978)."""
    n = len(A)
    block = torch.zeros(2 * n, 2 * n, dtype=torch.float64)
    block[:n, :n] = block[n:, n:] = A.T
    block[:n, n:] = G
    return exponential(block)[:n, n:]


@given(n=st.integers(1, 20), scale=SCALE, seed=st.integers(0, 999), traced=st.booleans())
def test_skew_exponential_is_the_exponential(n: int, scale: float, seed: int, traced: bool) -> None:
    generator = torch.Generator().manual_seed(seed)
    A = skew(scale * torch.randn(triangle_size(n), dtype=torch.float64, generator=generator), n).requires_grad_()
    with unittest.mock.patch.object(torch.compiler, "is_compiling", return_value=traced):
        W = skew_exponential(A)
    assert relative(W, exponential(A)) < 1e-14 * (1 + n * scale)
    G = torch.randn(n, n, dtype=torch.float64, generator=generator)
    mine, other = torch.autograd.grad(W, A, G)[0], frechet(A, G)
    assert relative(mine - mine.T, other - other.T) < 1e-12 * (1 + n * scale)


@given(n=st.integers(1, 20), scale=SCALE, seed=st.integers(0, 999))
def test_for_float32_it_is_the_same_to_float32(n: int, scale: float, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    entries = scale * torch.randn(triangle_size(n), dtype=torch.float64, generator=generator)
    entries.requires_grad_()
    G = torch.randn(n, n, dtype=torch.float64, generator=generator)
    A = skew(entries, n)
    ours = skew_exponential(A, torch.float32)
    assert relative(ours, exponential(A)) < 2**-24 * (1 + scale)
    assert relative(ours @ ours.T, torch.eye(n, dtype=torch.float64)) < 1e-14 * (1 + n * scale)
    if n > 1:
        mine, full = torch.autograd.grad(ours, entries, G)[0], frechet(A, G)
        assert relative(mine, upper_entries(full - full.T)) < 3e-6 * (1 + scale)


def test_the_radius_is_that_of_single_precision() -> None:
    """Rotations by exactly the largest angle that is not halved: the approximant is off by less than 2^-24."""
    A = skew(torch.tensor([_SINGLE_RADIUS * (1 - 1e-12)], dtype=torch.float64), 2)
    error = relative(skew_exponential(A, torch.float32), exponential(A))
    assert 2**-32 < error < 2**-24 * _SINGLE_RADIUS


def test_derivatives_of_the_float32_gradient() -> None:
    """Whoever differentiates twice gets float64 throughout."""
    entries = torch.randn(triangle_size(4), dtype=torch.float64).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda v: skew_exponential(skew(v, 4), torch.float32), entries)


def test_what_is_not_finite_is_not_hidden() -> None:
    entries = torch.tensor([1.0, float("nan"), 2.0], dtype=torch.float64)
    for dtype in (torch.float32, torch.float64):
        assert not skew_exponential(skew(entries, 3), dtype).isfinite().all()


def test_an_identity_for_base_costs_nothing_and_changes_nothing() -> None:
    matrix = Exponential(6)
    A = skew(matrix.skew.detach().double(), 6)
    assert torch.equal(matrix.exact(), skew_exponential(A, torch.float32))
    turned = Exponential(6)
    turned.load_state_dict(matrix.state_dict() | {"base": matrix.base.flip(0)})
    assert torch.equal(turned.exact(), matrix.exact().flip(0))


def test_gradient_is_the_papers_formula() -> None:
    """F = W Lexp(-A, (W^T G - G^T W) / 2), dL/dA = F - F^T: Lezcano-Casado and Martinez-Rubio 2019, proposition 4.1."""
    n = 6
    matrix = Exponential(n, dtype=torch.float64)
    with torch.no_grad():
        matrix.skew.normal_()
    G = torch.randn(n, n, dtype=torch.float64)
    W = matrix()
    W.backward(G)
    W, A = W.detach(), skew(matrix.skew.detach(), n)
    S = (W.T @ G - G.T @ W) / 2
    F = W @ frechet(A, S)  # the Frechet derivative of exp at -A = A^T in the direction S
    assert relative(matrix.skew.grad, upper_entries(F - F.T)) < 1e-9


def step_(matrix: Exponential, gradient: torch.Tensor) -> None:
    matrix.skew.grad = gradient.clone()
    torch.optim.SGD([matrix.skew], lr=0.1).step()


def test_base_moves_after_k_steps_and_w_does_not() -> None:
    matrix = Exponential(5, rebase_every=3, dtype=torch.float64)
    matrix()
    for count in (1, 2):
        step_(matrix, torch.randn_like(matrix.skew))
        matrix()
        assert matrix.age == count
        assert torch.equal(matrix.base, torch.eye(5, dtype=torch.float64))
    step_(matrix, torch.randn_like(matrix.skew))
    with torch.no_grad():
        before = matrix()
    after = matrix()
    assert relative(after, before) < 1e-13
    assert not matrix.skew.any()
    assert matrix.age == 0
    assert relative(matrix.base, before) < 1e-13


def test_the_gradient_belongs_to_the_new_base() -> None:
    """Rebasing happens before W is built, so dL/dA is that of B exp(A) at A = 0: skew(B^T G)."""
    matrix = Exponential(5, rebase_every=1, dtype=torch.float64)
    matrix()
    step_(matrix, torch.randn_like(matrix.skew))
    matrix.skew.grad = None
    G = torch.randn(5, 5, dtype=torch.float64)
    matrix().backward(G)
    K = matrix.base.T @ G
    assert relative(matrix.skew.grad, upper_entries(K - K.T)) < 1e-9


def test_several_forwards_before_a_step_count_once() -> None:
    """Gradient accumulation never moves the base under a waiting gradient."""
    matrix = Exponential(4, rebase_every=2)
    for _ in range(5):
        matrix().sum().backward()
    assert matrix.age == 0
    step_(matrix, matrix.skew.grad + 1)
    for _ in range(5):
        matrix()
    assert matrix.age == 1


@pytest.mark.parametrize("determinant", [1, -1])
def test_assign_goes_into_the_base(determinant: int) -> None:
    Q = torch.linalg.qr(torch.randn(4, 4, dtype=torch.float64))[0]
    Q[0] *= torch.det(Q).sign() * determinant
    matrix = Exponential(4, rebase_every=7, dtype=torch.float64).assign_(Q)
    assert relative(matrix.base, Q) < 1e-14
    assert not matrix.skew.any()
