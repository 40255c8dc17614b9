"""nnRNN's Schur form: the spectrum that was asked for, and the way back from any matrix."""

import cmath
import math

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.matrices import ScaledCayley, Schur
from eigenloop.matrices.real_schur import block_schur


def drawn(n: int, blocks: str, seed: int = 0) -> Schur:
    generator = torch.Generator().manual_seed(seed)
    matrix = Schur(n, blocks=blocks, dtype=torch.float64, generator=generator)
    with torch.no_grad():
        matrix.gamma.copy_(0.5 + torch.rand(n // 2, generator=generator))
        matrix.triangle.copy_(0.3 * torch.randn(matrix.triangle.shape, generator=generator))
    return matrix


@given(pairs=st.integers(1, 8), seed=st.integers(0, 99))
def test_exact_blocks_have_the_eigenvalues_they_say(pairs: int, seed: int) -> None:
    matrix = drawn(2 * pairs, "exact", seed)
    W = matrix().detach()
    for g, th in zip(matrix.gamma.tolist(), matrix.theta.tolist(), strict=True):
        z = cmath.rect(g, th)
        # z is an eigenvalue if W - z I is singular; this does not depend on the conditioning of eigenvectors.
        assert torch.linalg.svdvals(W - z * torch.eye(2 * pairs, dtype=torch.complex128)).min() < 1e-12


def test_paper_blocks_have_the_eigenvalues_of_the_note() -> None:
    matrix = Schur(2, blocks="paper", dtype=torch.float64)
    with torch.no_grad():
        matrix.gamma.fill_(0.9)
        matrix.theta.fill_(1.1)
        matrix.triangle.fill_(0.4)
    g, s, t = 0.9 * math.cos(1.1), 0.9 * math.sin(1.1), 0.4
    expected = g + cmath.sqrt(-s * (s + t))
    found = torch.linalg.eigvals(matrix()).tolist()
    assert min(abs(z - expected) for z in found) < 1e-12
    assert abs(abs(expected) - 0.9) > 0.1


def test_start_is_orthogonal_with_the_drawn_angles() -> None:
    matrix = Schur(8, dtype=torch.float64)
    W = matrix().detach()
    assert relative(W.T @ W, torch.eye(8, dtype=torch.float64)) < 1e-13
    angles = sorted(math.remainder(a, 2 * math.pi) for a in matrix.theta.tolist() for a in (a, -a))
    assert relative(torch.linalg.eigvals(W).angle().sort().values, torch.tensor(angles, dtype=torch.float64)) < 1e-12


@given(pairs=st.integers(1, 12), seed=st.integers(0, 999))
def test_paper_blocks_reach_every_matrix(pairs: int, seed: int) -> None:
    W = torch.randn(2 * pairs, 2 * pairs, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    assert relative(Schur(2 * pairs, blocks="paper", dtype=torch.float64).assign_(W)(), W) < 1e-12


@pytest.mark.parametrize(
    "W",
    [
        torch.zeros(4, 4),
        torch.eye(4),
        torch.diag(torch.ones(5), -1),
        torch.diag(torch.tensor([3.0, 1.0, 2.0, -1.0])),
        torch.block_diag(torch.eye(1), torch.tensor([[0.0, -1.0], [1.0, 0.0]]), 2 * torch.eye(1)),
        torch.ones(6, 6),
    ],
    ids=["zero", "identity", "delay line", "real eigenvalues", "a pair between real ones", "rank one"],
)
def test_paper_blocks_reach_the_degenerate_ones(W: torch.Tensor) -> None:
    assert relative(Schur(len(W), blocks="paper", dtype=torch.float64).assign_(W)(), W.double()) < 1e-12


@given(pairs=st.integers(1, 10), seed=st.integers(0, 99))
def test_exact_blocks_reach_each_others_matrices(pairs: int, seed: int) -> None:
    W = drawn(2 * pairs, "exact", seed)().detach()
    other = Schur(2 * pairs, dtype=torch.float64).assign_(W)
    assert relative(other(), W) < 1e-6


def test_exact_blocks_reach_rotations_and_say_why_not_reflections() -> None:
    Q = torch.linalg.qr(torch.randn(6, 6, dtype=torch.float64))[0]
    Q[0] *= torch.det(Q).sign()
    assert relative(Schur(6, dtype=torch.float64).assign_(Q)(), Q) < 1e-12
    Q[0] *= -1
    with pytest.raises(ValueError, match='use blocks="paper", which reaches every matrix'):
        Schur(6).assign_(Q)


def test_fixed_gamma_refuses_other_moduli() -> None:
    with pytest.raises(ValueError, match=r"matrix has \|gamma - 1\| = 0\.5 .*use train_gamma=True"):
        Schur(4, train_gamma=False).assign_(0.5 * torch.eye(4))


def test_p_may_be_any_orthogonal_matrix_of_ours() -> None:
    matrix = Schur(6, orthogonal=ScaledCayley, dtype=torch.float64)
    W = torch.randn(6, 6, dtype=torch.float64)
    paper = Schur(6, orthogonal=ScaledCayley, blocks="paper", dtype=torch.float64)
    assert matrix.defect() < 1e-13
    assert relative(paper.assign_(W)(), W) < 1e-10


@given(n=st.sampled_from([2, 4, 8, 14]), seed=st.integers(0, 99))
def test_block_schur_is_a_decomposition(n: int, seed: int) -> None:
    W = torch.randn(n, n, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    P, form = block_schur(W, normal_blocks=False)
    assert relative(P @ form @ P.T, W) < 1e-12
    assert relative(P.T @ P, torch.eye(n, dtype=torch.float64)) < 1e-12
    rows, columns = torch.triu_indices(n, n, 1)
    assert form[rows, columns][rows // 2 != columns // 2].abs().sum() < 1e-10
    assert relative(form.diagonal()[::2], form.diagonal()[1::2]) < 1e-12


def test_penalty_and_its_gradient() -> None:
    matrix = Schur(4, delta=0.3, dtype=torch.float64)
    with torch.no_grad():
        matrix.gamma.copy_(torch.tensor([0.8, 1.3], dtype=torch.float64))
    matrix.penalty().backward()
    assert math.isclose(matrix.penalty().item(), 0.3 * (0.2**2 + 0.3**2), rel_tol=1e-12)
    assert relative(matrix.gamma.grad, torch.tensor([-2 * 0.3 * 0.2, 2 * 0.3 * 0.3], dtype=torch.float64)) < 1e-12
