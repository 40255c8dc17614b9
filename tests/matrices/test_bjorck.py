"""Bjorck's map: the iteration, its gradient with sigma fixed, and what it needs."""

import pytest
import torch
from comparing import relative

from eigenloop.matrices import Bjorck


def iterated(M: torch.Tensor, iterations: int) -> torch.Tensor:
    """A <- 1.5 A - 0.5 A A^T A from M / sigma_max, sigma held constant; autograd walks through all of it."""
    A = M / torch.linalg.matrix_norm(M.detach(), 2)
    for _ in range(iterations):
        A = 1.5 * A - 0.5 * A @ A.T @ A
    return A


@pytest.mark.parametrize("iterations", [1, 5, 15])
@pytest.mark.parametrize("noise", [0.0, 0.1, 1.0])
def test_map_and_gradient_equal_the_iteration(iterations: int, noise: float) -> None:
    matrix = Bjorck(8, iterations=iterations, dtype=torch.float64)
    with torch.no_grad():
        matrix.weight.add_(noise * torch.randn(8, 8, dtype=torch.float64))
    G = torch.randn(8, 8, dtype=torch.float64)
    W = matrix()
    W.backward(G)
    M = matrix.weight.detach().clone().requires_grad_()
    expected = iterated(M, iterations)
    expected.backward(G)
    assert relative(W, expected) < 1e-12
    assert relative(matrix.weight.grad, M.grad) < 1e-9


def test_a_few_matrices_are_kept_not_fifteen() -> None:
    matrix = Bjorck(16)
    kept = []
    with torch.autograd.graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
        matrix()
    assert sum(size >= 256 for size in kept) <= 6


@pytest.mark.parametrize(("smallest", "low", "high"), [(1.0, 0.999999, 1.0), (0.01, 0.999, 1.0), (1 / 2000, 0.1, 0.5)])
def test_fifteen_iterations_repair_what_is_not_too_small(smallest: float, low: float, high: float) -> None:
    """A singular value grows by 1.5 an iteration while it is small: 1.5^15 = 438."""
    U, V = (torch.linalg.qr(torch.randn(20, 20, dtype=torch.float64))[0] for _ in range(2))
    matrix = Bjorck(20, dtype=torch.float64)
    with torch.no_grad():
        matrix.weight.copy_(U @ torch.diag(torch.linspace(smallest, 1, 20, dtype=torch.float64)) @ V)
    sigma = torch.linalg.svdvals(matrix().detach())
    assert low <= sigma[-1] / sigma[0] <= high + 1e-9


def test_tolerance_goes_on_until_it_is_met() -> None:
    matrix = Bjorck(40, tolerance=1e-8, dtype=torch.float64)
    with torch.no_grad():
        matrix.weight.normal_()
    assert matrix.defect() <= 1e-8
    with torch.no_grad():
        matrix.weight[0] = 1e-4 * matrix.weight[1]
        matrix.weight[0, 0] += 1e-4
    assert matrix.defect() <= 1e-4


@pytest.mark.parametrize("options", [{"iterations": 0}, {"order": 0}, {"tolerance": 0.0}])
def test_bad_options(options: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        Bjorck(4, **options)


@pytest.mark.parametrize("tolerance", [None, 1e-6])
@pytest.mark.parametrize("scale", [0.0, 1e-40, 1e-30])
def test_a_matrix_that_vanishes_has_a_finite_gradient(scale: float, tolerance: float | None) -> None:
    matrix = Bjorck(4, tolerance=tolerance)
    with torch.no_grad():
        matrix.weight.mul_(scale)
    W = matrix()
    assert W.isfinite().all()
    if scale == 0.0:
        assert not W.any()
        W.sum().backward()
        assert torch.equal(matrix.weight.grad, torch.ones(4, 4))  # it leads away from zero
    elif scale == 1e-30:
        assert relative(W @ W.T, torch.eye(4)) < 1e-5
