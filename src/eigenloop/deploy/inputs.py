"""Convert inputs to codes: real values, counts of a sensor, or tokens."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.describing import Real
from eigenloop.deploy.formats import Format
from eigenloop.deploy.operations import Whole, counted
from eigenloop.deploy.packing import packed

#: The largest count that a device may give: an int32.
_LARGEST_COUNT = 2**31


@dataclass(frozen=True, eq=False)
class Values:
    """Inputs that are measured values v; the network takes the codes of (v - mean) / scale.

    Attributes:
        format: of the codes.
        mean, scale: (channels,), in the units of the values; 0 and 1 if the values are not normalised.
        counts: whether values are given as integers, so that a device needs only the operation `counted`.
        multiplier, offset, shift: the constants of `counted`; the first two for each channel, (channels,).
    """

    format: Format
    mean: Real
    scale: Real
    counts: bool
    multiplier: Whole
    offset: Whole
    shift: int

    def codes(self, x: NDArray[np.generic]) -> Whole:
        """Return the codes of values, (..., channels); integers are converted as on a device, by `counted`."""
        if np.issubdtype(x.dtype, np.integer):
            form = self.format
            return counted(x.astype(np.int64), self.multiplier, self.offset, self.shift, form.low, form.high)
        values = np.asarray(x, np.float64)
        return self.format.codes((values - self.mean) / self.scale)

    def normalised(self, x: NDArray[np.generic]) -> Real:
        """Return the real input of the first layer, (x - mean) / scale."""
        values: Real = (np.asarray(x, np.float64) - self.mean) / self.scale
        return values


def values_for(form: Format, mean: Real, scale: Real, counts: bool) -> Values:
    """Return inputs with mean, scale and step of each channel folded into a multiplication, an addition and a shift.

    M = 2^r / (scale step) < 2^31 and A = 2^(r - 1) - mean M, both rounded to the nearest integer.

    Raises:
        ValueError: the scale of a channel is too small for the step.
    """
    factors = [1 / (Fraction(float(s)) * form.exact_step) for s in scale]
    means = [Fraction(float(m)) for m in mean]
    half = Fraction(1, 2)
    for shift in range(62, 0, -1):
        multiplier = [(f * 2**shift + half).__floor__() for f in factors]
        offset = [(2 ** (shift - 1) - m * f * 2**shift + half).__floor__() for m, f in zip(means, factors, strict=True)]
        largest = max(abs(a) + _LARGEST_COUNT * M for a, M in zip(offset, multiplier, strict=True))
        if max(multiplier) < 2**31 and largest < 2**63:
            break
    else:
        raise ValueError(
            f"the scale {scale.min():.3g} of an input channel is too small for the quantization step {form.step:.3g}: "
            "check the data, or leave out a constant channel"
        )
    return Values(form, mean, scale, counts, np.array(multiplier, np.int64), np.array(offset, np.int64), shift)


@dataclass(frozen=True, eq=False)
class Tokens:
    """Inputs that are tokens: a table with the codes of every token's vector.

    Attributes:
        format: of the codes.
        table: (tokens, channels).
        shared: whether the read-out has the same codes (tied weights), so that they are stored once.
    """

    format: Format
    table: Whole
    shared: bool

    def codes(self, x: NDArray[np.generic]) -> Whole:
        """Return the codes of tokens: (...) gives (..., channels).

        Raises:
            TypeError: the tokens are not integers.
            ValueError: a token is out of range.
        """
        if not np.issubdtype(x.dtype, np.integer):
            raise TypeError(f"this network takes tokens, whole numbers below {len(self.table)}, got {x.dtype}")
        if x.size and (x.min() < 0 or x.max() >= len(self.table)):
            raise ValueError(f"tokens are 0 to {len(self.table) - 1}, got {x.min()} to {x.max()}")
        return self.table[x]

    def normalised(self, x: NDArray[np.generic]) -> Real:
        """Return the tokens' vectors as real numbers."""
        return self.format.real(self.codes(x))

    def packed(self) -> NDArray[np.uint8]:
        """Return the table as it is stored on a device."""
        return packed(self.table, self.format.bits)
