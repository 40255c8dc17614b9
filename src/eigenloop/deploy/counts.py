"""Inputs as a device has them: whole counts of a sensor, in place of values in the units of a file.

A network that was trained on (v - mean) / scale takes counts c = v f with mean f and scale f in their place; docs/
integers.md, "Input and read-out", folds both into one multiplication, one addition and one shift of each channel.
"""

from __future__ import annotations

import dataclasses
import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from eigenloop.deploy.describing import Real
from eigenloop.deploy.inputs import Values, values_for
from eigenloop.deploy.network import IntegerNetwork

#: A count is at most this part of a code, so that rounding to counts moves a code by at most half of it.
_OF_A_CODE = 4
#: Of int32: what was measured may be exceeded fourfold.
_LARGEST = 2**29


def in_counts(network: IntegerNetwork, counts: ArrayLike) -> IntegerNetwork:
    """Return the network for whole inputs, round(counts * value), in place of values.

    Args:
        network: one that takes values; it is left as it is.
        counts: how many counts one unit of the values is, for each channel, (channels,), or one number for all.
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
    """Return counts for each channel: 1 where all values of X are whole, else a power of ten that is fine enough.

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
    """Return the counts of a channel in which the network tells values apart that differ by `code`.

    Where a channel varies little around a large value that may be more than 32 bits hold. The finest that fits then
    tells more apart than the 24 bits of float32, in which sequences are kept.
    """
    whole = bool((values == np.rint(values)).all())
    power = 0 if whole else max(0, math.ceil(math.log10(_OF_A_CODE / code)))
    if largest := float(np.abs(values).max(initial=0.0)):
        power = min(power, math.floor(math.log10(_LARGEST / largest)))
    return 10.0**power
