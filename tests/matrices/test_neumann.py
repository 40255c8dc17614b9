"""NC-GRU's carried inverse: orthogonal whatever the optimizer, and the published bug beside it."""

import math

import pytest
import torch
from comparing import relative

from eigenloop.matrices import NeumannCayley, ScaledCayley, orthogonality_defect
from eigenloop.matrices.triangle import skew


def trained(matrix: NeumannCayley, steps: int, lr: float = 1e-3, seed: int = 0) -> float:
    """Take Adam steps with random gradients; return the worst defect on the way."""
    generator = torch.Generator().manual_seed(seed)
    optimizer = torch.optim.Adam(matrix.parameters(), lr=lr)
    worst = 0.0
    for _ in range(steps):
        matrix()
        worst = max(worst, matrix.defect())
        matrix.skew.grad = torch.randn(matrix.skew.shape, generator=generator).to(matrix.skew)
        optimizer.step()
    return worst


@pytest.mark.parametrize("order", [1, 2, 3])
@pytest.mark.parametrize("lr", [1e-4, 1e-3, 1e-2, 1.0])
@pytest.mark.parametrize("n", [8, 56])
def test_defect_stays_below_1e_4(order: int, lr: float, n: int) -> None:
    assert trained(NeumannCayley(n, order=order), 120, lr) < 1e-4


def test_the_series_is_what_follows_the_step() -> None:
    """One step S: Z becomes (I + X + X^2) Z with X = -Z S (eq. 18), and W follows from it."""
    n = 6
    matrix = NeumannCayley(n, order=2, tolerance=math.inf, dtype=torch.float64)
    matrix()
    Z, before = matrix.inverse.clone(), matrix.skew.detach().clone()
    with torch.no_grad():
        matrix.skew.add_(0.01 * torch.randn_like(matrix.skew))
    W = matrix()
    X = -Z @ skew(matrix.skew.detach() - before, n)
    expected = (torch.eye(n) + X + X @ X) @ Z
    assert relative(matrix.inverse, expected) < 1e-13
    assert relative(W, (2 * expected - torch.eye(n)) * matrix.signs) < 1e-13
    assert math.isclose(matrix.step_norm, torch.linalg.matrix_norm(X, 2).item(), rel_tol=1e-9)


@pytest.mark.parametrize(("order", "expected"), [(1, 3e-3), (2, 1e-5), (3, 7e-8)])
def test_accuracy_of_the_orders(order: int, expected: float) -> None:
    """After 49 Adam steps of 1e-3 at n = 56 the inverse is off by about this much (float64, no early reset)."""
    matrix = NeumannCayley(56, order=order, tolerance=math.inf, dtype=torch.float64)
    trained(matrix, 50)
    error = torch.linalg.matrix_norm(matrix.inverse - torch.linalg.inv(torch.eye(56) + skew(matrix.inverse_skew, 56)))
    assert expected / 10 < error < 10 * expected


def test_the_published_bug() -> None:
    """Updating the inverse with lr times the raw gradient, as the released code does, loses orthogonality.

    A moves by Adam's step of about 1e-3 an entry; gradients of 1e-5 make lr * gradient 1e-8: the inverse is stale.
    """
    n, lr = 56, 1e-3
    matrix = NeumannCayley(n, dtype=torch.float64)
    optimizer = torch.optim.Adam(matrix.parameters(), lr=lr)
    stale, worst_stale, worst_ours = matrix.inverse.clone(), 0.0, 0.0
    generator = torch.Generator().manual_seed(0)
    lasting = torch.randn(matrix.skew.shape, generator=generator, dtype=torch.float64)
    for _ in range(49):
        matrix()
        gradient = 1e-5 * (0.3 * lasting + torch.randn(matrix.skew.shape, generator=generator, dtype=torch.float64))
        matrix.skew.grad = gradient
        optimizer.step()
        X = stale @ skew(lr * gradient, n)
        stale = stale + X @ stale + X @ X @ stale
        U = stale @ (torch.eye(n) - skew(matrix.skew.detach(), n)) * matrix.signs
        worst_stale = max(worst_stale, torch.linalg.matrix_norm(U.T @ U - torch.eye(n)).item())
        worst_ours = max(worst_ours, orthogonality_defect(matrix()))
    assert worst_stale > 0.1
    assert worst_ours < 1e-4


def test_resets() -> None:
    matrix = NeumannCayley(8, reset_every=5)
    ages = []
    for _ in range(12):
        matrix()
        ages.append(int(matrix.age))
        with torch.no_grad():
            matrix.skew.add_(1e-4)
    assert ages == [0, 1, 2, 3, 4, 0, 1, 2, 3, 4, 0, 1]
    with torch.no_grad():
        matrix.skew.mul_(30.0)  # a step that the series cannot follow
    matrix()
    assert matrix.age == 0
    assert matrix.defect() < 1e-6


def test_reset_on_assign_and_on_a_change_of_dtype() -> None:
    matrix = NeumannCayley(8)
    trained(matrix, 5)
    matrix.double()
    assert matrix.age == 0
    assert matrix.defect() < 1e-14
    Q = torch.linalg.qr(torch.randn(8, 8, dtype=torch.float64))[0]
    assert relative(matrix.assign_(Q)(), Q) < 1e-12
    exact = torch.linalg.inv(torch.eye(8) + skew(matrix.skew.detach(), 8))
    assert relative(matrix.inverse, exact) < 1e-14


@pytest.mark.parametrize(("stored", "own", "defect"), [("float", "double", 1e-14), ("double", "float", 1e-6)])
def test_reset_on_loading_another_dtype(stored: str, own: str, defect: float) -> None:
    matrix, other = (getattr(NeumannCayley(8), dtype)() for dtype in (stored, own))
    trained(matrix, 5)
    other.load_state_dict(matrix.state_dict())
    assert torch.equal(other.skew, matrix.skew.to(other.dtype))
    exact = torch.linalg.inv(torch.eye(8) + skew(other.skew.detach().double(), 8))
    assert relative(other.inverse, exact.to(other.dtype)) < defect
    assert other.defect() < defect
    same = getattr(NeumannCayley(8), stored)()
    same.load_state_dict(matrix.state_dict())
    assert same.age == matrix.age > 0
    assert torch.equal(same.inverse, matrix.inverse)


def test_evaluation_is_exact_and_changes_nothing() -> None:
    matrix, twin = NeumannCayley(8), ScaledCayley(8)
    matrix()
    with torch.no_grad():
        matrix.skew.normal_()
        twin.skew.copy_(matrix.skew)
    before = {key: value.clone() for key, value in matrix.state_dict().items()}
    with torch.no_grad():
        assert relative(matrix(), twin()) < 1e-6
    matrix.eval()()
    assert all(torch.equal(before[key], value) for key, value in matrix.state_dict().items())


def test_gradient_is_the_papers_closed_form_with_a_carried_inverse() -> None:
    matrix, twin = (kind(7, negative=3, dtype=torch.float64) for kind in (NeumannCayley, ScaledCayley))
    matrix()
    with torch.no_grad():
        matrix.skew.add_(1e-5 * torch.randn_like(matrix.skew))
        twin.skew.copy_(matrix.skew)
    G = torch.randn(7, 7, dtype=torch.float64)
    matrix().backward(G)
    assert matrix.age == 1
    twin().backward(G)
    assert relative(matrix.skew.grad, twin.skew.grad) < 1e-9


def test_exact_is_the_plain_inverse() -> None:
    matrix = NeumannCayley(8, exact=True)
    trained(matrix, 5, lr=0.1)
    assert matrix.age == 0
    assert matrix.defect() < 1e-6


@pytest.mark.parametrize("options", [{"order": 4}, {"reset_every": 0}, {"tolerance": 0.0}])
def test_bad_options(options: dict) -> None:
    with pytest.raises(ValueError, match=next(iter(options))):
        NeumannCayley(4, **options)
