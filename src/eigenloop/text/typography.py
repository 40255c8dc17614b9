"""Numbers for pages: a true minus sign, powers of ten, and no trailing zeros."""

from __future__ import annotations

import math

MISSING = "\N{EN DASH}"
MINUS = "\N{MINUS SIGN}"
TIMES = "\N{NARROW NO-BREAK SPACE}\N{MULTIPLICATION SIGN}\N{NARROW NO-BREAK SPACE}"
THIN = "\N{NARROW NO-BREAK SPACE}"
SUPERSCRIPTS = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


def power(exponent: int) -> str:
    """Format a power of ten.

    >>> power(-3), power(0), power(1)
    ('10⁻³', '1', '10')
    """
    return ("1", "10")[exponent] if exponent in (0, 1) else "10" + str(exponent).translate(SUPERSCRIPTS)


def quantity(value: float | None, digits: int = 3) -> str:
    """Format a number with this many significant digits; None gives a dash.

    >>> quantity(0.00163), quantity(21764), quantity(0.99996)
    ('0.00163', '21,764', '0.99996')
    """
    if value is None:
        return MISSING
    if not math.isfinite(value):
        return "NaN" if math.isnan(value) else ("" if value > 0 else MINUS) + "\N{INFINITY}"
    sign, size = (MINUS, -value) if value < 0 else ("", value)
    if size == 0 or (size < 1e9 and size == int(size)) or 1e3 <= size < 1e6:
        return f"{sign}{size:,.0f}"
    if 1e-4 <= size < 1e3:
        return sign + _decimal(size, digits)
    exponent = math.floor(math.log10(size))
    mantissa = f"{size / 10.0**exponent:.{digits - 1}g}" if exponent > -300 else "1"
    if mantissa == "10":
        mantissa, exponent = "1", exponent + 1
    return sign + (power(exponent) if mantissa == "1" else f"{mantissa}{TIMES}{power(exponent)}")


def with_spread(value: float | None, spread: float | None) -> str:
    """Format a number, with its standard deviation if there is one.

    >>> with_spread(0.00163, 0.000217), with_spread(0.5, None)
    ('0.00163 \N{PLUS-MINUS SIGN} 0.00022', '0.5')
    """
    return quantity(value) if spread is None else f"{quantity(value)} \N{PLUS-MINUS SIGN} {quantity(spread, 2)}"


def _decimal(size: float, digits: int) -> str:
    # 0.99996 must not appear as 1: a number that would round to an integer gets as many digits as it needs to differ.
    for more in range(digits, 9):
        rounded = float(f"{size:.{more}g}")
        if rounded != int(rounded):
            return f"{size:.{more}g}"
    return f"{size:.{digits}g}"
