"""Numbers in plain text: significant digits, mean and spread with the same decimals, factors."""

from __future__ import annotations

import math


def significant(value: float, digits: int) -> float:
    """Round a number to this many significant digits.

    >>> significant(0.123456, 3), significant(98765.0, 2)
    (0.123, 99000.0)
    """
    return float(f"{value:.{digits}g}")


def brief(value: float, digits: int = 4) -> str:
    """Format a measured number for the terminal: at most this many significant digits, without trailing zeros.

    >>> brief(0.5), brief(0.00123456), brief(123456.0)
    ('0.5', '0.001235', '1.235e+05')
    """
    return f"{value:.{digits}g}"


def number(value: float, digits: int = 3) -> str:
    """Format a number with this many significant digits, trailing zeros included.

    >>> number(0.0163), number(1.0224e-5), number(21764.2), number(68.078, 4), number(2.0)
    ('0.0163', '1.02e-5', '21,764', '68.08', '2.00')
    """
    if not math.isfinite(value):
        return str(value)
    size = abs(value)
    if size != 0 and not 1e-3 <= size < 1e7:
        mantissa, _, exponent = f"{value:.{digits - 1}e}".partition("e")
        return f"{mantissa}e{int(exponent)}"
    if size >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    shown = f"{value:#.{digits}g}"
    return shown.rstrip(".")


def with_spread(mean: float, spread: float | None, digits: int = 3) -> str:
    """Format a mean and its spread with the same number of decimals: up to two more if the spread would be 0.

    >>> with_spread(1.0224e-5, 3.1e-6), with_spread(0.1234, 0.01), with_spread(7.0, None), with_spread(0.00105, 3e-6)
    ('(1.02 ± 0.31)e-5', '0.123 ± 0.010', '7.00', '0.001050 ± 0.000003')
    """
    if spread is None:
        return number(mean, digits)
    for more in range(3 if spread else 1):
        mantissa, _, exponent = number(mean, digits + more).partition("e")
        decimals = len(mantissa.partition(".")[2])
        scaled = spread / 10.0 ** int(exponent or 0)
        if float(f"{scaled:.{decimals}f}") > 0:
            break
    pair = f"{mantissa} \N{PLUS-MINUS SIGN} {scaled:.{decimals}f}"
    return f"({pair})e{exponent}" if exponent else pair


def printed(value: float, digits: int | None = None) -> str:
    """Format a published number with `digits` significant digits; by default as many as it has, five at most.

    >>> printed(1.022e-5), printed(5.19), printed(0.1629505), printed(77.0), printed(2e-5), printed(1.4, 3)
    ('1.022e-5', '5.19', '0.16295', '77', '2e-5', '1.40')
    """
    return number(value, digits or digits_of(value))


def digits_of(value: float) -> int:
    """Return the number of significant digits of a published number, from one to five."""
    mantissa = repr(abs(value)).partition("e")[0].replace(".", "").strip("0")
    return min(max(len(mantissa), 1), 5)


def times(value: float) -> str:
    """Format a factor with two significant digits, or two decimals if it lies between 0.9 and 1.1.

    >>> times(0.84), times(0.9227), times(1.0193), times(1.3712), times(127.2), times(4321.0)
    ('0.84 x', '0.92 x', '1.02 x', '1.4 x', '130 x', '4,300 x')
    """
    if 0.9 < value < 1.1:
        return f"{value:.2f} x"
    rounded = significant(value, 2)
    return (f"{rounded:,.0f}" if rounded >= 10 else number(rounded, 2)) + " x"
