"""A bound beside what it bounds, over many draws."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: What rounding may add to a measured number before it counts as beyond its bound.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Check:
    """A statement that was tried.

    Attributes:
        name: which one.
        formula: what is measured, as matplotlib writes it.
        measured: one number for each draw.
        bounds: by version of the statement, one bound for each draw; the last is the one that holds.
        lower: whether they bound from below.
    """

    name: str
    formula: str
    measured: Tensor
    bounds: dict[str, Tensor]
    lower: bool = False

    def share(self, version: str) -> Tensor:
        """Return measured / bound, or bound / measured of a lower one: at most 1 where the bound holds.

        It is infinite where something positive is to be below a bound that is not.
        """
        bound = self.bounds[version]
        if self.lower:
            return bound / self.measured
        return torch.where((bound <= 0) & (self.measured > 0), torch.inf, self.measured / bound)

    def beyond(self, version: str) -> Tensor:
        """Mask the draws beyond the bound."""
        measured, bound = self.measured, self.bounds[version]
        return measured < bound * (1 - ROUNDING) if self.lower else measured > bound + ROUNDING * bound.abs()

    def violations(self, version: str) -> int:
        """Count the draws beyond the bound."""
        return int(self.beyond(version).sum())

    def impossible(self, version: str) -> int:
        """Count the draws whose upper bound is not even positive, where what it bounds is."""
        return int(self.share(version).isinf().sum())

    def tightest(self, version: str) -> float:
        """Return the largest finite share: near 1 the bound says all there is to say, beyond 1 it is wrong."""
        share = self.share(version)
        return float(share[share.isfinite()].max())
