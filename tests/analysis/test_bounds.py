"""Bounds: what is measured against autograd and closed forms, and which versions hold."""

import math
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from eigenloop import analysis
from eigenloop.analysis import theorems_gated, theorems_simple
from eigenloop.analysis.bound_check import Check
from eigenloop.analysis.bounds import checks
from eigenloop.analysis.feed_forward import theta
from eigenloop.analysis.fisher import memory
from eigenloop.analysis.theorems_gated import draw
from eigenloop.analysis.theorems_simple import fisher_memory, power_entry
from eigenloop.cli import main
from eigenloop.training import ConfigError


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("orthogonal", [False, True])
def test_the_jacobian_is_autograds(orthogonal: bool) -> None:
    """A GRU step (eq. 1 and 19) whose biases bring it to the drawn gates and candidate."""
    step = draw(3, 5, seeded(), orthogonal=orthogonal)
    for i in range(3):
        h, r, u, c, slope, U_r, U_u, U_c = (getattr(step, name)[i] for name in vars(step))
        b_r, b_u = torch.logit(r) - U_r @ h, torch.logit(u) - U_u @ h
        z = U_c @ (r * h)
        b_c = (c if orthogonal else torch.atanh(c)) - z

        def gru(h: Tensor, weights: Any = (U_r, U_u, U_c, b_r, b_u, b_c), live: Tensor = slope) -> Tensor:
            U_r, U_u, U_c, b_r, b_u, b_c = weights
            r, u = torch.sigmoid(U_r @ h + b_r), torch.sigmoid(U_u @ h + b_u)
            z = U_c @ (r * h) + b_c
            c = live * z if orthogonal else torch.tanh(z)
            return (1 - u) * h + u * c

        torch.testing.assert_close(step.jacobian()[i], torch.func.jacrev(gru)(h))


@pytest.mark.parametrize("gates", ["mixed", "uniform"])
def test_saturated_gates_are_near_0_or_1(gates: str) -> None:
    step = draw(200, 8, seeded(), gates=gates)
    assert float(step.saturation().max()) <= 10**-1.3
    sides = step.u.round()
    assert bool((sides == sides[:, :1]).all()) == (gates == "uniform")


def test_theorem_1_by_hand() -> None:
    """One unit with h = -1/2: the printed maximum is negative, and the bound below what it bounds."""
    one = torch.ones(1, 1, dtype=torch.float64)
    step = theorems_gated.Step(
        h=-one / 2, r=one / 2, u=one / 2, c=-one / 2, slope=one, U_r=-one[None], U_u=one[None], U_c=one[None]
    )
    # 1 - u + u f' U_c (h r (1 - r) U_r + r), with c = h.
    assert step.jacobian().item() == pytest.approx(0.5 + 0.5 * (0.125 + 0.5))
    alpha, beta = (value.item() for value in step.alpha_beta(absolute=True))
    assert (alpha, beta) == pytest.approx((0.25 + 0.5, 0.5 * (0.125 + 0.5)))
    alpha, beta = (value.item() for value in step.alpha_beta(absolute=False))
    assert (alpha, beta) == pytest.approx((-0.25 + 0.5, 0.5 * (-0.125 + 0.5)))
    assert step.jacobian().item() > alpha + beta


def test_the_remainders_of_saturated_gates_by_hand() -> None:
    """Gates 0.1 away from 1 and 0, H = 1/2, C = 1/4, ||U_u|| = 2, ||U_r|| = 3."""
    one = torch.ones(1, 1, dtype=torch.float64)
    step = theorems_gated.Step(
        h=-one / 2, r=0.9 * one, u=0.1 * one, c=one / 4, slope=one, U_r=-3 * one[None], U_u=2 * one[None], U_c=one[None]
    )
    more = (1 / 2 + 1 / 4) * 2 + 1 / 2 * 3
    assert theorems_gated._saturated([step], 2.0).item() == pytest.approx(2 + 0.1 * more)
    assert theorems_gated._saturated([step], 1.0).item() == pytest.approx(1 + 0.1 * (1 + more))


@pytest.mark.parametrize("seed", [0, 1])
def test_what_holds_and_what_does_not(seed: int) -> None:
    found = {check.name: check for check in checks(1200, seed)}
    for check in found.values():
        assert check.violations(list(check.bounds)[-1]) == 0, check.name
    for name, version in {
        "NC-GRU theorem 1": "as printed",
        "NC-GRU corollary 2": "as printed, 2 or 1",
        "NC-GRU corollary 3": "as printed, 2 or 1",
        "ENRNN theorem 3.1, states": "radius for the norm",
        "nnRNN proposition 1": "supplement, eq. 13",
        "nnRNN proposition 2": "constant 1 in place of O(.)",
    }.items():
        assert found[name].violations(version) > 0
        assert found[name].tightest(version) > 1
    assert found["nnRNN proposition 1"].violations("eq. 4") == 0
    proposition = found["nnRNN proposition 1"]
    assert bool((proposition.bounds["sharper"] >= proposition.bounds["eq. 4"] * (1 - 1e-12)).all())


def test_the_relu_jacobians_are_autograds() -> None:
    W, U = (torch.randn(1, 4, m, generator=seeded(m), dtype=torch.float64) for m in (4, 3))
    to_state, to_input = theorems_simple._relu_jacobians(W, U, seeded())
    generator = seeded()
    bias = 0.5 * torch.randn(1, 4, generator=generator, dtype=torch.float64)[0]
    x = torch.stack([torch.randn(1, 3, generator=generator, dtype=torch.float64)[0] for _ in range(11)])

    def states(x: Tensor) -> Tensor:
        h, found = torch.zeros(4, dtype=torch.float64), []
        for x_t in x:
            h = torch.relu(W[0] @ h + U[0] @ x_t + bias)
            found.append(h)
        return torch.stack(found)

    jacobian = torch.func.jacrev(states)(x)
    for tau in range(theorems_simple.LAGS + 1):
        torch.testing.assert_close(to_input[tau][0], jacobian[2 + tau, :, 2])

    def later_states(h: Tensor) -> Tensor:
        found = []
        for x_t in x[3:]:
            h = torch.relu(W[0] @ h + U[0] @ x_t + bias)
            found.append(h)
        return torch.stack(found)

    jacobian = torch.func.jacrev(later_states)(states(x)[2])
    torch.testing.assert_close(to_state[0][0], torch.eye(4, dtype=torch.float64))
    for tau in range(1, theorems_simple.LAGS + 1):
        torch.testing.assert_close(to_state[tau][0], jacobian[tau - 1])


def test_a_bound_below_zero_is_the_worst_and_counted_apart() -> None:
    measured, bound = torch.tensor([1.0, 2.0, 3.0, 0.0]), torch.tensor([2.0, 1.0, -1.0, -1.0])
    check = Check("made up", "x", measured, {"one": bound})
    assert check.beyond("one").tolist() == [False, True, True, True]
    assert check.share("one").tolist() == [0.5, 2.0, torch.inf, 0.0]
    assert (check.violations("one"), check.impossible("one"), check.tightest("one")) == (3, 1, 2.0)


def test_one_draw_is_refused() -> None:
    with pytest.raises(ConfigError, match="at least 2 draws"):
        analysis.bounds(draws=1)


@pytest.mark.parametrize(("alpha", "beta"), [(1.0, 0.0), (1.05, 0.005), (0.9, 0.1)])
def test_fisher_memory_is_that_of_exact_arithmetic(alpha: float, beta: float) -> None:
    found = fisher_memory(torch.from_numpy(theta(10, alpha, beta)))
    torch.testing.assert_close(found, torch.from_numpy(memory(10, alpha, beta, 0.0, 10).curve))


@pytest.mark.parametrize("n", [2, 5, 7])
@pytest.mark.parametrize("t", [1, 2, 6])
def test_powers_in_whole_numbers(n: int, t: int) -> None:
    x = Fraction(3, 2)
    A = [[Fraction(i == j) + x * (j > i) for j in range(n)] for i in range(n)]
    power = A
    for _ in range(t - 1):
        power = [[sum(power[i][k] * A[k][j] for k in range(n)) for j in range(n)] for i in range(n)]
    for i in range(n):
        for j in range(i + 1, n):
            assert power_entry(float(x), t, j - i) == float(power[i][j])


def test_counting() -> None:
    measured = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    bound = torch.tensor([2.0, 2.0, 1.5], dtype=torch.float64)
    upper, lower = Check("", "", measured, {"b": bound}), Check("", "", measured, {"b": bound}, lower=True)
    assert (upper.violations("b"), upper.tightest("b")) == (1, 2.0)
    assert (lower.violations("b"), lower.tightest("b")) == (1, 2.0)
    assert upper.share("b").tolist() == [0.5, 1.0, 2.0]


def test_geometric_sums() -> None:
    terms = torch.tensor([1.0, 3.0], dtype=torch.float64)
    assert theorems_simple._geometric(1.0, terms).tolist() == [1, 3]
    assert theorems_simple._geometric(2.0, terms).tolist() == [1, 7]


@pytest.mark.slow
def test_result(tmp_path: Path) -> None:
    result = analysis.bounds(draws=60)
    assert len(result.numbers["statements"]) == 8
    assert len(result.table.rows) == 16
    assert all(math.isfinite(row[4]) for row in result.table.rows)
    assert {path.name for path in result.write(tmp_path)} == {"bounds.json", "bounds.png", "bounds.svg"}


def test_from_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    monkeypatch.setattr("eigenloop.analysis.result.Result.write", lambda self, folder: [folder / "bounds.json"])
    with pytest.raises(SystemExit, match="0"):
        main(["analyse", "bounds", "--draws", "60", "--out", str(tmp_path)])
    printed = capsys.readouterr().out
    assert "nnRNN proposition 1" in printed
    assert f"written: {tmp_path}/bounds.json" in printed
