"""Transients against loops, and against what is known of powers of triangular matrices."""

import json
from math import comb
from pathlib import Path

import numpy as np
import pytest

from eigenloop.analysis import transients
from eigenloop.analysis.feed_forward import ALPHAS, BETAS, theta
from eigenloop.analysis.transients import starts, transient
from eigenloop.cli import main


@pytest.mark.parametrize("alpha", ALPHAS)
@pytest.mark.parametrize("beta", BETAS)
def test_nilpotent(alpha: float, beta: float) -> None:
    M = theta(100, alpha, beta)
    assert np.abs(np.linalg.matrix_power(M, 99)).max() > 0
    assert np.abs(np.linalg.matrix_power(M, 100)).max() == 0
    found = transient(M, starts(3, 100, seed=1), 101)
    assert found.norm.mean[99] > 0
    assert found.norm.mean[100:].max() == 0


def test_starts_lie_on_the_sphere_and_favour_no_direction() -> None:
    h = starts(20000, 5, seed=0)
    assert np.linalg.norm(h, axis=0) == pytest.approx(1.0)
    assert h.mean(axis=1) == pytest.approx(0.0, abs=0.02)
    assert h @ h.T / 20000 == pytest.approx(np.eye(5) / 5, abs=0.01)
    assert (starts(3, 5, seed=0) != starts(3, 5, seed=1)).all()


def test_against_loops() -> None:
    n, count, steps = 7, 4, 9
    M, h = theta(n, 1.05, 0.3, 0.1), starts(count, n, seed=2)
    found = transient(M, h, steps)
    states = [list(h[:, s]) for s in range(count)]
    for t in range(steps + 1):
        norms = [sum(x * x for x in state) ** 0.5 for state in states]
        assert found.norm.mean[t] == pytest.approx(sum(norms) / count)
        middle = sum(norms) / count
        assert found.norm.deviation[t] == pytest.approx((sum((x - middle) ** 2 for x in norms) / count) ** 0.5)
        units = [_deviation(state) for state in states]
        assert found.across_units.mean[t] == pytest.approx(sum(units) / count)
        assert found.across_units.deviation[t] == pytest.approx(_deviation(units))
        singles = [_deviation([state[i] for state in states]) for i in range(n)]
        assert found.across_starts.mean[t] == pytest.approx(sum(singles) / n)
        states = [[sum(M[i, j] * state[j] for j in range(i + 1)) for i in range(n)] for state in states]


def _deviation(values: list[float]) -> float:
    mean = sum(values) / len(values)
    return (sum((x - mean) ** 2 for x in values) / len(values)) ** 0.5


@pytest.mark.parametrize("alpha", ALPHAS)
def test_delay_line_in_closed_form(alpha: float) -> None:
    """Theta^t moves a start down by t and multiplies it by alpha^t; sqrt(E ||h||^2) = alpha^t sqrt((n - t) / n)."""
    n, h = 40, starts(50, 40, seed=3)
    found = transient(theta(n, alpha, 0.0), h, n)
    for t in range(n):
        assert found.norm.mean[t] == pytest.approx(alpha**t * np.linalg.norm(h[: n - t], axis=0).mean())
        assert found.root_mean_square[t] == pytest.approx(alpha**t * ((n - t) / n) ** 0.5)


def test_the_mean_over_starts_is_near_the_one_without_draws() -> None:
    M, h = theta(50, 1.0, 0.01), starts(20000, 50, seed=4)
    found = transient(M, h, 49)
    seen = np.sqrt(found.norm.mean**2 + found.norm.deviation**2)
    assert seen == pytest.approx(found.root_mean_square, rel=0.03)


def test_proposition_2() -> None:
    """With 1 on the diagonal and x below, (Theta^t)_ij = sum_l C(t, l) C(i - j - 1, l - 1) x^l: polynomial in t."""
    n, x, t = 8, 0.3, 11
    power = np.linalg.matrix_power(theta(n, x, x, 1.0), t)
    for i in range(n):
        for j in range(i):
            closed = sum(comb(t, m) * comb(i - j - 1, m - 1) * x**m for m in range(1, i - j + 1))
            assert power[i, j] == pytest.approx(closed)


def test_shapes_of_figure_1b(tmp_path: Path) -> None:
    """Larger alpha and beta swell more, and it is over after n steps (section 3.1)."""
    result = transients(count=200)
    rows = {(row[0], row[1]): row for row in result.table.rows}
    peaks = {pair: row[2] for pair, row in rows.items()}
    assert peaks[0.95, 0.0] == peaks[1.0, 0.0] == pytest.approx(1.0)
    assert peaks[1.0, 0.005] < peaks[1.05, 0.0] < peaks[1.05, 0.005]
    assert peaks[1.05, 0.005] == pytest.approx(99, rel=0.1)
    largest = max(range(100), key=lambda t: 1.05**t * (100 - t) ** 0.5)
    assert abs(rows[1.05, 0.0][3] - largest) <= 2
    assert all(row[-2:] == (0.0, 0.0) for row in rows.values())
    assert len(result.numbers["rows"][0]["norm_mean"]) == 151
    assert result.write(tmp_path)[0].stat().st_size < 200_000


def test_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["analyse", "transients", "--size", "10", "--count", "5", "--seed", "3", "--json", "--out", str(tmp_path)])
    assert not ended.value.code
    numbers = json.loads(capsys.readouterr().out)
    assert numbers["rows"][0]["norm_mean"][0] == 1.0
    assert (numbers["count"], numbers["seed"]) == (5, 3)
    assert all(Path(path).is_file() for path in numbers["files"])
