"""ENRNN's short-term matrix: the switch, the exact gradient, and the search for the dominant eigenvalue."""

import numpy as np
import pytest
import torch
from comparing import finite_difference, relative, weighted
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.matrices import UnitDisc
from eigenloop.matrices import dominant as module
from eigenloop.matrices.dominant import dominant, spectral_radius


def normalised(n: int, T: torch.Tensor, eps: float = 0.0) -> UnitDisc:
    matrix = UnitDisc(n, eps=eps, dtype=torch.float64)
    with torch.no_grad():
        matrix.weight.copy_(T)
    matrix.normalised.fill_(True)
    return matrix


REAL = torch.diag(torch.tensor([2.0, -0.5, 0.3, 0.1], dtype=torch.float64)) + 0.1 * torch.ones(
    4, 4, dtype=torch.float64
)
PAIR = torch.tensor([[0.0, -1.5, 0.2, 0.0], [1.4, 0.1, 0.0, 0.3], [0.0, 0.2, 0.4, 0.0], [0.1, 0.0, 0.0, -0.3]]).double()


@pytest.mark.parametrize("eps", [0.0, 0.3])
@pytest.mark.parametrize("T", [REAL, -REAL, PAIR, 0.2 * PAIR], ids=["real", "negative", "complex pair", "small"])
def test_gradient(T: torch.Tensor, eps: float) -> None:
    matrix = normalised(4, T, eps)
    weighted([matrix()]).backward()
    numeric = finite_difference(lambda: weighted([matrix()]), matrix.weight.data)
    assert relative(matrix.weight.grad, numeric) < 1e-7
    # Proposition 3.2 with C / rho in place of the printed C / (rho + eps); autograd of eigvals as the third witness.
    leaf = T.clone().requires_grad_()
    rho = torch.linalg.eigvals(leaf).abs().max()
    weighted([leaf / (rho + eps)]).backward()
    assert relative(matrix.weight.grad, leaf.grad) < 1e-9


def test_the_printed_formula_is_wrong_for_eps() -> None:
    matrix = normalised(4, PAIR, 0.3)
    G = torch.randn(4, 4, dtype=torch.float64)
    W = matrix()
    W.backward(G)
    found = dominant(PAIR.numpy(), np.zeros(4), np.zeros(4))
    C = torch.from_numpy((found.value.conjugate() * found.derivative).real)
    printed = (G - (G * W.detach()).sum() * C / (found.radius + 0.3)) / (found.radius + 0.3)
    right = (G - (G * W.detach()).sum() * C / found.radius) / (found.radius + 0.3)
    assert relative(matrix.weight.grad, right) < 1e-9
    assert relative(matrix.weight.grad, printed) > 1e-3


def test_plain_until_the_radius_passes_one_and_normalised_for_good() -> None:
    matrix = UnitDisc(6)
    assert torch.equal(matrix(), matrix.weight)
    assert not matrix.normalised
    with torch.no_grad():
        matrix.weight.mul_(50.0)
    matrix.eval()
    assert relative(torch.linalg.eigvals(matrix()).abs().max(), torch.tensor(1.0)) < 1e-6
    assert not matrix.normalised  # an evaluation changes nothing
    matrix.train()()
    assert matrix.normalised
    with torch.no_grad():
        matrix.weight.mul_(1e-3)
    assert relative(torch.linalg.eigvals(matrix()).abs().max(), torch.tensor(1.0)) < 1e-5
    assert UnitDisc(6).load_state_dict(matrix.state_dict())


@given(n=st.integers(1, 20), seed=st.integers(0, 999), scale=st.sampled_from([0.1, 1.0, 10.0]))
def test_radius_never_exceeds_one(n: int, seed: int, scale: float) -> None:
    T = scale * torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    matrix = UnitDisc(n, dtype=torch.float64)
    with torch.no_grad():
        matrix.weight.copy_(T)
    assert spectral_radius(matrix().detach().numpy()) <= 1 + 1e-6
    assert matrix.defect() <= 1e-6


def test_multiple_eigenvalue_falls_back_with_a_warning() -> None:
    matrix = normalised(4, 2 * torch.eye(4, dtype=torch.float64))
    with pytest.warns(UserWarning, match="multiple"):
        W = matrix()
    G = torch.randn(4, 4, dtype=torch.float64)
    W.backward(G)
    assert relative(matrix.weight.grad, G / 2) < 1e-12
    jordan = torch.tensor([[2.0, 1.0], [0.0, 2.0]], dtype=torch.float64)
    with pytest.warns(UserWarning, match="multiple"):
        normalised(2, jordan)()


@pytest.mark.parametrize("size", [1.0, 1e-3])
def test_nearly_multiple_eigenvalues_are_guarded_too(size: float) -> None:
    near = size * torch.tensor([[2.0, 1.0], [1e-12, 2.0]], dtype=torch.float64)
    matrix = normalised(2, near)
    with pytest.warns(UserWarning, match="nearly so"):
        W = matrix()
    G = torch.randn(2, 2, dtype=torch.float64)
    W.backward(G)
    rho = spectral_radius(near.numpy())
    assert relative(matrix.weight.grad * rho, G) < 1e-12
    # Far enough apart the gradient is taken as it is, however large.
    matrix = normalised(2, size * torch.tensor([[2.0, 1.0], [1e-6, 2.0]], dtype=torch.float64))
    weighted([matrix()]).backward()
    numeric = finite_difference(lambda: weighted([matrix()]), matrix.weight.data, 1e-9 * size)
    assert relative(matrix.weight.grad, numeric) < 1e-3


@pytest.mark.parametrize("T", [torch.zeros(3, 3), torch.diag(torch.ones(2), 1), 1e-3 * torch.diag(torch.ones(2), -1)])
def test_a_matrix_without_a_spectral_radius_is_left_as_it_is(T: torch.Tensor) -> None:
    matrix = normalised(3, T.double())
    with pytest.warns(UserWarning, match="nearly zero"):
        W = matrix()
    assert torch.equal(W, T.double())
    G = torch.randn(3, 3, dtype=torch.float64)
    W.backward(G)
    assert torch.equal(matrix.weight.grad, G)
    # With an eps there is something to divide by, and zero is still a multiple eigenvalue.
    with pytest.warns(UserWarning, match="multiple"):
        assert relative(normalised(3, T.double(), eps=0.5)(), T.double() / 0.5) < 1e-12


def test_large_matrices_are_iterated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Above n = 128 a step costs no full decomposition, warm or cold, and the result is the same."""
    n = 150
    T = torch.randn(n, n, dtype=torch.float64) / n**0.5 * 1.2
    exact = spectral_radius(T.numpy())

    def forbidden(*args: object, **kwargs: object) -> None:
        raise AssertionError("a full decomposition")

    monkeypatch.setattr("scipy.linalg.eig", forbidden)
    matrix = normalised(n, T)
    for _ in range(3):
        W = matrix()
        assert relative(T / exact, W) < 1e-10
    assert matrix.right.any()
    G = torch.randn(n, n, dtype=torch.float64)
    W.backward(G)
    i, j = 3, 7
    moved = []
    for sign in (1, -1):
        other = T.clone()
        other[i, j] += sign * 1e-6
        moved.append((other / spectral_radius(other.numpy()) * G).sum())
    assert abs(matrix.weight.grad[i, j] - (moved[0] - moved[1]) / 2e-6) < 1e-5


def test_no_larger_eigenvalue_is_missed() -> None:
    """The search starts in a block whose eigenvalues are smaller than those of the other block."""
    n = 160
    block = torch.linalg.qr(torch.randn(80, 80, dtype=torch.float64))[0]
    T = torch.block_diag(0.99 * block, 1.5 * torch.diag(torch.linspace(0.1, 1, 80, dtype=torch.float64)))
    start = np.zeros(n)
    start[:80] = 1.0
    found = dominant(T.numpy(), start, start)
    assert abs(found.radius - 1.5) < 1e-9


def test_searches_that_disagree_fall_back_to_all_eigenvalues(monkeypatch: pytest.MonkeyPatch) -> None:
    T = np.random.default_rng(0).standard_normal((150, 150))
    original = module._leading
    calls = []

    def misled(matrix: np.ndarray, start: np.ndarray):
        values, vectors = original(matrix, start)
        calls.append(1)
        return (values * 0.5, vectors) if len(calls) == 1 else (values, vectors)

    monkeypatch.setattr(module, "_leading", misled)
    assert abs(dominant(T, np.zeros(150), np.zeros(150)).radius - spectral_radius(T)) < 1e-9


def test_start_is_the_papers() -> None:
    """Eigenvalues gamma exp(+-i t): inside the disc, in conjugate pairs, with arguments in the right places."""
    matrix = UnitDisc(400, dtype=torch.float64)
    values = torch.linalg.eigvals(matrix.weight.detach())
    assert values.abs().max() < 1
    assert abs(values.abs().mean() - 0.5) < 0.06
    assert torch.linalg.eigvals(UnitDisc(7).weight.detach()).abs().max() < 1


def test_assignment() -> None:
    W = PAIR / spectral_radius(PAIR.numpy())
    assert relative(UnitDisc(4, dtype=torch.float64).assign_(W)(), W) < 1e-12
    assert relative(UnitDisc(4, dtype=torch.float64).assign_(W / 2)(), W / 2) < 1e-12
    with pytest.raises(ValueError, match=r"matrix has spectral radius 1\.1, above 1"):
        UnitDisc(4).assign_(1.1 * W)
