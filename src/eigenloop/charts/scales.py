"""Axes: round ticks for a range of values, and positions between 0 and 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from eigenloop.text.durations import time_unit
from eigenloop.text.typography import power, quantity

#: Larger values are never drawn: a loss of 1e35 has diverged, and sums of such numbers overflow.
HUGE = 1e30
#: The least factor that a logarithmic axis spans, so that it has two ticks of 1, 2, 5, 10; and the largest.
NARROWEST, WIDEST = 5.0, 1e12
#: An axis is logarithmic if the ratio of the largest to the smallest value is above this.
LOGARITHMIC = 20.0
#: Spikes are cut off at this multiple of the 95th percentile: on a linear axis they then take three quarters of the
#: height, on a logarithmic one a decade and a half.
SPIKE, LOG_SPIKE = 4.0, 30.0
#: The free space above and below the curves, as a fraction of the height.
ROOM = 0.06


@dataclass(frozen=True)
class Tick:
    """A tick of an axis; the label may be empty."""

    value: float
    label: str


@dataclass(frozen=True)
class Scale:
    """A linear or logarithmic axis from `low` to `high`; values are shown in multiples of `unit`."""

    low: float
    high: float
    log: bool
    ticks: tuple[Tick, ...]
    unit: float = 1.0

    def at(self, value: float) -> float | None:
        """Return the position of a value, 0 at `low` and 1 at `high`; None for value <= 0 on a logarithmic axis."""
        if not self.log:
            return (value - self.low) / (self.high - self.low)
        if value <= 0:
            return None
        return math.log(value / self.low) / math.log(self.high / self.low)


def linear(low: float, high: float, count: int = 5) -> Scale:
    """Return a linear axis with about `count` ticks; an empty range is widened."""
    low, high = (min(max(end, -HUGE), HUGE) for end in (low, high))
    size = max(abs(low), abs(high))
    if high - low <= 1e-6 * size or size < 1e-30:
        half = 0.5 * size if size >= 1e-30 else 0.5
        low, high = low - half, high + half
    ticks = linear_ticks(low, high, count)
    return Scale(low, high, False, tuple(Tick(value, quantity(value, 6)) for value in ticks))


def logarithmic(low: float, high: float) -> Scale:
    """Return a logarithmic axis; its range is limited to factors from `NARROWEST` to `WIDEST`."""
    high = min(max(high, 1e-30), HUGE)
    low = min(max(low, high / WIDEST), high)
    if high / low < NARROWEST:
        factor = math.sqrt(NARROWEST / (high / low)) * 1.001
        low, high = low / factor, high * factor
    return Scale(low, high, True, tuple(log_ticks(low, high)))


def duration(seconds: float) -> tuple[Scale, str]:
    """Return an axis from 0 to a time, with ticks in a suitable unit, and the name of the unit."""
    unit, name = time_unit(seconds)
    ticks = linear(0.0, seconds / unit).ticks
    return Scale(0.0, seconds, False, tuple(Tick(tick.value * unit, tick.label) for tick in ticks), unit), name


def fitting(
    values: Sequence[float], references: Sequence[float] = (), *, most: float | None = None, log: bool | None = None
) -> Scale:
    """Return the vertical axis of curves with these values.

    Spikes are cut off. The rest is drawn on a logarithmic axis if it is never below zero and spans more than a factor
    of LOGARITHMIC; a linear axis begins at 0 if that costs less than half of the height.

    Args:
        values: the values of the curves.
        references: values of reference lines, which are never cut off.
        most: the largest possible value (1 for an accuracy); such quantities have a linear axis.
        log: whether the axis is logarithmic; default: the values decide.
    """
    references = [value for value in references if abs(value) <= HUGE]
    everything = [*(value for value in values if abs(value) <= HUGE), *references]
    if not everything:
        return linear(0.0, 1.0)
    positive = [value for value in everything if value > 0]
    usual = max(quantile(everything, 0.95), *references, quantile(everything, 0.5))
    low, largest = min(everything), max(everything)
    high = min(largest, SPIKE * usual) if usual > 0 else largest
    if log is None:
        enough = len(positive) >= 0.9 * len(everything)
        log = most is None and low >= 0 and enough and high / min(positive) > LOGARITHMIC
    if log and positive:
        return _padded_log(min(positive), min(largest, LOG_SPIKE * usual) if usual > 0 else largest)
    if 0 <= low < 0.5 * high:
        low = 0.0
    room = ROOM * (high - low)
    top = most if most is not None and 0.9 * most < high <= most else high + room
    return linear(low if low == 0 else low - room, top)


def _padded_log(low: float, high: float) -> Scale:
    low = max(low, high / WIDEST)
    room = max((high / low) ** ROOM, 1.05)
    return logarithmic(low / room, high * room)


def linear_ticks(low: float, high: float, count: int = 5) -> list[float]:
    """Return multiples of 1, 2, 5 or 25 times a power of ten between `low` and `high`.

    >>> linear_ticks(0, 4000)
    [0.0, 1000.0, 2000.0, 3000.0, 4000.0]
    """
    rough = (high - low) / count
    exponent = math.floor(math.log10(rough))
    digits = (1, 2, 2.5, 5, 10) if exponent > 0 else (1, 2, 5, 10)
    digit = next(d for d in digits if d * 10.0**exponent >= rough * (1 - 1e-9))
    # Dividing by an integer power of ten gives the float closest to 0.3; multiplying by 0.1 does not.
    up, down = (10.0**exponent, 1.0) if exponent >= 0 else (1.0, 10.0**-exponent)
    step = digit * up / down
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    ticks = [k * digit * up / down for k in range(first, last + 1)]
    return [min(max(tick, low), high) for tick in ticks]


def log_ticks(low: float, high: float) -> list[Tick]:
    """Return ticks at powers of ten, or at 1, 2, 5 times them if there are too few; some have no label."""
    exponents = range(math.floor(math.log10(low)) - 1, math.ceil(math.log10(high)) + 2)
    decades = [k for k in exponents if low <= 10.0**k <= high]
    if len(decades) < 2:
        values = [digit * 10.0**k for k in exponents for digit in (1, 2, 5)]
        return [Tick(value, quantity(value)) for value in values if low <= value <= high]
    every = 1 + (len(decades) - 1) // 6
    if every > 1:
        return [Tick(10.0**k, power(k) if k % every == 0 else "") for k in decades]
    between = [Tick(digit * 10.0**k, "") for k in exponents for digit in range(2, 10)] if len(decades) < 4 else []
    marks = [Tick(10.0**k, power(k)) for k in decades] + [tick for tick in between if low <= tick.value <= high]
    return sorted(marks, key=lambda tick: tick.value)


def quantile(values: Sequence[float], fraction: float) -> float:
    """Return the value below which a fraction of the values lies."""
    ordered = sorted(values)
    return ordered[min(int(fraction * len(ordered)), len(ordered) - 1)]
