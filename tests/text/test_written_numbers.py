"""What is written is read back with decimal arithmetic: it is the number, rounded to the digits that were asked for."""

from __future__ import annotations

import math
from decimal import ROUND_HALF_EVEN, Context, Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.text.numbers import brief, digits_of, number, printed, significant, times, with_spread
from eigenloop.text.typography import MINUS, TIMES, quantity

values = st.floats(1e-12, 1e12) | st.floats(-1e12, -1e-12)
digits = st.integers(1, 6)


def rounded(value: float, count: int) -> Decimal:
    return Context(prec=count, rounding=ROUND_HALF_EVEN).create_decimal_from_float(value)


@given(values, digits)
def test_so_many_digits_count(value: float, count: int) -> None:
    assert significant(value, count) == float(rounded(value, count))
    assert Decimal(brief(value, count)) == rounded(value, count)


@given(values, digits)
def test_a_plain_number_is_the_number(value: float, count: int) -> None:
    """Large numbers keep the digits before the point; all others are rounded to the digits that count."""
    written = Decimal(number(value, count).replace(",", ""))
    whole = 10 ** (count - 1) <= abs(value) < 1e7
    assert written == (Decimal(f"{value:.0f}") if whole else rounded(value, count))


@given(values)
def test_a_number_on_a_page_is_the_number(value: float) -> None:
    superscripts = str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789")
    text = quantity(value).replace(MINUS, "-").replace(",", "")
    mantissa, _, power = text.partition(TIMES) if TIMES in text else ("1", "", text)
    if power.lstrip("-").startswith("10") and any(letter in power for letter in "⁻⁰¹²³⁴⁵⁶⁷⁸⁹"):
        sign = -1 if power.startswith("-") else 1
        written = sign * float(mantissa) * 10.0 ** int(power.lstrip("-")[2:].translate(superscripts))
        assert written == pytest.approx(value, rel=0.051), "two digits beside a power of ten"
    else:
        assert float(text) == pytest.approx(value, rel=0.0051), "three digits at least"


@given(values, st.floats(0, 1e6))
def test_a_spread_has_the_decimals_of_its_mean(mean: float, spread: float) -> None:
    text = with_spread(mean, spread)
    pair, _, exponent = text.removeprefix("(").partition(")e")
    left, _, right = pair.partition(" \N{PLUS-MINUS SIGN} ")
    assert len(left.partition(".")[2]) == len(right.partition(".")[2])
    step = 10.0 ** (int(exponent or 0) - len(right.partition(".")[2]))
    assert float(right) * 10.0 ** int(exponent or 0) == pytest.approx(spread, abs=0.51 * step, rel=1e-9)


@pytest.mark.parametrize("value", [0.5, 5.19, 77.0, 1.022e-5, 0.16295, 6.5e-4])
def test_a_published_number_keeps_its_digits(value: float) -> None:
    assert float(printed(value)) == value
    assert 1 <= digits_of(value) <= 5


@given(st.floats(1e-3, 1e6))
def test_a_factor_is_the_factor(value: float) -> None:
    assert float(times(value).removesuffix(" x").replace(",", "")) == pytest.approx(value, rel=0.051)


def test_what_is_not_finite() -> None:
    assert [quantity(value) for value in (None, math.nan, math.inf, -math.inf)] == ["–", "NaN", "∞", f"{MINUS}∞"]  # noqa: RUF001
    assert [number(value) for value in (math.nan, math.inf)] == ["nan", "inf"]
