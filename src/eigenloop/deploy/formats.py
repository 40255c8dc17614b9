"""The fixed-point format of a real quantity: its width in bits and its quantization step."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from eigenloop.deploy.operations import Whole, quantized


@dataclass(frozen=True)
class Format:
    """Codes -2^(bits - 1) .. 2^(bits - 1) - 1, each standing for code * step.

    Attributes:
        name: of the quantity, such as ``state of layer 0``.
        bits: the width; stored as int8 up to 8, as int16 above.
        step: the value of code 1.
        range: the largest magnitude for which the step was chosen.
        low, high: the smallest and the largest code that can occur, such as 0 after ReLU.
    """

    name: str
    bits: int
    step: float
    range: float
    low: int
    high: int

    @property
    def exact_step(self) -> Fraction:
        """The step as an exact rational number."""
        return Fraction(self.step)

    @property
    def largest(self) -> int:
        """The largest magnitude of a code."""
        return max(-self.low, self.high)

    @property
    def bytes(self) -> int:
        """Bytes of one code: 1 (int8) or 2 (int16)."""
        return 1 if self.bits <= 8 else 2

    @property
    def dtype(self) -> type[np.int8] | type[np.int16]:
        """The NumPy type that holds a code."""
        return np.int8 if self.bits <= 8 else np.int16

    def codes(self, values: NDArray[np.float64]) -> Whole:
        """Return the codes of real values, rounded and saturated."""
        return quantized(values, self.step, self.low, self.high)

    def real(self, codes: Whole) -> NDArray[np.float64]:
        """Return the real values of codes."""
        return np.asarray(codes * self.step, np.float64)


def format_for(name: str, bits: int, largest: float, power_of_two: bool = False, positive: bool = False) -> Format:
    """Return the format in which a magnitude has the highest code: step = largest / (2^(bits - 1) - 1).

    Args:
        name: of the quantity.
        bits: the width.
        largest: the magnitude; 1 is used in place of zero.
        power_of_two: round the step up to a power of two.
        positive: whether no code is negative, as after ReLU.

    Raises:
        ValueError: `largest` is not finite.

    >>> format_for("state", 8, 127.0).step, format_for("state", 8, 130.0, power_of_two=True).step
    (1.0, 2.0)
    """
    if not math.isfinite(largest):
        raise ValueError(
            f"the {name} reaches {largest} on the calibration data: the network diverges there. Check the "
            "data, or train again"
        )
    step = (largest if largest > 0 else 1.0) / (2 ** (bits - 1) - 1)
    if power_of_two:
        step = 2.0 ** math.ceil(math.log2(step))
    low = 0 if positive else -(2 ** (bits - 1))
    return Format(name, bits, step, largest, low, 2 ** (bits - 1) - 1)


def unit_format(name: str, bits: int) -> Format:
    """Return the format with step 2^-(bits - 1) for values in [-1, 1]; 1 itself becomes 1 - 2^-(bits - 1)."""
    half = 2 ** (bits - 1)
    return Format(name, bits, 1 / half, 1.0, -half, half - 1)
