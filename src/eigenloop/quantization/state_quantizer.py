"""Bit widths and ranges with which a layer rounds its input, state and gates. The rounding: `recurrence.rounding`."""

from __future__ import annotations

import math
from dataclasses import dataclass

from torch import Tensor

from eigenloop import bit_widths

_LEAST_RANGE = 2.0**-20


@dataclass(frozen=True)
class StateQuantizer:
    """How a layer rounds its input, state and gates at every time step.

    A range R gives the step R / 2^(b-1): values lie between -R and R minus one step. Gates and tanh have fixed ranges;
    the input of the first layer, an unbounded state and the cell of an LSTM have the initial ranges given here, which
    `quantization.calibrate_` replaces by ranges chosen from data.

    Attributes:
        bits: b, 6 to 16.
        learned: train the ranges with the weights (LSQ, Esser et al. 2020); otherwise they are fixed.
        power_of_two: round every range up to a power of two, so that a device rescales by shifts.
        input_range: initial R of the input.
        state_range: initial R of the state, or of the cell of an LSTM.
    """

    bits: int
    learned: bool = True
    power_of_two: bool = False
    input_range: float = 4.0
    state_range: float = 4.0

    def __post_init__(self) -> None:
        bit_widths.STATE.checked(self.bits, "state_bits")
        for name in ("input_range", "state_range"):
            value = getattr(self, name)
            if not (value >= _LEAST_RANGE and math.isfinite(value)):
                raise ValueError(f"{name} is a positive number of at least {_LEAST_RANGE:.1g}, got {value!r}")

    def step(self, range: Tensor, units: int) -> Tensor:
        """Return the step for a range; the range's gradient is divided by sqrt(units 2^(b-1)), LSQ's section 2.2."""
        half = 2 ** (self.bits - 1)
        used = range.detach().clamp_min(_LEAST_RANGE)
        size = (used.log2().ceil().exp2() if self.power_of_two else used) / half
        if not range.requires_grad:
            return size
        # The difference is zero; it only passes the gradient around the non-differentiable rounding.
        return size + (range - range.detach()) / (half * math.sqrt(units * half))

    def range_for(self, largest: float) -> float:
        """Return the range whose largest value is at least `largest`."""
        half = 2 ** (self.bits - 1)
        return max(largest * half / (half - 1), _LEAST_RANGE)


def made_state_quantizer(state_bits: int | StateQuantizer | None) -> StateQuantizer | None:
    """Return the quantizer for a layer's `state_bits`; None for floating point."""
    if state_bits is None or isinstance(state_bits, StateQuantizer):
        return state_bits
    return StateQuantizer(state_bits)
