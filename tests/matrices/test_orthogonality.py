"""The nearest orthogonal matrix, and decompositions that are checked before they are believed."""

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.matrices import nearest_orthogonal, orthogonality_defect
from eigenloop.matrices.orthogonality import polished, verified_svd


@given(
    n=st.integers(1, 12),
    noise=st.sampled_from([0.0, 1e-9, 1e-4, 0.1, 3.0]),
    complex=st.booleans(),
    seed=st.integers(0, 999),
)
def test_nearest_orthogonal_is_the_polar_factor(n: int, noise: float, complex: bool, seed: int) -> None:
    dtype = torch.complex128 if complex else torch.float64
    g = torch.Generator().manual_seed(seed)
    W = torch.linalg.qr(torch.randn(n, n, dtype=dtype, generator=g))[0] + noise * torch.randn(
        n, n, dtype=dtype, generator=g
    )
    Q = nearest_orthogonal(W)
    assert orthogonality_defect(Q) < 1e-12
    # W = Q H with H Hermitian and positive characterises the polar factor.
    H = Q.mH @ W
    assert relative(H, H.mH) < 1e-9
    assert torch.linalg.eigvalsh(H).min() > -1e-9


def test_polishing_squares_the_distance_and_keeps_what_is_exact() -> None:
    Q = torch.linalg.qr(torch.randn(30, 30, dtype=torch.float64))[0]
    assert orthogonality_defect(polished(Q + 1e-3 * torch.randn(30, 30, dtype=torch.float64))) < 1e-13
    eye = torch.eye(5, dtype=torch.float64)
    assert polished(eye) is eye


def test_a_wrong_decomposition_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    """torch's LAPACK has been seen to return factors of something else for a nearly orthogonal matrix."""
    W = torch.randn(6, 6, dtype=torch.float64)
    original = torch.linalg.svd

    def broken(matrix: torch.Tensor):
        u, s, vh = original(matrix)
        return u.roll(1, 1), s, vh

    monkeypatch.setattr(torch.linalg, "svd", broken)
    u, s, vh = verified_svd(W)
    assert relative(u * s @ vh, W) < 1e-12
    assert orthogonality_defect(nearest_orthogonal(W)) < 1e-12
