"""Exact arithmetic to hold the operations against: Python's fractions and whole numbers of any length."""

import math
from fractions import Fraction


def nearest(value: Fraction) -> int:
    """The rounding rule: the nearest whole number, halves up."""
    return math.floor(value + Fraction(1, 2))


def clamp(value: int, low: int, high: int) -> int:
    return max(low, min(high, value))
