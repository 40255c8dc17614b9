"""Inputs as a device has them: integer counts of a sensor instead of values in the units of a data file.

A network that was trained on (v - mean) / scale takes counts c = v f with the mean and scale multiplied by f. Both are
folded into one multiplication, one addition and one shift per channel; see docs/integers.md, "Input and read-out".
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenloop.deploy.describing import Real
from eigenloop.deploy.inputs import Values, values_for
from eigenloop.deploy.network import IntegerNetwork

#: Counts per code, at least; rounding to counts then moves an input by at most 1/8 of a code.
_OF_A_CODE = 4
#: The largest count of the training data: int32 leaves a factor of four for larger values on the device.
_LARGEST = 2**29


def in_counts(network: IntegerNetwork, counts: ArrayLike) -> IntegerNetwork:
    """Return the network for integer inputs, round(counts * value), instead of values.

    Args:
        network: one that takes values; it is not changed.
        counts: counts per unit of the values, for each channel, (channels,), or one number for all.

    Raises:
        ValueError: the network takes tokens, or `counts` is not positive or has another shape.
    """
    inputs = network.inputs
    if not isinstance(inputs, Values):
        raise ValueError("this network takes tokens, which are whole numbers already: leave out counts")
    factors = np.asarray(counts, np.float64)
    if factors.shape not in ((), inputs.mean.shape) or not (np.isfinite(factors) & (factors > 0)).all():
        raise ValueError(
            f"counts is one number above zero, or one for each of the {len(inputs.mean)} channels, got {counts!r}"
        )
    entered = values_for(inputs.format, inputs.mean * factors, inputs.scale * factors, counts=True)
    return dataclasses.replace(network, inputs=entered)


def usual_counts(network: IntegerNetwork, X: ArrayLike) -> Real:
    """Return counts per unit for each channel: 1 if all values of X are integers, else a large enough power of ten.

    Args:
        network: one that takes values.
        X: values of the training split, (..., channels).
    """
    inputs = network.inputs
    assert isinstance(inputs, Values)
    values = np.asarray(X, np.float64).reshape(-1, len(inputs.mean))
    code = inputs.format.step * inputs.scale
    return np.array([_counts(channel, float(width)) for channel, width in zip(values.T, code, strict=True)])


def _counts(values: NDArray[np.float64], code: float) -> float:
    """Return counts per unit for a channel such that values that differ by `code` differ in counts.

    If a channel varies little around a large value, that may exceed 32 bits. The largest power that fits is then still
    finer than the 24 bits of float32, in which sequences are stored.
    """
    integers = bool((values == np.rint(values)).all())
    power = 0 if integers else max(0, math.ceil(math.log10(_OF_A_CODE / code)))
    if largest := float(np.abs(values).max(initial=0.0)):
        power = min(power, math.floor(math.log10(_LARGEST / largest)))
    return 10.0**power
