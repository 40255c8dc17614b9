"""NC-GRU's theorem 1 and corollaries 1 to 3: how large the Jacobian of a gated step can be.

With r, u the gates, c = f(.) the candidate and h' = (1 - u) h + u c,

    dh'/dh = diag(1 - u) + diag(c - h) diag(u (1 - u)) U_u + diag(u f') U_c (diag(h r (1 - r)) U_r + diag(r)).
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import torch
from torch import Tensor

from eigenloop import initializers
from eigenloop.analysis.bound_check import Check

#: Values of n, and the number of steps from h = 0 to the step whose Jacobian is taken.
SIZES, STEPS = (2, 3, 4, 8, 16, 32), 6


@dataclass(frozen=True)
class Step:
    """One step of `draws` networks of n units; vectors (draws, n), matrices (draws, n, n), in double precision."""

    h: Tensor
    r: Tensor
    u: Tensor
    c: Tensor
    slope: Tensor
    U_r: Tensor
    U_u: Tensor
    U_c: Tensor

    def jacobian(self) -> Tensor:
        """Return dh'/dh, (draws, n, n)."""
        inner = (self.h * self.r * (1 - self.r)).unsqueeze(-1) * self.U_r + torch.diag_embed(self.r)
        through_update = ((self.c - self.h) * self.u * (1 - self.u)).unsqueeze(-1) * self.U_u
        through_candidate = (self.u * self.slope).unsqueeze(-1) * (self.U_c @ inner)
        return torch.diag_embed(1 - self.u) + through_update + through_candidate

    def alpha_beta(self, absolute: bool) -> tuple[Tensor, Tensor]:
        """Return theorem 1's alpha and beta (eq. 9 and 10), with max |h_i|, or with max h_i as printed.

        The norm of diag(h) is max |h_i|. The printed max h_i can be smaller, even negative.
        """
        largest_h, largest_c = ((v.abs() if absolute else v).amax(-1) for v in (self.h, self.c))
        delta_u, delta_r = ((gate * (1 - gate)).amax(-1) for gate in (self.u, self.r))
        alpha = delta_u * (largest_h + largest_c) * norm(self.U_u) + (1 - self.u).amax(-1)
        beta = self.u.amax(-1) * (delta_r * norm(self.U_r) * largest_h + self.r.amax(-1))
        return alpha, beta

    def saturation(self) -> Tensor:
        """Return the largest distance of a gate's entry from the nearer of 0 and 1."""
        gates = torch.cat((self.r, self.u), dim=-1)
        return torch.minimum(gates, 1 - gates).amax(-1)


def norm(matrices: Tensor) -> Tensor:
    """Return the 2-norm of each matrix."""
    return torch.linalg.matrix_norm(matrices, ord=2)


def draw(draws: int, n: int, generator: torch.Generator, *, gates: str = "free", orthogonal: bool = False) -> Step:
    """Draw random networks, run them for a few steps on random inputs, and return the last step.

    Args:
        draws: number of networks.
        n: size.
        generator: random generator of the draws.
        gates: ``"free"``, computed from the weights; ``"mixed"``, every entry set near 0 or near 1; ``"uniform"``, all
            entries of a gate set near 0, or all near 1. The corollaries assume such gates, whatever causes them.
        orthogonal: U_r and U_c orthogonal and f modReLU, as in NC-GRU; otherwise f is tanh.
    """

    def normal(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator, dtype=torch.float64)

    def uniform(low: float, high: float, *shape: int) -> Tensor:
        return low + (high - low) * torch.rand(*shape, generator=generator, dtype=torch.float64)

    def weight() -> Tensor:
        return normal(draws, n, n) * uniform(0.2, 3.0, draws, 1, 1) / math.sqrt(n)

    def haar() -> Tensor:
        return torch.stack([initializers.haar(n, generator) for _ in range(draws)])

    U_u = weight()
    U_r, U_c = (haar(), haar()) if orthogonal else (weight(), weight())
    threshold = uniform(-0.1, 0.1, draws, n)
    # The largest distance from 0 or 1 of gates that are set.
    closeness = 10 ** uniform(-4.0, -1.3, draws, 1)
    spread, after = uniform(0.0, 3.0, draws, 1), torch.zeros(draws, n, dtype=torch.float64)
    for _ in range(STEPS):
        h = after
        made = []
        for U in (U_r, U_u):
            if gates == "free":
                made.append(torch.sigmoid((U @ h.unsqueeze(-1)).squeeze(-1) + spread * normal(draws, n)))
            else:
                sides = uniform(0.0, 1.0, draws, n if gates == "mixed" else 1).round()
                made.append((sides - closeness * uniform(0.0, 1.0, draws, n)).abs())
        r, u = made
        z = (U_c @ (r * h).unsqueeze(-1)).squeeze(-1) + spread * normal(draws, n)
        c = torch.sign(z) * torch.relu(z.abs() + threshold) if orthogonal else torch.tanh(z)
        slope = (c != 0).double() if orthogonal else 1 - c.square()
        after = (1 - u) * h + u * c
    return Step(h, r, u, c, slope, U_r, U_u, U_c)


def _sizes(draws: int) -> list[tuple[int, int]]:
    """Distribute the draws over the sizes; return pairs (size, draws)."""
    return [(draws * (i + 1) // len(SIZES) - draws * i // len(SIZES), n) for i, n in enumerate(SIZES)]


def _drawn(draws: int, generator: torch.Generator, *, gates: str = "free", orthogonal: bool = False) -> list[Step]:
    return [draw(some, n, generator, gates=gates, orthogonal=orthogonal) for some, n in _sizes(draws) if some > 0]


def _joined(values: list[Tensor]) -> Tensor:
    return torch.cat(values)


def theorem_1(draws: int, generator: torch.Generator) -> Check:
    """Check ||dh'/dh|| <= alpha + beta ||U_c|| (eq. 8), as printed and with absolute values."""
    steps = _drawn(draws, generator)
    bounds = {}
    for version, absolute in (("as printed", False), ("with absolute values", True)):
        terms = [(step.alpha_beta(absolute), norm(step.U_c)) for step in steps]
        bounds[version] = _joined([alpha + beta * size for (alpha, beta), size in terms])
    return Check("NC-GRU theorem 1", r"$\|dh'/dh\|$", _joined([norm(s.jacobian()) for s in steps]), bounds)


def corollary_1(draws: int, generator: torch.Generator) -> Check:
    """Check alpha <= ||U_u|| / 2 + 1 and then beta <= ||U_r|| / 4 + 1, for tanh (eq. 13)."""
    steps = _drawn(draws, generator)
    pairs = [step.alpha_beta(absolute=True) for step in steps]
    measured = _joined([alpha for alpha, _ in pairs] + [beta for _, beta in pairs])
    bound = _joined([norm(s.U_u) / 2 + 1 for s in steps] + [norm(s.U_r) / 4 + 1 for s in steps])
    return Check("NC-GRU corollary 1", r"$\alpha$ and $\beta$", measured, {"as printed": bound})


def _saturated(steps: list[Step], constant: float) -> Tensor:
    """Return a bound of alpha + beta for gates within e of 0 or 1, which makes the "about" in eq. 14 and 15 precise.

    e (1 - e) <= e bounds both deltas, so alpha + beta <= 2 + e ((H + C) ||U_u|| + H ||U_r||) with H = max |h_i| and
    C = max |c_i|, at most 1 with tanh. If every gate has all its entries on one side, either max (1 - u) or max u is at
    most e, and 1 + e (1 + (H + C) ||U_u|| + H ||U_r||) follows.
    """
    bounds = []
    for step in steps:
        H, C = step.h.abs().amax(-1), step.c.abs().amax(-1)
        more = (H + C) * norm(step.U_u) + H * norm(step.U_r) + (1 if constant == 1 else 0)
        bounds.append(constant + step.saturation() * more)
    return _joined(bounds)


def corollary_2(draws: int, generator: torch.Generator) -> Check:
    """Check alpha + beta <~ 2 for saturated gates (eq. 14), <~ 1 if each gate is all open or all closed (eq. 15)."""
    groups = {2.0: _drawn(draws // 2, generator, gates="mixed"), 1.0: _drawn(draws // 2, generator, gates="uniform")}
    measured = _joined([sum(s.alpha_beta(absolute=True), torch.zeros(())) for steps in groups.values() for s in steps])
    return Check("NC-GRU corollary 2", r"$\alpha + \beta$", measured, _saturation_bounds(groups))


def corollary_3(draws: int, generator: torch.Generator) -> Check:
    """Check ||dh'/dh|| <~ 2 and <~ 1 for NC-GRU (eq. 21 and 22), whose modReLU does not bound h by 1."""
    groups = {
        2.0: _drawn(draws // 2, generator, gates="mixed", orthogonal=True),
        1.0: _drawn(draws // 2, generator, gates="uniform", orthogonal=True),
    }
    measured = _joined([norm(step.jacobian()) for steps in groups.values() for step in steps])
    return Check("NC-GRU corollary 3", r"$\|dh'/dh\|$", measured, _saturation_bounds(groups))


def _saturation_bounds(groups: dict[float, list[Step]]) -> dict[str, Tensor]:
    printed = [torch.full((len(s.h),), constant).double() for constant, steps in groups.items() for s in steps]
    explicit = [_saturated(steps, constant) for constant, steps in groups.items()]
    return {"as printed, 2 or 1": _joined(printed), "with its remainder": _joined(explicit)}
