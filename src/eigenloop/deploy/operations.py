"""The elementary operations of integer networks, one function each; such a network uses no other arithmetic.

All values are integers. Arrays are int64 here, so that nothing overflows before a test can see it; which of them fit
into 8, 16 or 32 bits is proved when a network is built (`eigenloop.deploy.sums`), and C uses those widths.

Note [Halves go up]
    There is one rounding rule: to the nearest integer, halves towards plus infinity, floor(v + 1/2). In C it is one
    addition and one arithmetic shift, without a branch or a division, the same for both signs. It commutes with adding
    integers, so an identity part or 1 - u can be added before or after rounding with the same result. Rounding halves
    away from zero would need the sign first; halves matter little here, because a 31-bit multiplier almost never
    produces one. For odd functions (modReLU, tanh) the absolute value is rounded and the sign restored, so that they
    stay odd.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

#: An array of integers; see the module's docstring.
Whole = NDArray[np.int64]
#: float64 represents every integer below this exactly, and so every partial sum of a product that stays below it.
_EXACT = 2**53


def shifted(value: Whole, shift: int) -> Whole:
    """Divide by a power of two: floor(value / 2^shift + 1/2); see Note [Halves go up].

    >>> shifted(np.array([-6, -5, 5, 6, 7]), 2)
    array([-1, -1,  1,  2,  2])
    """
    return value if shift == 0 else (value + (1 << (shift - 1))) >> shift


def accumulated(terms: Sequence[tuple[Whole, Whole]]) -> Whole:
    """Return sum_i a_i M_i, values times their multipliers, in 64 bits; `shifted` comes next."""
    total = terms[0][0] * terms[0][1]
    for value, multiplier in terms[1:]:
        total = total + value * multiplier
    return total


def rescaled(value: Whole, multiplier: Whole, shift: int) -> Whole:
    """Multiply by M / 2^shift: floor(value M / 2^shift + 1/2).

    >>> rescaled(np.array([10, -10]), np.int64(3), 2)
    array([ 8, -7])
    """
    return shifted(value * multiplier, shift)


def saturated(value: Whole, low: int, high: int) -> Whole:
    """Return values clipped to `low` .. `high`."""
    return np.clip(value, low, high)


def quantized(values: NDArray[np.float64], step: float, low: int, high: int) -> Whole:
    """Return the codes of real values: floor(v / step + 1/2), saturated; the quotient is a float64.

    This is the only operation on real numbers; a device whose sensor gives integers uses `counted` instead.

    >>> quantized(np.array([-9.0, -0.26, 0.25, 9.0]), 0.5, -8, 7)
    array([-8, -1,  1,  7])
    """
    rounded = np.floor(values / step + 0.5)
    return np.clip(rounded, low, high).astype(np.int64)


def counted(counts: Whole, multiplier: Whole, offset: Whole, shift: int, low: int, high: int) -> Whole:
    """Return the codes of counts of a sensor: floor((x M + A) / 2^shift), saturated.

    A = 2^(shift - 1) - mean M subtracts the channel's mean and adds the half for rounding.
    """
    return np.clip((counts * multiplier + offset) >> shift, low, high)


def product(codes: Whole, q: Whole, bias: Whole | None, largest: int) -> Whole:
    """Return the sums b_i + sum_j c_ij q_j of a batch: (rows, columns) and (B, columns) give (B, rows).

    Args:
        codes: c.
        q: the codes by which it is multiplied.
        bias: b, (rows,) or None.
        largest: a bound of sum_j |c_ij q_j|. Below 2^53 the product is computed in float64, where it is exact for any
            order of the terms, and thousands of times faster than NumPy's integer product.

    >>> product(np.array([[1, -2]]), np.array([[5, 3]]), np.array([4]), 11)
    array([[3]])
    """
    if largest < _EXACT:
        total = (q.astype(np.float64) @ codes.astype(np.float64).T).astype(np.int64)
    else:
        total = q.astype(np.int64) @ codes.astype(np.int64).T
    return total if bias is None else total + bias


def linear(total: Whole, shift: int) -> Whole:
    """Return the rounded pre-activation."""
    return shifted(total, shift)


def relu(total: Whole, shift: int) -> Whole:
    """Return max(z, 0) of the rounded pre-activation z."""
    return np.maximum(shifted(total, shift), 0)


def leaky_relu(total: Whole, shift: int, slope: int, slope_shift: int) -> Whole:
    """Return z if z >= 0, else floor(z M / 2^s + 1/2), where M / 2^s is the slope.

    z is the rounded pre-activation, saturated to 32 bits so that the second product fits into 64.
    """
    z = saturated(shifted(total, shift), -(2**31), 2**31 - 1)
    return np.where(z >= 0, z, shifted(z * slope, slope_shift))


def modrelu(total: Whole, threshold: Whole, shift: int) -> Whole:
    """Return sign(a) floor(max(|a| + t, 0) / 2^shift + 1/2): the threshold is added before rounding.

    Args:
        total: a, before the shift.
        threshold: t, modReLU's b on the scale of a.
        shift: from the scale of a to that of the state.

    >>> modrelu(np.array([-40, -6, 0, 6, 40]), np.int64(-8), 3)
    array([-4,  0,  0,  0,  4])
    """
    return np.sign(total) * shifted(np.maximum(np.abs(total) + threshold, 0), shift)


def tanh(v: Whole, entries: Whole, range_bits: int) -> Whole:
    """Return 2^15 times the tanh of v / 2^16, by linear interpolation in a table (`eigenloop.deploy.table`).

    With a = min(|v|, R 2^16 - 1), R = 2^range_bits, 2^p + 1 entries and s = 16 + range_bits - p:
    i = a >> s, f = a - i 2^s, and the value is sign(v) floor((t_i (2^s - f) + t_{i+1} f) / 2^s + 1/2).
    """
    s = 16 + range_bits - (len(entries) - 1).bit_length() + 1
    a = np.minimum(np.abs(v), (1 << (16 + range_bits)) - 1)
    i = a >> s
    f = a - (i << s)
    return np.sign(v) * shifted(entries[i] * ((1 << s) - f) + entries[i + 1] * f, s)


def sigmoid(v: Whole, entries: Whole, range_bits: int, bits: int) -> Whole:
    """Return a gate, 2^(bits - 1) times the sigmoid of 2 v / 2^16, from 0 to 2^(bits - 1) inclusive.

    sigmoid(z) = (1 + tanh(z / 2)) / 2, so v is half of the pre-activation and the table is that of tanh:
    floor((tanh + 2^15) / 2^(17 - bits) + 1/2).
    """
    return shifted(tanh(v, entries, range_bits) + (1 << 15), 17 - bits)


def piecewise_tanh(v: Whole, bits: int) -> Whole:
    """Return 2^(bits - 1) times v / 2^16; the caller saturates it to [-1, 1].

    >>> piecewise_tanh(np.array([-(2**15), 2**16]), 8)
    array([-64, 128])
    """
    return shifted(v, 17 - bits)


def piecewise_sigmoid(v: Whole, bits: int) -> Whole:
    """Return a gate, 2^(bits - 1) times (v / 2^16 + 1) / 2, saturated to 0 .. 2^(bits - 1) inclusive.

    >>> piecewise_sigmoid(np.array([-(2**17), 0, 2**15, 2**16]), 8)
    array([  0,  64,  96, 128])
    """
    return saturated(shifted(v + (1 << 16), 18 - bits), 0, 1 << (bits - 1))


def complement(gate: Whole, bits: int) -> Whole:
    """Return 1 - u exactly: 2^(bits - 1) - u."""
    return (1 << (bits - 1)) - gate


def gated(gate: Whole, value: Whole, bits: int) -> Whole:
    """Return floor(r h / 2^(bits - 1) + 1/2), a gate times a value, on the scale of the value."""
    return shifted(gate * value, bits - 1)


def blended(gate: Whole, kept: Whole, other: Whole, bits: int) -> Whole:
    """Return u k + (1 - u) o, rounded once: floor((u k + (2^(bits - 1) - u) o) / 2^(bits - 1) + 1/2).

    A weighted mean of two codes never leaves their range, so nothing saturates; with u = 1 the result is exactly k.
    """
    return shifted(gate * kept + complement(gate, bits) * other, bits - 1)
