"""Represent real factors as 32-bit multipliers with a common shift, such that no product exceeds 64 bits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from eigenloop.deploy.operations import Whole

#: A multiplier with fewer bits would be less precise than a 16-bit state.
_FEWEST_BITS = 16
_LARGEST_SHIFT = 62


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Factors f_i as M_i / 2^shift.

    Attributes:
        values: M of each term: one number, (1,), or one for each row, (rows,); below 2^31.
        shift: 1 to 62.
        error: the largest |sum_i a_i (M_i / 2^shift - f_i)| for |a_i| within the bounds: the error that rounding the
            factors causes, in units of the result.
    """

    values: tuple[Whole, ...]
    shift: int
    error: float

    @property
    def numbers(self) -> int:
        """How many multipliers have to be stored."""
        return sum(len(values) for values in self.values)


def multipliers(factors: Sequence[Sequence[Fraction]], bounds: Sequence[int], what: str) -> Multipliers:
    """Return M = floor(f 2^shift + 1/2) for the largest shift with M < 2^31 and sum_i |a_i| M_i + 2^(shift - 1) < 2^63.

    A factor that is a power of two is represented exactly: 1 is 2^shift / 2^shift.

    Args:
        factors: for each term one positive factor, or one for each row.
        bounds: the largest |a| of each term.
        what: the name of the result, for error messages.

    Raises:
        ValueError: no shift is possible, or it leaves too few bits for the multipliers.

    >>> two = multipliers([[Fraction(1)], [Fraction(1, 3)]], [2**15, 2**20], "z")
    >>> two.values, two.shift
    ((array([1073741824]), array([357913941])), 30)
    """
    largest = max(max(row) for row in factors)
    for shift in range(_LARGEST_SHIFT, 0, -1):
        if largest * 2**shift >= 2**31:
            continue
        values = [[(f * 2**shift + Fraction(1, 2)).__floor__() for f in row] for row in factors]
        total = sum(bound * max(row) for bound, row in zip(bounds, values, strict=True)) + 2 ** (shift - 1)
        if max(map(max, values)) < 2**31 and total < 2**63:
            break
    else:
        raise ValueError(
            f"{what}: it cannot be rescaled with a 32-bit multiplier, "
            "its scale is more than 2^30 times finer than its sums: use fewer state bits"
        )
    widest = max(map(max, values)).bit_length()
    if widest < _FEWEST_BITS and largest * 2**shift < 2**_FEWEST_BITS and shift < _LARGEST_SHIFT:
        raise ValueError(
            f"{what}: its sums may need {max(bounds).bit_length() + 1} bits, which leaves {widest} for the multiplier "
            f"that rescales them, fewer than {_FEWEST_BITS}: give weights or state fewer bits"
        )
    error = sum(
        bound * max(abs(Fraction(v, 2**shift) - f) for v, f in zip(row, exact, strict=True))
        for bound, row, exact in zip(bounds, values, factors, strict=True)
    )
    return Multipliers(tuple(np.array(row, np.int64) for row in values), shift, float(error))
