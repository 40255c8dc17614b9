"""ENRNN's theorem 3.1 and nnRNN's propositions 1 and 2: simple recurrences with short-term or non-normal memory."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from eigenloop.analysis.bound_check import Check
from eigenloop.analysis.theorems_gated import norm

#: Sizes of W_S, the longest lag, and the number of input features.
SHORT_SIZES, LAGS, INPUTS = (2, 4, 8, 16), 8, 3


def short_term(draws: int, generator: torch.Generator) -> tuple[Check, Check]:
    """Check theorem 3.1 with ReLU: ||dh_{t+tau}/dh_t|| <= ||W_S||^tau, ||dh_{t+tau}/dx_t|| <= ||W_S||^tau ||U_S||.

    W_S is scaled to a 2-norm in (0.5, 1), as the theorem assumes. Training keeps the spectral radius below 1 but not
    the norm, which is larger for a non-normal W_S; with the radius in place of the norm the inequalities do not hold.
    """
    measured: tuple[list[Tensor], list[Tensor]] = ([], [])
    with_norm: tuple[list[Tensor], list[Tensor]] = ([], [])
    with_radius: tuple[list[Tensor], list[Tensor]] = ([], [])
    some = -(-draws // (len(SHORT_SIZES) * LAGS))
    for n in SHORT_SIZES:
        W = torch.randn(some, n, n, generator=generator, dtype=torch.float64)
        size = 0.5 + 0.5 * torch.rand(some, 1, 1, generator=generator, dtype=torch.float64)
        W = W / norm(W)[:, None, None] * size
        U = torch.randn(some, n, INPUTS, generator=generator, dtype=torch.float64)
        radius = torch.linalg.eigvals(W).abs().amax(-1)
        state, inside = _relu_jacobians(W, U, generator)
        for tau in range(1, LAGS + 1):
            for place, factor, jacobian in ((0, torch.ones(some).double(), state[tau]), (1, norm(U), inside[tau])):
                measured[place].append(norm(jacobian))
                with_norm[place].append(size.flatten() ** tau * factor)
                with_radius[place].append(radius**tau * factor)
    formulas = (r"$\|dh_{t+\tau}/dh_t\|$", r"$\|dh_{t+\tau}/dx_t\|$")
    to_state, to_input = (
        Check(
            f"ENRNN theorem 3.1, {what}",
            formulas[place],
            torch.cat(measured[place])[:draws],
            {
                "radius for the norm": torch.cat(with_radius[place])[:draws],
                "as printed": torch.cat(with_norm[place])[:draws],
            },
        )
        for place, what in enumerate(("states", "inputs"))
    )
    return to_state, to_input


def _relu_jacobians(W: Tensor, U: Tensor, generator: torch.Generator) -> tuple[list[Tensor], list[Tensor]]:
    """Return dh_{t+tau}/dh_t and dh_{t+tau}/dx_t for tau = 0..LAGS along random inputs; t is the third step."""
    some, n, m = U.shape
    bias = 0.5 * torch.randn(some, n, generator=generator, dtype=torch.float64)
    h = torch.zeros(some, n, dtype=torch.float64)
    to_state: list[Tensor] = []
    to_input: list[Tensor] = []
    for step in range(LAGS + 3):
        x = torch.randn(some, m, generator=generator, dtype=torch.float64)
        z = torch.einsum("bij,bj->bi", W, h) + torch.einsum("bij,bj->bi", U, x) + bias
        h, slope = torch.relu(z), (z > 0).double().unsqueeze(-1)
        if step == 2:
            to_state.append(torch.eye(n, dtype=torch.float64).expand(some, n, n))
            to_input.append(slope * U)
        elif step > 2:
            to_state.append(slope * (W @ to_state[-1]))
            to_input.append(slope * (W @ to_input[-1]))
    return to_state, to_input


def fisher_memory(theta: Tensor) -> Tensor:
    """Return J(k) = e1^T (Theta^k)^T C^-1 Theta^k e1, C = sum_j Theta^j (Theta^j)^T, for a nilpotent Theta: (N,)."""
    N = len(theta)
    power, C, columns = torch.eye(N, dtype=theta.dtype), torch.zeros_like(theta), []
    for _ in range(N):
        columns.append(power[:, 0])
        C = C + power @ power.mT
        power = theta @ power
    sources = torch.stack(columns, dim=1)
    return (sources * torch.linalg.solve(C, sources)).sum(0)


def proposition_1(draws: int, generator: torch.Generator) -> Check:
    """Check J(k) >= alpha^k (alpha - 1) / ((alpha^(k+1) - 1) sigma^(2 (N-1))), Theta strictly lower triangular (eq. 4).

    Theta = D A with sqrt(alpha) on D's first sub-diagonal and A unit lower triangular, sigma = ||A||.

    Note [Why the statement holds]
        The supplement's proof replaces (D A)^k by D^k A (eq. 8), and its last line (eq. 13) is wrong. But the
        Cauchy-Schwarz inequality gives J(k) = v^T C^-1 v >= v_i^2 / C_ii for every i, with v = Theta^k e1. For
        i = k + 1 the only path of k steps from 1 is along the sub-diagonal, so v_i^2 = alpha^k; and because
        ||Theta|| <= sqrt(alpha) sigma,
        C_ii = sum_{j<=k} ||(Theta^T)^j e_i||^2 <= sum_{j<=k} (alpha sigma^2)^j. So

            J(k) >= alpha^k / sum_{j=0..k} (alpha sigma^2)^j,

        which is sharper than eq. 4, as sigma >= 1 and j <= k <= N - 1, and implies it.
    """
    measured: list[Tensor] = []
    printed, supplement, sharper = [], [], []
    while sum(len(curve) for curve in measured) < draws:
        N = int(torch.randint(3, 13, (), generator=generator))
        alpha = 0.6 + 0.9 * float(torch.rand((), generator=generator))
        size = 10 ** (-2.5 + 2.5 * float(torch.rand((), generator=generator)))
        below = size * torch.randn(N, N, generator=generator, dtype=torch.float64)
        theta = torch.tril(below, -2) + math.sqrt(alpha) * torch.diag(torch.ones(N - 1).double(), -1)
        A = torch.eye(N, dtype=torch.float64)
        A[:-1] = theta[1:] / math.sqrt(alpha)
        sigma = float(norm(A))
        k = torch.arange(N, dtype=torch.float64)
        measured.append(fisher_memory(theta))
        printed.append(alpha**k / _geometric(alpha, k + 1) / sigma ** (2 * (N - 1)))
        supplement.append(alpha ** (2 * k) * (1 - alpha) / (1 - alpha ** (2 * (N - k))) / sigma ** (2 * (N - 1)))
        sharper.append(alpha**k / _geometric(alpha * sigma**2, k + 1))
    versions = {"supplement, eq. 13": supplement, "eq. 4": printed, "sharper": sharper}
    bounds = {name: torch.cat(values)[:draws] for name, values in versions.items()}
    return Check("nnRNN proposition 1", "$J(k)$", torch.cat(measured)[:draws], bounds, lower=True)


def _geometric(ratio: float, terms: Tensor) -> Tensor:
    """Return the geometric sum 1 + ratio + ... with this many terms."""
    return terms if abs(ratio - 1) < 1e-9 else (ratio**terms - 1) / (ratio - 1)


def power_entry(x: float, t: int, distance: int) -> float:
    """Return (A^t)_{i, i+distance} for A with 1 on the diagonal and x above: sum_l C(t, l) C(distance-1, l-1) x^l.

    A path of t steps from i to i + distance moves in l of them and stays in t - l: there are C(t, l) choices of the
    moving steps, and C(distance - 1, l - 1) ways to split the distance into l parts.

    >>> power_entry(1.0, 2, 1), power_entry(1.0, 2, 2)
    (2.0, 3.0)
    """
    return sum(math.comb(t, l) * math.comb(distance - 1, l - 1) * x**l for l in range(1, distance + 1))  # noqa: E741


def proposition_2(draws: int, generator: torch.Generator) -> Check:
    """Check (A^t)_ij = sum_l O(C(t, l)) x^l for A = I + x (ones above the diagonal): the constants are C(j-i-1, l-1).

    The proposition does not state the constants; with 1 in their place it is not a bound.
    """
    measured, plain, exact = [], [], []
    for _ in range(draws):
        n, t = (int(torch.randint(2, 13, (), generator=generator)) for _ in range(2))
        x = 10 ** (-2 + 2 * float(torch.rand((), generator=generator)))
        A = torch.eye(n, dtype=torch.float64) + x * torch.triu(torch.ones(n, n, dtype=torch.float64), 1)
        distance = int(torch.randint(1, n, (), generator=generator))
        measured.append(float(torch.linalg.matrix_power(A, t)[0, distance]))
        plain.append(sum(math.comb(t, power) * x**power for power in range(1, distance + 1)))
        exact.append(power_entry(x, t, distance))
    bounds = {"constant 1 in place of O(.)": plain, "exact form": exact}
    return Check(
        "nnRNN proposition 2",
        "$(A^t)_{ij}$",
        torch.tensor(measured, dtype=torch.float64),
        {name: torch.tensor(values, dtype=torch.float64) for name, values in bounds.items()},
    )
