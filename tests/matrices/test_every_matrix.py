"""A table of matrices crossed with a table of checks: what each must do, whatever its set."""

import contextlib
import math
from collections.abc import Callable
from functools import partial

import pytest
import torch
from comparing import finite_difference, relative, weighted
from hypothesis import given
from hypothesis import strategies as st

from eigenloop import registry
from eigenloop.matrices import (
    Bjorck,
    Exponential,
    Free,
    Givens,
    Householder,
    HouseholderSVD,
    LongShort,
    Matrix,
    NotInSetError,
    Orthogonal,
    OrthogonalMatrix,
    ScaledCayley,
    Schur,
    Unitary,
    UnitDisc,
)

#: Whatever is registered, as it is or with options that are harder; and further ways to make it.
MATRICES: dict[str, Callable[..., Matrix]] = {
    **{name: entry.load() for name, entry in registry.MATRICES.own.items()},
    "cayley, all negative": lambda n, **k: ScaledCayley(n, negative=n, **k),
    "exponential, haar": partial(Exponential, init="haar"),
    "dtriv": partial(Exponential, rebase_every=1),
    "schur": partial(Schur, delta=0.1),
    "schur paper": partial(Schur, blocks="paper"),
    "schur fixed gamma": partial(Schur, train_gamma=False),
    "schur cayley": partial(Schur, orthogonal=ScaledCayley),
    "bjorck order 3, unfinished": partial(Bjorck, order=3, iterations=2),
    "householder": lambda n, **k: Householder(n, reflections=n, **k),
    "householder, few": lambda n, **k: Householder(n, reflections=min(n, 3), **k),
    "svd": lambda n, **k: HouseholderSVD(n, reflections=n, margin=0.2, **k),
    "givens": partial(Givens, capacity=4),
    "givens, full": lambda n, **k: Givens(n, capacity=max(2, n), **k),
    "givens, complex": partial(Givens, complex=True),
    "givens, full complex": lambda n, **k: Givens(n, capacity=max(2, n), complex=True, **k),
    "disc, eps": partial(UnitDisc, eps=0.1),
    "long only": partial(LongShort, short=0),
    "short only": lambda n, **k: LongShort(n, short=n, **k),
    "uncoupled": partial(LongShort, coupling=False, long=Exponential),
}
ORTHOGONAL = [name for name in MATRICES if isinstance(MATRICES[name](2), OrthogonalMatrix)]
EVEN = [name for name in MATRICES if name.startswith(("schur", "givens"))]
#: Those whose own parameter is W: random numbers added to it leave the set.
OWN_PARAMETER = ["orthogonal", "unitary"]
#: Those that stop short of their set by design.
UNFINISHED = ["bjorck order 3, unfinished"]
#: Those whose backward pass is written by hand.
FIRST_ORDER = [name for name in MATRICES if name.startswith(("neumann", "bjorck", "givens", "disc"))]
#: Those that reach every orthogonal matrix.
EVERY_ORTHOGONAL = [
    name for name in ORTHOGONAL if name not in (*UNFINISHED, "householder, few", "unitary") and name not in EVEN
]


def moved(matrix: Matrix, size: float = 0.5) -> Matrix:
    """Take the parameters off their start."""
    if isinstance(matrix, (Orthogonal, Unitary)):
        return matrix
    with torch.no_grad():
        for parameter in matrix.parameters():
            parameter.add_(torch.randn_like(parameter), alpha=size)
    return matrix


@pytest.fixture(params=MATRICES)
def name(request: pytest.FixtureRequest) -> str:
    return request.param


def fixed(matrix: Matrix) -> torch.Tensor:
    """Build W; for Bjorck by plain iterations, with sigma_max as it was at the first call."""
    if not isinstance(matrix, Bjorck):
        return matrix()
    if not hasattr(matrix, "sigma"):
        matrix.sigma = torch.linalg.matrix_norm(matrix.weight.detach(), 2).item()
    return plain_bjorck(matrix.weight, matrix.iterations, matrix.order, matrix.sigma)


def plain_bjorck(M: torch.Tensor, iterations: int, order: int, sigma: float) -> torch.Tensor:
    """A <- A (I + sum_i (-1)^i binom(-1/2, i) Q^i), Q = I - A^T A: QORNN, appendix B."""
    A, eye = M / sigma, torch.eye(len(M), dtype=M.dtype)
    for _ in range(iterations):
        Q, total, coefficient = eye - A.T @ A, eye, 1.0
        power = eye
        for i in range(1, order + 1):
            coefficient *= (-0.5 - (i - 1)) / i
            power = power @ Q
            total = total + (-1) ** i * coefficient * power
        A = A @ total
    return A


def test_gradient_equals_finite_differences(name: str) -> None:
    matrix = moved(MATRICES[name](6, dtype=torch.float64)).eval()
    weighted([matrix()]).backward()
    for label, parameter in matrix.named_parameters():
        real = torch.view_as_real(parameter.data) if parameter.is_complex() else parameter.data
        grad = torch.view_as_real(parameter.grad) if parameter.is_complex() else parameter.grad
        # Bjorck holds sigma_max constant, as its paper does: the map to compare with is the one with sigma fixed.
        numeric = finite_difference(lambda: weighted([fixed(matrix)]), real)
        assert relative(grad, numeric) < 1e-6, label


@pytest.mark.parametrize("name", sorted(set(MATRICES) - set(FIRST_ORDER) - {"longshort", "short only", "uncoupled"}))
def test_second_derivative(name: str) -> None:
    matrix = moved(MATRICES[name](4, dtype=torch.float64)).eval()
    names, parameters = zip(*matrix.named_parameters(), strict=True)

    def run(*values):
        return torch.func.functional_call(matrix, dict(zip(names, values, strict=True)), ())

    assert torch.autograd.gradgradcheck(run, parameters)


@given(
    name=st.sampled_from(sorted(MATRICES)),
    n=st.integers(1, 12),
    dtype=st.sampled_from([torch.float32, torch.float64]),
    seed=st.integers(0, 2**16),
)
def test_shape_dtype_defect_and_round_trip(name: str, n: int, dtype: torch.dtype, seed: int) -> None:
    torch.manual_seed(seed)
    n += n % 2 if name in EVEN else 0
    # Fifteen iterations of Bjorck repair what is not too far off.
    matrix = moved(MATRICES[name](n, dtype=dtype), 0.05 if name == "bjorck" else 0.5)
    W = matrix().detach()
    assert W.shape == (n, n)
    assert W.real.dtype == dtype
    if name in UNFINISHED:
        return
    assert W.dtype.is_complex == matrix.is_complex
    assert matrix.defect() < {torch.float32: 1e-6, torch.float64: 1e-12}[dtype]
    other = MATRICES[name](n, dtype=dtype)
    if name == "schur fixed gamma":
        other.gamma.copy_(matrix.gamma)
    other.assign_(W)
    assert relative(other(), W) < {torch.float32: 1e-4, torch.float64: 1e-8}[dtype]


@pytest.mark.parametrize("optimizer", [torch.optim.Adam, torch.optim.RMSprop])
@pytest.mark.parametrize("rate", [1e-2, 1.0], ids=["usual rate", "rate 100 times too large"])
@pytest.mark.parametrize(
    ("n", "steps"),
    [
        (2, 2000),
        (3, 2000),
        (64, 2000),
        pytest.param(190, 2000, marks=pytest.mark.slow),
        pytest.param(512, 200, marks=pytest.mark.slow),
    ],
)
@pytest.mark.parametrize(
    "name",
    [
        "cayley",
        "exponential",
        "dtriv",
        "schur",
        "neumann",
        "bjorck",
        "householder",
        "svd",
        "givens",
        "givens, complex",
        "disc",
        "longshort",
    ],
)
def test_the_set_survives_random_steps(name: str, n: int, steps: int, rate: float, optimizer: type) -> None:
    if name in EVEN and n % 2:
        with pytest.raises(ValueError, match="even"):
            MATRICES[name](n)
        return
    if n == 512 and name in ("svd", "bjorck"):
        steps //= 4  # each of their maps takes a decomposition
    made = {"dtriv": partial(Exponential, rebase_every=50), "bjorck": partial(Bjorck, tolerance=1e-6)}
    matrix = made.get(name, MATRICES[name])(n)
    moving = optimizer(matrix.parameters(), lr=rate)
    for step in range(steps):
        for parameter in matrix.parameters():
            parameter.grad = torch.randn_like(parameter)
        moving.step()
        if name in ("dtriv", "neumann") or step % 100 == 0:
            matrix()  # a training forward, where carried state would go astray
    assert matrix.defect() <= (1e-4 if name == "neumann" else 1e-5)
    if isinstance(matrix, (HouseholderSVD, UnitDisc, LongShort)):
        return  # their sets are not the orthogonal group; defect() has measured them
    P = (matrix.orthogonal() if isinstance(matrix, Schur) else matrix()).detach().to(torch.complex128)
    assert (P.mH @ P - torch.eye(n)).abs().max() <= (1e-4 if name == "neumann" else 1e-5)


def test_eval_and_no_grad_change_nothing(name: str) -> None:
    matrix = moved(MATRICES[name](4), 0.1)
    before = {key: value.clone() for key, value in matrix.state_dict().items()}
    with torch.no_grad():
        matrix()
    matrix.eval()()
    assert all(torch.equal(before[key], value) for key, value in matrix.state_dict().items())


@pytest.mark.parametrize("how", ["device=", "default device", "moved there"])
def test_on_the_meta_device_it_has_shapes(name: str, how: str) -> None:
    there = MATRICES[name](4)
    with torch.device("meta" if how == "default device" else "cpu"):
        matrix = MATRICES[name](4, **{"device": "meta"} if how == "device=" else {})
    if how == "moved there":
        matrix = matrix.to("meta").double().float()
    assert repr(matrix)
    for (key, ours), (other, theirs) in zip(matrix.state_dict().items(), there.state_dict().items(), strict=True):
        assert (key, ours.shape, ours.dtype) == (other, theirs.shape, theirs.dtype)
    assert all(tensor.is_meta for tensor in (*matrix.parameters(), *matrix.buffers()))
    for training in (True, False):
        W = matrix.train(training)()
        assert (W.is_meta, W.shape, W.dtype) == (True, (4, 4), there.dtype)
    assert all(grad.is_meta for grad in torch.autograd.grad(W.abs().sum(), list(matrix.parameters())))
    matrix.assign_(torch.eye(4))


def test_built_on_the_meta_device_it_can_be_loaded(name: str) -> None:
    trained = moved(MATRICES[name](4), 0.1)
    with torch.device("meta"):
        matrix = MATRICES[name](4)
    matrix.to_empty(device="cpu")
    with torch.no_grad():
        for tensor in (*matrix.parameters(), *matrix.buffers()):
            tensor.fill_(math.nan if tensor.is_floating_point() or tensor.is_complex() else 77)
    matrix.load_state_dict(trained.state_dict())
    for training in (True, False):
        assert torch.equal(matrix.train(training)(), trained.train(training)())


def test_another_default_device_changes_nothing(name: str) -> None:
    found = []
    for default in ("cpu", "meta"):
        torch.manual_seed(0)  # the parts of a matrix may draw from there
        generator = torch.Generator().manual_seed(0)
        W, target = (torch.linalg.qr(torch.randn(4, 4, generator=generator)).Q for _ in range(2))
        with torch.device(default):
            matrix = MATRICES[name](4, generator=generator, device="cpu")
            optimizer = torch.optim.SGD(matrix.parameters(), lr=1e-6)
            for _ in range(2):  # the second time with a step behind it
                (matrix() - target).abs().square().sum().backward()
                optimizer.step()
            found.append([matrix().detach()])
            with contextlib.suppress(NotInSetError):
                found[-1].append(matrix.assign_(W)().detach())
    for ours, theirs in zip(*found, strict=True):
        assert torch.equal(ours, theirs)


@pytest.mark.parametrize("name", sorted(set(MATRICES) - {"free", "schur paper"}))
def test_refused_assignment_changes_nothing(name: str) -> None:
    matrix = MATRICES[name](4)
    before = matrix().detach().clone()
    with pytest.raises(ValueError, match=r"holds .* but the given matrix has"):
        matrix.assign_(torch.tensor([[2.0, 1, 0, 0], [0, 1, 0, 3], [0, 0, 5, 0], [1, 0, 0, 7]]))
    assert torch.equal(matrix(), before)


@pytest.mark.parametrize("name", EVERY_ORTHOGONAL)
@pytest.mark.parametrize("determinant", [1, -1])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 40])
def test_every_orthogonal_matrix_is_reached(name: str, determinant: int, n: int) -> None:
    Q = torch.linalg.qr(torch.randn(n, n, dtype=torch.float64))[0]
    if torch.det(Q) * determinant < 0:
        Q[0] *= -1
    matrix = MATRICES[name](n, dtype=torch.float64).assign_(Q)
    assert relative(matrix(), Q) < 1e-12
    assert relative(MATRICES[name](n).assign_(Q.float())(), Q.float()) < 1e-5


@pytest.mark.parametrize("name", EVERY_ORTHOGONAL)
@pytest.mark.parametrize(
    "W", [torch.eye(5), -torch.eye(5), torch.eye(5).roll(1, 0), torch.diag(torch.tensor([1.0, -1, 1, -1, -1]))]
)
def test_assigning_the_hard_members(name: str, W: torch.Tensor) -> None:
    """Where I + W is singular the plain Cayley map has no preimage."""
    assert relative(MATRICES[name](5).assign_(W)(), W) < 1e-6


@pytest.mark.parametrize("name", ["henaff", "cayley", "haar", "identity"])
@pytest.mark.parametrize("kind", [ScaledCayley, Exponential])
@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_named_starts_are_orthogonal(kind: type[Matrix], name: str, n: int) -> None:
    assert kind(n, init=name).defect() < 1e-5


def test_slow_parameters_are_those_of_the_orthogonal_part() -> None:
    assert Free(4).slow_parameters() == []
    for matrix in (ScaledCayley(4), Exponential(4)):
        assert matrix.slow_parameters() == [matrix.skew]
    schur = Schur(4, triangle_decay=0.1)
    assert schur.slow_parameters() == [schur.orthogonal.skew]
    expected = [(schur.gamma, 0.0), (schur.theta, 0.0), (schur.triangle, 0.1)]
    assert all(a is b and rate == own for (a, rate), (b, own) in zip(schur.weight_decays(), expected, strict=True))


def test_large_finite_entries_are_no_alarm() -> None:
    assert torch.isfinite(Free(4, init=torch.full((4, 4), 1e38))()).all()


@pytest.mark.parametrize("value", [3e38, torch.inf, torch.nan])
@pytest.mark.parametrize("name", ["cayley", "exponential", "dtriv", "schur"])
def test_parameters_that_overflow_are_named(name: str, value: float) -> None:
    matrix = MATRICES[name](4)
    with torch.no_grad():
        for parameter in matrix.parameters():
            parameter.fill_(value)
    if name == "cayley" and value == 3e38:
        assert torch.isfinite(matrix()).all()
    else:
        with pytest.raises(RuntimeError, match="holds NaN or inf"):
            matrix()


def test_tolerance_of_a_small_matrix_is_small() -> None:
    with pytest.raises(ValueError, match=r"matrix has a block that deviates from one by \d\S* \(at most"):
        Schur(4, dtype=torch.float64).assign_(1e-5 * torch.randn(4, 4, dtype=torch.float64))


def test_incomplete_subclasses_are_refused() -> None:
    with pytest.raises(TypeError, match="abstract"):
        Matrix(3)
