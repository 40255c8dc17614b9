"""Comparing a bound with the quantity that it bounds, over many random draws."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

#: Relative rounding error by which a measured number may exceed its bound without counting as a violation.
ROUNDING = 1e-9


@dataclass(frozen=True)
class Check:
    """Measurements of a quantity that a theorem bounds, and the bounds.

    Attributes:
        name: paper and number of the theorem.
        formula: the measured quantity, in matplotlib's mathematical notation.
        measured: one number for each draw.
        bounds: for each version of the theorem one bound per draw; the last version is the one that holds.
        lower: whether these are lower bounds.
    """

    name: str
    formula: str
    measured: Tensor
    bounds: dict[str, Tensor]
    lower: bool = False

    def share(self, version: str) -> Tensor:
        """Return measured / bound, or bound / measured for a lower bound: at most 1 where the bound holds.

        It is infinite where an upper bound is not positive but the measured number is.
        """
        bound = self.bounds[version]
        if self.lower:
            return bound / self.measured
        return torch.where((bound <= 0) & (self.measured > 0), torch.inf, self.measured / bound)

    def beyond(self, version: str) -> Tensor:
        """Return a mask of the draws that violate the bound."""
        measured, bound = self.measured, self.bounds[version]
        return measured < bound * (1 - ROUNDING) if self.lower else measured > bound + ROUNDING * bound.abs()

    def violations(self, version: str) -> int:
        """Return the number of draws that violate the bound."""
        return int(self.beyond(version).sum())

    def impossible(self, version: str) -> int:
        """Return the number of draws whose upper bound is not positive although the measured number is."""
        return int(self.share(version).isinf().sum())

    def tightest(self, version: str) -> float:
        """Return the largest finite `share`: the bound is tight if it is near 1, and violated if it is above 1."""
        share = self.share(version)
        return float(share[share.isfinite()].max())
