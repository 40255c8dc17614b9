"""Condition numbers of eigenvalues against perturbations, and the Grcar matrix against what is known of it."""

import json
from pathlib import Path

import mpmath
import numpy as np
import pytest

from eigenloop.analysis import sensitivity
from eigenloop.analysis.feed_forward import theta
from eigenloop.analysis.grcar import grcar, grcar_spectrum
from eigenloop.analysis.sensitivity import (
    TAUS,
    accuracy,
    conditions,
    distances,
    non_normal,
    schur_values,
    smallest_singular,
    turned,
)
from eigenloop.cli import main
from eigenloop.training import ConfigError


@pytest.mark.parametrize("n", [5, 8, 12])
def test_grcar_against_a_general_solver_with_many_digits(n: int) -> None:
    found = grcar_spectrum(n)
    with mpmath.workdps(40):
        values, left, right = mpmath.eig(mpmath.matrix(grcar(n).tolist()), left=True, right=True)
        true = np.array([complex(value) for value in values])
        kappa = [
            float(mpmath.norm(left[i, :]) * mpmath.norm(right[:, i]) / abs((left[i, :] * right[:, i])[0]))
            for i in range(n)
        ]
    assert distances(found.values, true).max() < 1e-14
    for value, condition in zip(found.values, found.conditions, strict=True):
        assert condition == pytest.approx(kappa[int(np.abs(true - value).argmin())], rel=1e-10)


@pytest.mark.parametrize("n", [40, 100])
def test_grcar_power_sums_are_traces(n: int) -> None:
    """Of whole numbers, so they are exact: eigenvalues that were lost or doubled would show."""
    found, A = grcar_spectrum(n), grcar(n)
    for power in range(1, 6):
        trace = np.trace(np.linalg.matrix_power(A, power))
        assert (found.values**power).sum() == pytest.approx(trace, rel=1e-12)
    assert np.abs(found.values[:, None] - found.values + np.eye(n)).min() > 1e-3


def test_conditions_are_what_a_perturbation_reaches() -> None:
    """E = eps y x^H moves the eigenvalue by eps / s, and nothing of that norm moves it further (first order)."""
    A, eps = grcar(10), 1e-7
    true, kappa = np.linalg.eigvals(A), conditions(A)
    values, right = np.linalg.eig(A)
    left = np.linalg.inv(right).conj().T
    for i, value in enumerate(values):
        y, x = left[:, i] / np.linalg.norm(left[:, i]), right[:, i] / np.linalg.norm(right[:, i])
        moved = np.abs(np.linalg.eigvals(A + eps * np.outer(y, x.conj())) - value).min()
        assert moved == pytest.approx(eps * kappa[np.abs(true - value).argmin()], rel=1e-3)
    generator = np.random.default_rng(0)
    for _ in range(20):
        E = generator.standard_normal((10, 10))
        E *= eps / np.linalg.norm(E, 2)
        assert distances(np.linalg.eigvals(A + E), true).max() <= 1.001 * eps * kappa.max()


def test_normal_matrices_have_one() -> None:
    for tau, worst in ((0.0, 1.0), (0.5, None)):
        W, true = non_normal(30, tau, seed=1)
        assert distances(np.linalg.eigvals(W), true).max() < 1e-12
        assert np.abs(true) == pytest.approx(1.0)
        found = conditions(W)
        assert found.max() == pytest.approx(worst, rel=1e-9) if worst else found.max() > 10
    assert accuracy(*non_normal(30, 0.0, seed=1)).angle == pytest.approx(0.0, abs=1e-3)


def test_a_2_by_2_by_hand() -> None:
    """[[1, b], [0, 2]]: both eigenvalues have 1 / s = sqrt(1 + b^2), so the angle is arctan b."""
    A = np.array([[1.0, 3.0], [0.0, 2.0]])
    assert conditions(A) == pytest.approx(10**0.5)
    found = accuracy(A, np.array([1.0 + 0j, 2.0]))
    assert found.angle == pytest.approx(np.degrees(np.arctan(3.0)))
    assert found.double < 1e-14


def test_pseudospectra() -> None:
    """Of a normal matrix sigma_min is the distance to the spectrum; of a Jordan block it is far below it."""
    real, imaginary = np.linspace(-2, 2, 5), np.linspace(0, 2, 4)
    z = real + 1j * imaginary[:, None]
    W, true = non_normal(12, 0.0, seed=2)
    distance = np.abs(z[..., None] - true).min(axis=-1)
    assert smallest_singular(W, real, imaginary) == pytest.approx(distance, abs=1e-12)
    A = grcar(9)
    for (i, j), value in np.ndenumerate(smallest_singular(A, real, imaginary)):
        assert value == pytest.approx(1 / np.linalg.norm(np.linalg.inv(z[i, j] * np.eye(9) - A), 2), rel=1e-8)
    small = smallest_singular(theta(20, 1.0, 0.0), np.array([0.5]), np.array([0.0]))
    assert 0 < float(small[0, 0]) < 0.5**20


def test_a_corner_of_a_delay_line() -> None:
    """eps in the corner closes the line: lambda^n = eps, however small eps is."""
    n, eps = 30, 1e-12
    M = theta(n, 1.0, 0.0)
    M[0, -1] = eps
    values, _ = schur_values(M)
    assert np.abs(values) == pytest.approx(eps ** (1 / n), rel=1e-2)
    found = accuracy(turned(theta(100, 1.0, 0.0), seed=0), np.zeros(100, complex), np.array([np.inf]))
    assert found.residual < 1e-13
    assert 0.5 < found.double < 0.85  # 2^(-53/100) = 0.69
    assert found.double < found.single


def test_schur_is_backward_stable_and_errors_follow_the_conditions() -> None:
    """Residuals stay at rounding; the error of the transposed Grcar matrix is about 1 / s of that (SM section C)."""
    for n in (30, 60):
        spectrum = grcar_spectrum(n)
        found = accuracy(grcar(n).T, spectrum.values, spectrum.conditions)
        assert found.residual < 1e-13
        assert found.expected / 100 < found.double < 100 * found.expected
    errors = [accuracy(*non_normal(60, tau, seed=0)) for tau in (0.0, 1.0, 3.0)]
    assert errors[0].double < 1e-13
    assert errors[0].double < errors[1].double < errors[2].double / 50
    assert all(one.single > 1e3 * one.double for one in errors)


def test_distances_are_paired() -> None:
    found, true = np.array([1.0, 2.0, 3.0j]), np.array([3.1j, 1.0, 2.2])
    assert sorted(distances(found, true)) == pytest.approx([0.0, 0.1, 0.2])


def test_sizes_that_are_not_offered() -> None:
    for size in (8, 11):
        with pytest.raises(ConfigError, match="even and at least 10"):
            sensitivity(size=size)


def test_storing_a_non_normal_matrix_moves_its_eigenvalues() -> None:
    """By about its condition times 2^-24: float32 already has what a decomposition in float32 is blamed for."""
    W, values = non_normal(40, 2.0, seed=0)
    assert np.abs(np.triu(W, 2)).max() > 0.05, "P is dense"
    found = accuracy(W, values)
    assert 1e3 * found.double < found.stored < 10 * found.single
    assert found.stored < 2.0**-24 * found.worst_condition * np.linalg.norm(W)
    orthogonal, on_the_circle = non_normal(40, 0.0, seed=0)
    assert accuracy(orthogonal, on_the_circle).stored < 1e-6


@pytest.mark.parametrize("size", ["11", "13"])
def test_sizes_cost_a_sentence(size: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="2"):
        main(["analyse", "sensitivity", "--size", size])
    assert "use 1" in capsys.readouterr().err


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["analyse", "sensitivity", "--size", "20", "--json", "--out", str(tmp_path)])
    assert not ended.value.code
    numbers = json.loads(capsys.readouterr().out)
    assert set(numbers["nnrnn"]) == {f"{tau:g}" for tau in TAUS}
    assert numbers["delay_line"]["worst_condition"] is None
    assert max(numbers["grcar_eigenvalues"]["condition"]) == numbers["grcar"]["20"]["worst_condition"]
    assert all(Path(path).is_file() for path in numbers["files"])
