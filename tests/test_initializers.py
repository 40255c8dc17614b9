"""The starts: distributions and definitions."""

import math

import pytest
import torch
from comparing import exponential, relative

from eigenloop import initializers


@pytest.mark.parametrize("n", [1, 2, 5, 8])
@pytest.mark.parametrize("name", ["cayley", "henaff", "haar", "rotation", "identity"])
def test_orthogonal_starts(name: str, n: int) -> None:
    W = initializers.start(name, n)
    assert W.dtype == torch.float64
    assert relative(W.T @ W, torch.eye(n, dtype=torch.float64)) < 1e-13


def test_haar_is_haar() -> None:
    """First and second moments over many draws: E W = 0, E W_ij^2 = 1/n, E (tr W)^2 = 1, both determinants."""
    draws = torch.stack([initializers.haar(4) for _ in range(4000)])
    assert draws.mean(0).abs().max() < 0.05
    assert (draws.square().mean(0) - 0.25).abs().max() < 0.03
    assert math.isclose(draws.diagonal(dim1=1, dim2=2).sum(1).square().mean().item(), 1.0, abs_tol=0.15)
    assert math.isclose((torch.linalg.det(draws) > 0).double().mean().item(), 0.5, abs_tol=0.05)
    U = initializers.haar(5, complex=True)
    assert relative(U.mH @ U, torch.eye(5, dtype=torch.complex128)) < 1e-13


def test_rotations_are_haar_with_determinant_one() -> None:
    draws = torch.stack([initializers.rotation(4) for _ in range(2000)])
    assert relative(torch.linalg.det(draws), torch.ones(2000, dtype=torch.float64)) < 1e-12
    assert draws.mean(0).abs().max() < 0.06
    assert (draws.square().mean(0) - 0.25).abs().max() < 0.03
    assert torch.equal(initializers.rotation(1), torch.ones(1, 1, dtype=torch.float64))


def test_angles() -> None:
    henaff = torch.cat([initializers.henaff_skew(200).diagonal(1)[::2] for _ in range(20)])
    assert henaff.abs().max() <= math.pi
    assert math.isclose(henaff.std().item(), math.pi / math.sqrt(3), rel_tol=0.05)
    cayley = torch.cat([initializers.cayley_skew(200).diagonal(1)[::2] for _ in range(20)])
    angle = 2 * torch.atan(-cayley)
    assert angle.min() >= 0
    assert angle.max() <= math.pi / 2
    assert math.isclose(angle.mean().item(), math.pi / 4, rel_tol=0.05)


def test_odd_sizes_leave_the_last_coordinate_alone() -> None:
    for skew in (initializers.cayley_skew(5), initializers.henaff_skew(5)):
        assert not skew[4].any()
        assert torch.equal(skew, -skew.T)


def test_unconstrained_starts() -> None:
    W = initializers.start("torch", 300)
    assert W.abs().max() <= 1 / math.sqrt(300)
    assert math.isclose(initializers.start("glorot", 300).std().item(), 1 / math.sqrt(300), rel_tol=0.02)
    given = torch.ones(2, 2)
    assert initializers.start(given, 2) is given


@pytest.mark.parametrize("n", [1, 2, 7, 20])
def test_henaff_is_the_exponential_of_its_skew_start(n: int) -> None:
    draws = (torch.Generator().manual_seed(n) for _ in range(2))
    assert relative(initializers.henaff(n, next(draws)), exponential(initializers.henaff_skew(n, next(draws)))) < 1e-14
