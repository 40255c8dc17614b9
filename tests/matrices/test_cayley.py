"""scoRNN's map: closed-form gradient, determinant, the choice of D."""

import math

import pytest
import torch
from comparing import relative
from hypothesis import given
from hypothesis import strategies as st

from eigenloop import initializers
from eigenloop.matrices import ScaledCayley
from eigenloop.matrices.cayley import _signs_for
from eigenloop.matrices.triangle import skew, upper_entries


def test_gradient_is_the_papers_closed_form() -> None:
    """V = (I + A)^-T G (D + W^T), dL/dA = V^T - V: Helfrich et al. 2018, theorem 3.2."""
    n = 9
    matrix = ScaledCayley(n, negative=4, dtype=torch.float64)
    with torch.no_grad():
        matrix.skew.normal_()
    G = torch.randn(n, n, dtype=torch.float64)
    W = matrix()
    W.backward(G)
    A, D = skew(matrix.skew.detach(), n), torch.diag(matrix.signs)
    V = torch.linalg.solve((torch.eye(n) + A).T, G @ (D + W.detach().T))
    assert relative(matrix.skew.grad, upper_entries(V.T - V)) < 1e-9


def test_one_factorisation_serves_both_passes() -> None:
    """Counted in the operators that run: one inverse forward, products only backward."""
    from torch.utils._python_dispatch import TorchDispatchMode

    ran: list[str] = []

    class Count(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            ran.append(str(func))
            return func(*args, **(kwargs or {}))

    matrix = ScaledCayley(6)
    with Count():
        matrix().sum().backward()
    assert sum(any(word in op for word in ("inv", "solve", "lu_", "svd", "qr")) for op in ran) == 1


@given(n=st.integers(1, 12), data=st.data())
def test_determinant_counts_the_negatives(n: int, data: st.DataObject) -> None:
    negative = data.draw(st.integers(0, n))
    matrix = ScaledCayley(n, negative=negative, dtype=torch.float64)
    assert matrix.negative == negative
    assert math.isclose(torch.det(matrix()).item(), (-1) ** negative, rel_tol=1e-9)


def test_start_rotates_by_t() -> None:
    """Each block of the Cayley start is a rotation by t in (0, pi/2)."""
    generator = torch.Generator().manual_seed(3)
    W = ScaledCayley(8, negative=0, generator=generator, dtype=torch.float64)()
    t = torch.rand(4, dtype=torch.float64, generator=generator.manual_seed(3)) * math.pi / 2
    for i in range(4):
        block = W[2 * i : 2 * i + 2, 2 * i : 2 * i + 2]
        expected = torch.tensor([[t[i].cos(), t[i].sin()], [-t[i].sin(), t[i].cos()]], dtype=torch.float64)
        assert relative(block, expected) < 1e-12
    assert W.count_nonzero() == 16


def test_assign_keeps_a_serviceable_d_and_replaces_a_bad_one() -> None:
    matrix = ScaledCayley(6, negative=2, dtype=torch.float64)
    before = matrix.signs.clone()
    other = ScaledCayley(6, negative=2, dtype=torch.float64).assign_(matrix())
    assert torch.equal(other.signs, before)
    assert relative(other.skew, matrix.skew) < 1e-12
    matrix.assign_(torch.eye(6))
    assert matrix.negative == 0
    assert not matrix.skew.any()


@given(n=st.integers(1, 30), seed=st.integers(0, 1000))
def test_the_chosen_d_is_well_conditioned(n: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    Q = initializers.haar(n, generator)
    D = _signs_for(Q)
    assert torch.linalg.cond(torch.eye(n) + Q * D) < 10 * n


def test_survives_a_round_trip_of_large_skews() -> None:
    matrix = ScaledCayley(20, negative=3, dtype=torch.float64)
    with torch.no_grad():
        matrix.skew.normal_(0, 1e3)
    other = ScaledCayley(20, dtype=torch.float64).assign_(matrix())
    assert relative(other(), matrix()) < 1e-10
    assert other.skew.abs().max() < 100


@pytest.mark.parametrize("kind", ["haar", "identity"])
def test_full_matrices_bring_their_own_d(kind: str) -> None:
    matrix = ScaledCayley(7, init=kind)
    assert matrix.defect() < 1e-6
