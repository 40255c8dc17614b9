"""The table of tanh, which also gives the sigmoid.

One table serves all layers and gates: tanh is odd and sigmoid(z) = (1 + tanh(z / 2)) / 2, so tanh on [0, R] is enough.
Between entries it is linear. With d = R / 2^p the distance of the entries i = 0 .. 2^p and y = tanh(i d),

    t_i = floor(2^15 (y + d^2 / 8 y (1 - y^2)) + 1/2), at most 2^15, as uint16.

Note [Entries are raised]
    A chord of a concave function lies below it, by at most m d^2 / 8 if the second derivative is at most m in
    magnitude. Each entry is raised by half of that at its place, d^2 / 16 * 2 y (1 - y^2), so that the error has both
    signs. Between two entries where the second derivative is from m' to m in magnitude, the error is then between
    -m d^2 / 16 and (2 m - m') d^2 / 16, and m - m' <= 2 d because the third derivative of tanh is at most 2. So

        |error of tanh| <= max(d^2 / 16 (4 / (3 sqrt 3) + 2 d), 1 - tanh(R)) + 2^-16 + 2^-16

    where the maximum is over the error of the chord (4 / (3 sqrt 3) is the largest second derivative) and that beyond
    the last entry, and the other terms are the rounding of an entry and of the result.

R and p are the smallest for which these two errors stay below a quarter of a code of b bits, with at most 257 entries:
33 entries for 8 bits, 129 for 11, 257 from 12 on. At 16 bits the chord's error is 1.7 codes.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from eigenloop.deploy.operations import Whole

#: The largest |tanh''|, at tanh(z) = 1 / sqrt 3.
_CURVATURE = 4 / (3 * math.sqrt(3))
#: A table has 2^p + 1 entries, p at most this.
_MOST = 8


@dataclass(frozen=True, eq=False)
class Table:
    """tanh on [0, R] in 2^p + 1 entries.

    Attributes:
        entries: 2^15 tanh, raised as in Note [Entries are raised]; from 0 to 2^15.
        range_bits: log2 R.
    """

    entries: Whole
    range_bits: int

    @property
    def bytes(self) -> int:
        """The size of the table, two bytes per entry."""
        return 2 * len(self.entries)

    @property
    def error(self) -> float:
        """A bound of the error of tanh, as a real number (an entry of 1 is 2^-15)."""
        distance = 2.0**self.range_bits / (len(self.entries) - 1)
        return max(_chord(distance), _short(self.range_bits)) + 2**-15


def table_for(bits: int) -> Table:
    """Return the table for values of `bits` bits.

    >>> len(table_for(8).entries), len(table_for(12).entries), table_for(16).range_bits
    (33, 257, 3)
    """
    quarter = 2.0 ** -(bits + 1)  # of a code, 2^-(bits - 1)
    range_bits = next(i for i in range(2, 4) if _short(i) <= quarter or i == 3)
    size = next(p for p in range(_MOST + 1) if _chord(2.0 ** (range_bits - p)) <= quarter or p == _MOST)
    distance = 2.0 ** (range_bits - size)
    y = np.tanh(np.arange(2**size + 1) * distance)
    lifted = y + distance**2 / 8 * y * (1 - y**2)
    return Table(np.minimum(np.floor(2**15 * lifted + 0.5), 2**15).astype(np.int64), range_bits)


def _chord(distance: float) -> float:
    """Return a bound of the error between entries; see Note [Entries are raised]."""
    return distance**2 / 16 * (_CURVATURE + 2 * distance)


def _short(range_bits: int) -> float:
    """Return 1 - tanh(R), the error beyond the last entry."""
    return 2 / (math.exp(2.0 ** (range_bits + 1)) + 1)
