"""Sums b + C q of codes, and the proof that they do not overflow.

Note [Why no sum overflows]
    Every q_j is a code between `low` and `high`, which include 0. So the largest value of b_i + sum_j c_ij q_j is
    b_i + sum_j max(c_ij low, c_ij high), and the smallest has min in place of max; both are attained, by taking `low`
    or `high` for each q_j. Summation starts from b_i, and every term's largest value is at least 0 and its smallest at
    most 0, so partial sums stay within the same bounds, whatever the order. If the bounds fit into int32, the sum is an
    int32; otherwise it is an int64, and the report shows that.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.formats import Format
from eigenloop.deploy.operations import Whole, product
from eigenloop.deploy.packing import packed
from eigenloop.deploy.statistics import Statistics
from eigenloop.quantization import Codes

#: Larger sums could not be multiplied by a multiplier in 64 bits.
_LARGEST = 2**47


@dataclass(frozen=True, eq=False)
class Sum:
    """b_i + sum_j c_ij q_j for every row i.

    Attributes:
        name: of the matrix, as in `network_codes`.
        codes: c, (rows, columns); None for the identity, whose sum is q_i itself.
        bits: width of a code.
        operand: the format of q.
        units: the value of a sum of 1: one number, or one for each row.
        bias: b, (rows,), or None.
        bias_error: the largest distance of b from the real bias, in units of the sum.
        widen: whether int64 is allowed.
    """

    name: str
    codes: Whole | None
    bits: int
    operand: Format
    units: tuple[Fraction, ...]
    bias: Whole | None = None
    bias_error: float = 0.0
    widen: bool = True

    def __post_init__(self) -> None:
        low, high = self.bounds
        if self.width == 64 and not self.widen:
            raise ValueError(
                f"{self.name}: its sums reach from {low:,} to {high:,}, beyond int32: give weights or state fewer "
                "bits, or allow int64 with widen=True"
            )
        if max(-low, high) >= _LARGEST:
            raise ValueError(
                f"{self.name}: its sums reach {max(-low, high):,}: use fewer bits for weights or state, or fewer units"
            )

    @cached_property
    def row_bounds(self) -> tuple[Whole, Whole]:
        """The smallest and the largest possible sum of every row; see Note [Why no sum overflows]."""
        form = self.operand
        if self.codes is None:
            low, high = np.array([form.low]), np.array([form.high])
        else:
            low = np.minimum(self.codes * form.low, self.codes * form.high).sum(1)
            high = np.maximum(self.codes * form.low, self.codes * form.high).sum(1)
        return (low, high) if self.bias is None else (low + self.bias, high + self.bias)

    @cached_property
    def bounds(self) -> tuple[int, int]:
        """The smallest and the largest possible value over all rows, 0 included."""
        low, high = self.row_bounds
        # 0 is always included, even if every bias is far from it.
        return min(int(low.min()), 0), max(int(high.max()), 0)

    @property
    def largest(self) -> int:
        """The largest possible magnitude of a sum."""
        return max(-self.bounds[0], self.bounds[1])

    @property
    def width(self) -> int:
        """Bits of the integer that holds a sum: 32 or 64."""
        return 32 if self.bounds[0] >= -(2**31) and self.bounds[1] < 2**31 else 64

    @cached_property
    def _without_bias(self) -> int:
        return 0 if self.codes is None else int(np.abs(self.codes).sum(1).max()) * self.operand.largest

    def __call__(self, q: Whole, watch: Statistics | None = None) -> Whole:
        """Return the sums of a batch: (B, columns) gives (B, rows)."""
        if self.codes is None:
            total = q if self.bias is None else q + self.bias
        else:
            total = product(self.codes, q, self.bias, self._without_bias)
        if watch is not None:
            watch.note(self.name, total)
        return total

    @property
    def products(self) -> int:
        """The number of multiplications of a code by a code."""
        return 0 if self.codes is None else self.codes.size

    @property
    def bias_bits(self) -> int:
        """The narrowest of 8, 16, 32 and 64 bits that holds every bias; 0 without a bias."""
        return 0 if self.bias is None else width_of(self.bias)

    def packed(self) -> NDArray[np.uint8]:
        """Return the codes as they are stored on a device."""
        assert self.codes is not None
        return packed(self.codes, self.bits)

    def factors(self, step: Fraction) -> tuple[Fraction, ...]:
        """Return the factors from a sum to multiples of `step`, one or one for each row."""
        return tuple(unit / step for unit in self.units)


def width_of(values: Whole) -> int:
    """Return the narrowest of 8, 16, 32 and 64 bits that holds all values."""
    low, high = int(values.min()), int(values.max())
    return next(bits for bits in (8, 16, 32, 64) if -(2 ** (bits - 1)) <= low and high < 2 ** (bits - 1))


def units_of(codes: Codes, operand: Format) -> tuple[Fraction, ...]:
    """Return the value of a sum of 1, step * operand's step / divisor, for the matrix or for each row."""
    divisor = Fraction(1) if codes.divisor is None else Fraction(float(codes.divisor))
    return tuple(Fraction(step) * operand.exact_step / divisor for step in codes.step.double().reshape(-1).tolist())


def on_scale(values: NDArray[np.float64], units: tuple[Fraction, ...]) -> tuple[Whole, float]:
    """Return real biases rounded to integers on the scale of a sum, and the largest rounding error in its units.

    Raises:
        ValueError: a bias is too large for the scale.
    """
    scale = np.array([float(unit) for unit in units])
    exact = values / scale
    rounded = np.floor(exact + 0.5)
    if not np.all(np.abs(rounded) < _LARGEST):
        raise ValueError(
            f"a bias of {np.abs(values).max():.3g} is too large for the scale of its sum, {scale.min():.3g}: check "
            "that the calibration data are not all zero"
        )
    return rounded.astype(np.int64), float(np.abs(rounded - exact).max(initial=0.0))


def sum_of(
    name: str,
    codes: Codes | None,
    operand: Format,
    bias: NDArray[np.float64] | None = None,
    widen: bool = True,
) -> Sum:
    """Return the sum of a coded matrix (None is the identity) times an operand, plus a real bias."""
    units = (operand.exact_step,) if codes is None else units_of(codes, operand)
    rounded, error = (None, 0.0) if bias is None else on_scale(bias, units)
    numbers = None if codes is None else codes.numbers.cpu().numpy().astype(np.int64)
    return Sum(name, numbers, 0 if codes is None else codes.bits, operand, units, rounded, error, widen)
