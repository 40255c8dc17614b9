"""Householder and Givens products against brute-force loops over their factors."""

import cmath
import math

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.matrices import Givens, Householder, HouseholderSVD
from eigenloop.matrices.givens import _LayerProduct


def reflections(matrix: Householder) -> torch.Tensor:
    """H(v_1) ... H(v_k) D, one after the other."""
    n, columns = matrix.n, matrix._columns
    entries = iter(matrix.vectors.tolist())
    W = torch.eye(n, dtype=torch.float64)
    for j in range(columns):
        v = torch.zeros(n, dtype=torch.float64)
        v[j:] = torch.tensor([next(entries) for _ in range(n - j)], dtype=torch.float64)
        W = W @ (torch.eye(n) - 2 * torch.outer(v, v) / (v @ v))
    return W * matrix.signs


@given(n=st.integers(1, 12), data=st.data(), seed=st.integers(0, 999))
def test_householder_equals_the_loop(n: int, data: st.DataObject, seed: int) -> None:
    torch.manual_seed(seed)
    matrix = Householder(n, reflections=data.draw(st.integers(1, n)), dtype=torch.float64)
    with torch.no_grad():
        matrix.vectors.mul_(3).add_(0.1 * torch.randn_like(matrix.vectors))
    assert relative(matrix(), reflections(matrix)) < 1e-12


def test_householder_does_not_depend_on_lengths() -> None:
    matrix = Householder(6, reflections=4, dtype=torch.float64)
    before = matrix().detach()
    with torch.no_grad():
        matrix.vectors.mul_(7.0)
    assert relative(matrix(), before) < 1e-13


def test_householder_reach_and_counts() -> None:
    """oRNN-128 with 16 reflections: 1,928 of its about 2.6k parameters are in W."""
    assert Householder(128, reflections=16).vectors.numel() == 16 * 128 - 120
    assert Householder(5).reflections == 5
    assert Householder(50).reflections == 16
    Q = torch.linalg.qr(torch.randn(8, 8))[0]
    with pytest.raises(ValueError, match=r"is still \d\.\d+ from the identity after 3 reflections .*reflections=8"):
        Householder(8, reflections=3).assign_(Q)
    with pytest.raises(ValueError, match=r"1\.\.n = 1\.\.8, got 9"):
        Householder(8, reflections=9)
    assert relative(Householder(8, reflections=3).assign_(torch.eye(8))(), torch.eye(8)) < 1e-6


def test_singular_values_stay_in_the_band() -> None:
    matrix = HouseholderSVD(10, reflections=4, margin=0.05, dtype=torch.float64)
    with torch.no_grad():
        matrix.spread.normal_(0, 20)
    sigma = torch.linalg.svdvals(matrix())
    assert relative(sigma, matrix.singular_values().sort(descending=True).values) < 1e-12
    assert (sigma - 1).abs().max() <= 0.05 + 1e-12
    assert HouseholderSVD(6, margin=0.0).defect() < 1e-6
    with pytest.raises(ValueError, match="but the given matrix has a singular value 1 outside that band"):
        HouseholderSVD(4, margin=0.01).assign_(2.01 * torch.eye(4))
    with pytest.raises(ValueError, match=r"\[0, 1\), got 1"):
        HouseholderSVD(4, margin=1.0)


def layers(matrix: Givens) -> torch.Tensor:
    """diag(e^{i omega}) F_L ... F_1, pair by pair from the definition in EURNN."""
    n = matrix.n
    if matrix.style == "tunable":
        pairs = [[(i, i + 1) for i in range(level % 2, n - 1, 2)] for level in range(matrix.capacity)]
    else:
        pairs, distance = [], n // 2
        while distance:
            pairs.append([(i, i + distance) for i in range(n) if (i // distance) % 2 == 0])
            distance //= 2
    angles = zip(
        matrix.theta.tolist(), matrix.phi.tolist() if matrix.is_complex else [0.0] * len(matrix.theta), strict=True
    )
    W = torch.eye(n, dtype=torch.complex128)
    for members in pairs:
        F = torch.eye(n, dtype=torch.complex128)
        for a, b in members:
            t, p = next(angles)
            F[a, a], F[a, b] = math.cos(t), -cmath.exp(1j * p) * math.sin(t)
            F[b, a], F[b, b] = math.sin(t), cmath.exp(1j * p) * math.cos(t)
        W = F @ W
    return torch.exp(1j * matrix.omega.detach())[:, None] * W if matrix.is_complex else W.real


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(
    ("n", "style", "capacity"),
    [(2, "tunable", 2), (6, "tunable", 4), (8, "tunable", 8), (2, "fft", None), (16, "fft", None)],
)
def test_givens_equals_the_loop(n: int, style: str, capacity: int | None, complex: bool) -> None:
    matrix = Givens(n, style=style, capacity=capacity, complex=complex, dtype=torch.float64)
    W = matrix()
    assert relative(W, layers(matrix)) < 1e-13
    assert matrix.defect() < 1e-13
    assert W.is_complex() == complex


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(("style", "capacity"), [("tunable", 6), ("fft", None)])
def test_gradient_of_the_layers_equals_autograd(style: str, capacity: int | None, complex: bool) -> None:
    """Undoing layer after layer gives what autograd gives through the products of dense layers."""
    matrix = Givens(8, style=style, capacity=capacity, complex=complex, dtype=torch.float64)
    own, other, partner = (t.detach() for t in matrix._coefficients())
    leaves = [own.clone().requires_grad_(), other.clone().requires_grad_()]
    eye, dense = torch.eye(8, dtype=own.dtype), torch.eye(8, dtype=own.dtype)
    for layer in range(len(own)):
        dense = (torch.diag(leaves[0][layer]) + leaves[1][layer][:, None] * eye[partner[layer]]) @ dense
    G = torch.randn(8, 8, dtype=own.dtype)
    expected = torch.autograd.grad(dense, leaves, G)
    mine = [own.clone().requires_grad_(), other.clone().requires_grad_()]
    found = torch.autograd.grad(_LayerProduct.apply(*mine, partner), mine, G)
    for ours, theirs in zip(found, expected, strict=True):
        assert relative(ours, theirs) < 1e-9


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize(
    ("n", "style", "capacity"), [(8, "tunable", 2), (16, "tunable", 4), (16, "fft", None), (24, "tunable", 24)]
)
def test_givens_reach_their_own_products(n: int, style: str, capacity: int | None, complex: bool) -> None:
    options = {"style": style, "capacity": capacity, "complex": complex, "dtype": torch.float64}
    W = Givens(n, **options)().detach()
    assert relative(Givens(n, **options).assign_(W)(), W) < 1e-8


@given(n=st.sampled_from([2, 4, 6, 10]), seed=st.integers(0, 999))
def test_full_capacity_reaches_every_rotation_and_unitary_matrix(n: int, seed: int) -> None:
    g = torch.Generator().manual_seed(seed)
    Q = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64, generator=g))[0]
    Q[0] *= torch.det(Q).sign()
    assert relative(Givens(n, capacity=n, dtype=torch.float64).assign_(Q)(), Q) < 1e-12
    U = torch.linalg.qr(torch.randn(n, n, dtype=torch.complex128, generator=g))[0]
    assert relative(Givens(n, capacity=n, complex=True, dtype=torch.float64).assign_(U)(), U) < 1e-12
    Q[0] *= -1
    with pytest.raises(ValueError, match=r"matrix lies 2 from the nearest one that was reached \(.*determinant 1"):
        Givens(n, capacity=n).assign_(Q)


@pytest.mark.parametrize("W", [torch.eye(6), -torch.eye(6), torch.eye(6).roll(2, 0), torch.eye(6)[[1, 0, 3, 2, 4, 5]]])
def test_full_capacity_reaches_the_hard_members(W: torch.Tensor) -> None:
    assert relative(Givens(6, capacity=6).assign_(W)(), W) < 1e-6
    assert relative(Givens(6, capacity=8, complex=True).assign_(W.to(torch.complex64))(), W.to(torch.complex64)) < 1e-6


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n": 5}, "n is even; got 5: use 4 or 6"),
        ({"n": 4, "capacity": 3}, "even and at least 2, got 3"),
        ({"n": 12, "style": "fft"}, "a power of two, got 12: use 16"),
        ({"n": 8, "style": "fft", "capacity": 2}, "leave out capacity=2"),
        ({"n": 8, "style": "haar"}, "choose 'tunable' or 'fft'"),
        ({"n": 8, "init": "cayley"}, "choose 'uniform', 'identity'"),
    ],
)
def test_bad_options(options: dict, message: str) -> None:
    n = options.pop("n")
    with pytest.raises(ValueError, match=message):
        Givens(n, **options)
