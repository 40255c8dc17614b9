"""The bit widths that are supported, and the sentence for any other."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Widths:
    """The bit widths from `fewest` to `most`."""

    fewest: int
    most: int

    def __str__(self) -> str:
        return f"{self.fewest} to {self.most}"

    def __contains__(self, bits: int) -> bool:
        return self.fewest <= bits <= self.most

    def checked(self, bits: int, name: str) -> int:
        """Return `bits`; raise TypeError or ValueError, with the name of the argument, unless it is one of these.

        >>> WEIGHTS.checked(4, "bits")
        4
        >>> STATE.checked(4, "state_bits")
        Traceback (most recent call last):
        ValueError: state_bits is a whole number from 6 to 16, got 4
        """
        if isinstance(bits, bool) or not isinstance(bits, int):
            raise TypeError(f"{name} is a whole number from {self}, got {bits!r}")
        if bits not in self:
            raise ValueError(f"{name} is a whole number from {self}, got {bits}")
        return bits


#: Of U, W and V. One bit would leave the codes -1 and 0; codes are stored in at most 16 bits.
WEIGHTS = Widths(2, 16)
#: Of the input, the state and the gates.
STATE = Widths(6, 16)
