"""Fisher memory against Table 6, closed forms, and direct solutions where doubles are enough."""

import json
import math
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg

from eigenloop.analysis.feed_forward import theta
from eigenloop.analysis.fisher import PUBLISHED, memory, memory_in_doubles
from eigenloop.cli import main

#: J_tot, computed apart from this package with integers of 700 bits.
EXACT = {
    (0.95, 0.0, 0.0): 3.03270,
    (1.0, 0.0, 0.0): 5.18738,
    (1.05, 0.0, 0.0): 12.08727,
    (0.95, 0.005, 0.0): 3.17577,
    (1.0, 0.005, 0.0): 5.30143,
    (1.05, 0.005, 0.0): 12.08654,
    (0.95, 0.0, 0.2): 11.93939,
    (1.0, 0.0, 0.2): 16.29823,
    (1.05, 0.0, 0.2): 20.83706,
    (0.95, 0.005, 0.2): 12.08953,
    (1.0, 0.005, 0.2): 16.39095,
    (1.05, 0.005, 0.2): 20.88466,
}
#: J(0), J(50), J(99), J(120) for d = 0.2, beta = 0.
SPOTS = {
    0.95: (0.9791, 0.0744, 0.0722, 0.060),
    1.0: (0.9801, 0.1090, 0.1031, 0.082),
    1.05: (0.9811, 0.1463, 0.1336, 0.103),
}


@pytest.mark.parametrize("row", PUBLISHED)
def test_table_6(row: tuple[float, float, float]) -> None:
    """Every term of the sum is computed too: its end is the total, which comes from a trace."""
    found = memory(100, *row, steps=500)
    assert found.total == pytest.approx(EXACT[row], abs=1e-5)
    assert found.curve.sum() == pytest.approx(found.total, abs=1e-11)
    if row[2] == 0:
        assert f"{found.total:.3g}" == f"{PUBLISHED[row]:.3g}"
        assert found.curve[100:].max() == 0  # Theta^100 = 0
    else:
        assert found.total == pytest.approx(PUBLISHED[row], rel=0.03)


@pytest.mark.parametrize("alpha", SPOTS)
def test_spots_on_the_curve(alpha: float) -> None:
    curve = memory(100, alpha, 0.0, 0.2, steps=121).curve
    assert curve[[0, 50, 99]] == pytest.approx(SPOTS[alpha][:3], abs=6e-5)
    assert curve[120] == pytest.approx(SPOTS[alpha][3], abs=6e-4)


@pytest.mark.parametrize("a", [0.5, 0.95, 1.0, 1.05, 2.0])
@pytest.mark.parametrize("n", [1, 2, 30])
def test_delay_line_in_closed_form(n: int, a: float) -> None:
    """J(k) = a^2k (a^2 - 1) / (a^2(k+1) - 1) for k < n, which is 1 / (k + 1) for a = 1."""
    k = np.arange(n)
    expected = 1 / (k + 1) if a == 1 else a ** (2 * k) * (a**2 - 1) / (a ** (2 * (k + 1)) - 1)
    found = memory(n, a, 0.0, 0.0, steps=n)
    assert found.curve == pytest.approx(expected, rel=1e-12)
    assert found.total == pytest.approx(expected.sum(), rel=1e-12)
    # C is diagonal there: sums of a geometric series.
    assert found.condition == pytest.approx(sum(a ** (2 * j) for j in range(n)), rel=1e-9)


@pytest.mark.parametrize(("alpha", "beta", "d"), [(0.7, 0.3, 0.4), (1.0, -0.2, -0.5), (0.0, 0.0, 0.3), (0.9, 0.9, 0.1)])
def test_against_a_direct_solution(alpha: float, beta: float, d: float) -> None:
    M = theta(8, alpha, beta, d)
    C = scipy.linalg.solve_discrete_lyapunov(M, np.eye(8))
    found = memory(8, alpha, beta, d, steps=40)
    response = np.eye(8)[0]
    for value in found.curve:
        assert value == pytest.approx(response @ np.linalg.inv(C) @ response, rel=1e-8, abs=1e-12)
        response = M @ response
    assert found.condition == pytest.approx(np.linalg.cond(C), rel=1e-6)
    assert memory_in_doubles(8, alpha, beta, d, steps=40) == pytest.approx(found.curve, rel=1e-8, abs=1e-12)


def test_against_fractions() -> None:
    """J(0) = (C^-1)_11 in rational numbers, C by its definition entry by entry."""
    n, a, b, d = 5, Fraction(21, 20), Fraction(1, 200), Fraction(1, 5)
    M = [[d if i == j else a if i == j + 1 else b if i > j else 0 for j in range(n)] for i in range(n)]
    C = [[Fraction(0)] * n for _ in range(n)]
    for i in range(n):
        for j in range(n):
            known = sum(M[i][k] * M[j][m] * C[k][m] for k in range(i + 1) for m in range(j + 1) if (k, m) != (i, j))
            C[i][j] = ((i == j) + known) / (1 - d * d)
    # Cramer's rule: the determinant without the first row and column over the whole.
    exact = _determinant([row[1:] for row in C[1:]]) / _determinant(C)
    assert memory(n, 1.05, 0.005, 0.2, steps=1).curve[0] == pytest.approx(float(exact), rel=1e-14)


def _determinant(rows: list[list[Fraction]]) -> Fraction:
    if not rows:
        return Fraction(1)
    (pivot, *right), *below = rows
    return pivot * _determinant(
        [[x - row[0] / pivot * y for x, y in zip(row[1:], right, strict=True)] for row in below]
    )


@pytest.mark.parametrize(
    ("n", "alpha", "beta", "d"), [(100, 1.05, 0.005, 0.2), (40, 3.0, 0.5, 0.9), (40, -2.0, 1.0, -0.8)]
)
def test_more_bits_change_nothing(n: int, alpha: float, beta: float, d: float) -> None:
    usual, more = (memory(n, alpha, beta, d, steps=151, bits=bits) for bits in (None, 1500))
    assert usual.curve == pytest.approx(more.curve, rel=1e-12, abs=1e-15)
    assert usual.total == pytest.approx(more.total, rel=1e-14)


def test_doubles_fail_where_the_condition_number_says() -> None:
    rows = [(0.95, 0.005, 0.0), (1.05, 0.0, 0.2), (1.05, 0.005, 0.2)]
    errors = [abs(memory_in_doubles(100, *row, steps=400).sum() / EXACT[row] - 1) for row in rows]
    assert errors[0] < 1e-5
    assert min(errors[1:]) > 1e-3
    assert memory(100, 1.05, 0.005, 0.2, steps=1).condition == pytest.approx(1.02e24, rel=0.01)


@pytest.mark.parametrize("beta", [0.0, 0.001, 0.005])
@pytest.mark.parametrize("alpha", [0.9, 1.2])
def test_proposition_1(alpha: float, beta: float) -> None:
    """J(k) >= alpha^k / sigma^2(N-1) (alpha - 1) / (alpha^(k+1) - 1), Theta = D A with sqrt(alpha) on its line D."""
    n, root = 10, math.sqrt(alpha)
    A = np.eye(n)
    A[:-1, :-1] = theta(n, root, beta)[1:, :-1] / root
    sigma = np.linalg.norm(A, 2)
    k = np.arange(n)
    bound = alpha**k * (alpha - 1) / (alpha ** (k + 1) - 1) / sigma ** (2 * (n - 1))
    assert (memory(n, root, beta, 0.0, steps=n).curve >= bound * (1 - 1e-12)).all()


def test_noise_that_never_settles() -> None:
    with pytest.raises(ValueError, match="choose a smaller one"):
        memory(5, 1.0, 0.0, 1.0, steps=5)


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["analyse", "fisher", "--size", "12", "--json", "--out", str(tmp_path)])
    assert not ended.value.code
    numbers = json.loads(capsys.readouterr().out)
    assert [row["published"] for row in numbers["rows"]] == [None] * 12  # the paper has 100 units
    assert numbers["rows"][1]["total"] == pytest.approx(sum(1 / k for k in range(1, 13)))
    assert all(Path(path).is_file() for path in numbers["files"])
