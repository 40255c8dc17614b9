"""Every operation against exact rational arithmetic, at the ends of the ranges too."""

import math
from fractions import Fraction

import numpy as np
import pytest
from exact import clamp, nearest
from hypothesis import given
from hypothesis import strategies as st

from eigenloop.bit_widths import STATE
from eigenloop.deploy import operations as op
from eigenloop.deploy.formats import format_for
from eigenloop.deploy.inputs import values_for
from eigenloop.deploy.multipliers import multipliers
from eigenloop.deploy.packing import group, packed, unpacked
from eigenloop.deploy.table import table_for

INT32 = st.one_of(st.integers(-(2**31), 2**31 - 1), st.sampled_from([-(2**31), 2**31 - 1, 0, 1, -1]))
MULTIPLIER = st.one_of(st.integers(0, 2**31 - 1), st.just(2**31 - 1), st.integers(0, 30).map(lambda i: 2**i))
SHIFT = st.integers(1, 62)
BITS = st.integers(6, 16)


def one(value: int) -> np.ndarray:
    return np.array([value], np.int64)


@given(value=INT32, multiplier=MULTIPLIER, shift=SHIFT)
def test_rescaling_is_the_nearest_with_halves_up(value: int, multiplier: int, shift: int) -> None:
    assert op.rescaled(one(value), one(multiplier), shift)[0] == nearest(Fraction(value * multiplier, 2**shift))


@given(value=st.integers(-(2**62), 2**62 - 1), shift=st.integers(0, 62), whole=st.integers(-100, 100))
def test_rounding_commutes_with_whole_numbers(value: int, shift: int, whole: int) -> None:
    rounded = op.shifted(one(value), shift)[0]
    assert rounded == nearest(Fraction(value, 2**shift))
    more = value + whole * 2**shift
    if abs(more) < 2**62:
        assert op.shifted(one(more), shift)[0] == rounded + whole


@given(
    factors=st.lists(st.fractions(Fraction(1, 10**9), 1000, max_denominator=10**12), min_size=1, max_size=3),
    data=st.data(),
)
def test_multipliers_never_leave_64_bits_and_their_error_is_what_they_say(
    factors: list[Fraction], data: st.DataObject
) -> None:
    bounds = [data.draw(st.integers(1, 2**33)) for _ in factors]
    made = multipliers([[factor] for factor in factors], bounds, "z")
    signs = [data.draw(st.sampled_from([-1, 1])) for _ in factors]
    total = sum(bound * int(M[0]) for bound, M in zip(bounds, made.values, strict=True)) + 2 ** (made.shift - 1)
    assert total < 2**63
    assert all(0 <= M[0] < 2**31 for M in made.values)
    values = [sign * bound for sign, bound in zip(signs, bounds, strict=True)]
    terms = [(one(value), M) for value, M in zip(values, made.values, strict=True)]
    got = op.shifted(op.accumulated(terms), made.shift)[0]
    real = sum(value * factor for value, factor in zip(values, factors, strict=True))
    assert abs(got - real) <= Fraction(1, 2) + Fraction(made.error) * (1 + Fraction(1, 2**40))
    # One shift more would not fit, unless the shift is the largest that there is.
    if made.shift < 62:
        doubled = [nearest(f * 2 ** (made.shift + 1)) for f in factors]
        needed = sum(b * M for b, M in zip(bounds, doubled, strict=True)) + 2**made.shift
        assert max(doubled) >= 2**31 or needed >= 2**63 or max(factors) * 2 ** (made.shift + 1) >= 2**31


@given(exponent=st.integers(-20, 10))
def test_powers_of_two_are_exact(exponent: int) -> None:
    made = multipliers([[Fraction(2) ** exponent], [Fraction(1)]], [1000, 1000], "z")
    assert made.error == 0


def test_scales_that_do_not_fit_are_refused() -> None:
    with pytest.raises(ValueError, match="use fewer state bits"):
        multipliers([[Fraction(2**40)]], [1], "z")
    with pytest.raises(ValueError, match="give weights or state fewer bits"):
        multipliers([[Fraction(1, 10)]], [2**60], "z")


@given(value=st.floats(-1e6, 1e6), step=st.floats(1e-4, 10), bits=BITS)
def test_quantizing(value: float, step: float, bits: int) -> None:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    got = op.quantized(np.array([value]), step, low, high)[0]
    exact = Fraction(value) / Fraction(step)
    away = abs(exact + Fraction(1, 2) - math.floor(exact + Fraction(1, 2)))
    if min(away, 1 - away) > Fraction(1, 2**16):  # the quotient is a float64, of up to 2^34 here
        assert got == clamp(nearest(exact), low, high)
    assert abs(got - clamp(nearest(exact), low, high)) <= 1


@given(
    counts=st.lists(INT32, min_size=1, max_size=4),
    step=st.floats(1e-3, 1),
    bits=BITS,
    data=st.data(),
)
def test_counts_with_mean_and_scale_folded_in(counts: list[int], step: float, bits: int, data: st.DataObject) -> None:
    size = len(counts)
    mean = np.array([data.draw(st.floats(-3e4, 3e4)) for _ in counts])
    scale = np.array([data.draw(st.floats(0.5, 1e4)) for _ in counts])
    form = format_for("input", bits, step * (2 ** (bits - 1) - 1))
    made = values_for(form, mean, scale, counts=True)
    assert size == len(made.multiplier)
    codes = made.codes(np.array(counts, np.int64))
    for i, count in enumerate(counts):
        total = count * int(made.multiplier[i]) + int(made.offset[i])
        assert abs(total) < 2**63
        assert codes[i] == clamp(math.floor(Fraction(total, 2**made.shift)), form.low, form.high)
        exact = (count - Fraction(mean[i])) / Fraction(scale[i]) / form.exact_step
        # The multiplier is off by half of 2^-shift for every count, the offset by half of it.
        slack = Fraction(1, 2) + Fraction(abs(count) + 1, 2 ** (made.shift + 1))
        assert abs(codes[i] - max(Fraction(form.low), min(Fraction(form.high), exact))) <= slack


@given(data=st.data(), bits=st.integers(2, 16), rows=st.integers(1, 5), columns=st.integers(1, 6), wide=st.booleans())
def test_products_are_exact_in_both_ways(data: st.DataObject, bits: int, rows: int, columns: int, wide: bool) -> None:
    code = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    codes = np.array(
        data.draw(st.lists(st.lists(code, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    )
    q = np.array([data.draw(st.lists(st.integers(-(2**15), 2**15 - 1), min_size=columns, max_size=columns))])
    bias = np.array(data.draw(st.lists(INT32, min_size=rows, max_size=rows)))
    got = op.product(codes, q, bias, 2**60 if wide else 2**40)
    assert got.tolist() == [
        [
            int(b) + sum(int(c) * int(v) for c, v in zip(row, q[0], strict=True))
            for row, b in zip(codes, bias, strict=True)
        ]
    ]


def test_the_fast_way_is_exact_up_to_its_limit() -> None:
    """Codes and states of 16 bits in rows so long that the sum needs all of 53 bits."""
    columns = 2**20
    codes = np.full((1, columns), -(2**15), np.int64)
    q = np.full((1, columns), 2**15 - 1, np.int64)
    assert op.product(codes, q, None, 2**52)[0, 0] == -(2**15) * (2**15 - 1) * columns


@given(total=st.integers(-(2**61), 2**61), shift=st.integers(20, 62))
def test_linear_and_relu(total: int, shift: int) -> None:
    exact = nearest(Fraction(total, 2**shift))
    assert op.linear(one(total), shift)[0] == exact
    assert op.relu(one(total), shift)[0] == max(exact, 0)


@given(total=st.integers(-(2**61), 2**61), shift=st.integers(1, 62), slope=st.fractions(Fraction(1, 1000), 4))
def test_leaky_relu(total: int, shift: int, slope: Fraction) -> None:
    made = multipliers([[slope]], [2**31], "slope")
    M, s = int(made.values[0][0]), made.shift
    z = clamp(nearest(Fraction(total, 2**shift)), -(2**31), 2**31 - 1)
    assert op.leaky_relu(one(total), shift, M, s)[0] == (z if z >= 0 else nearest(Fraction(z * M, 2**s)))
    assert abs(Fraction(M, 2**s) - slope) <= slope / 2**30


@given(
    total=st.one_of(st.integers(-(2**61), 2**61), st.integers(-9, 9)),
    threshold=st.one_of(st.integers(-(2**60), 2**60), st.integers(-9, 9)),
    shift=SHIFT,
)
def test_modrelu(total: int, threshold: int, shift: int) -> None:
    sign = (total > 0) - (total < 0)
    exact = sign * nearest(Fraction(max(abs(total) + threshold, 0), 2**shift))
    assert op.modrelu(one(total), one(threshold), shift)[0] == exact
    assert op.modrelu(one(-total), one(threshold), shift)[0] == -exact


@pytest.mark.parametrize("bits", range(6, 17))
def test_the_table_keeps_its_error(bits: int) -> None:
    """Over every argument that there is, up to the end of the table and beyond."""
    table = table_for(bits)
    assert len(table.entries) <= 257
    assert (len(table.entries) - 1).bit_count() == 1
    end = 2 ** (16 + table.range_bits)
    v = np.concatenate((np.arange(end + 2), [2**31 - 1, 2**40]))
    y = op.tanh(v, table.entries, table.range_bits)
    assert y[0] == 0
    assert y.max() <= 2**15
    assert (np.diff(y) >= 0).all()
    error = np.abs(y / 2**15 - np.tanh(v / 2**16)).max()
    assert error <= table.error
    assert error > table.error / 3  # the bound says something
    assert np.array_equal(op.tanh(-v, table.entries, table.range_bits), -y)
    if bits <= 12:
        assert table.error - 2**-15 <= 2.0 ** -(bits + 1)


def test_the_stated_sizes_and_error() -> None:
    assert {bits: len(table_for(bits).entries) for bits in (8, 11, 12, 16)} == {8: 33, 11: 129, 12: 257, 16: 257}
    assert (table_for(16).error - 2**-15) * 2**15 == pytest.approx(1.66, abs=0.01)


@given(bits=BITS, v=st.one_of(st.integers(-(2**20), 2**20), st.integers(-(2**40), 2**40)))
def test_interpolation_and_gate_by_hand(bits: int, v: int) -> None:
    table = table_for(bits)
    p = (len(table.entries) - 1).bit_length() - 1
    a = min(abs(v), 2 ** (16 + table.range_bits) - 1)
    width = 2 ** (16 + table.range_bits - p)
    i, f = divmod(a, width)
    t = [int(entry) for entry in table.entries]
    exact = nearest(Fraction(t[i] * (width - f) + t[i + 1] * f, width)) * (1 if v > 0 else -1)
    assert op.tanh(one(v), table.entries, table.range_bits)[0] == exact
    gate = op.sigmoid(one(v), table.entries, table.range_bits, bits)[0]
    assert gate == nearest(Fraction(exact + 2**15, 2 ** (17 - bits)))
    assert 0 <= gate <= 2 ** (bits - 1)
    real = 1 / (1 + math.exp(-2 * max(min(v / 2**16, 50), -50)))
    assert abs(gate / 2 ** (bits - 1) - real) <= table.error / 2 + 2.0**-bits


@given(bits=BITS, data=st.data())
def test_gates(bits: int, data: st.DataObject) -> None:
    top = 2 ** (bits - 1)
    code = st.one_of(st.integers(-top, top - 1), st.sampled_from([-top, top - 1]))
    u, h, c = data.draw(st.integers(0, top)), data.draw(code), data.draw(code)
    assert op.complement(one(u), bits)[0] + u == top
    assert op.gated(one(u), one(h), bits)[0] == nearest(Fraction(u * h, top))
    blend = op.blended(one(u), one(h), one(c), bits)[0]
    assert blend == nearest(Fraction(u, top) * h + (1 - Fraction(u, top)) * c)
    assert min(h, c) <= blend <= max(h, c)
    assert op.blended(one(top), one(h), one(c), bits)[0] == h


@pytest.mark.parametrize("bits", range(6, 17))
def test_products_that_c_has_in_32_bits(bits: int) -> None:
    """Gates with codes, their blend, and the table with fractions: the largest there are."""
    top = 2 ** (bits - 1)
    assert top * 2**15 < 2**31  # a gate with a cell of 16 bits, or with tanh
    assert max(u * top + (top - u) * top for u in (0, 1, top // 2, top)) + top // 2 < 2**31
    table = table_for(bits)
    fraction = 2 ** (16 + table.range_bits) // (len(table.entries) - 1)
    assert int(table.entries.max()) * fraction + fraction // 2 < 2**31


@given(value=st.integers(-(2**40), 2**40), bits=BITS)
def test_saturation(value: int, bits: int) -> None:
    low, high = -(2 ** (bits - 1)), 2 ** (bits - 1) - 1
    assert op.saturated(one(value), low, high)[0] == clamp(value, low, high)


@given(bits=st.integers(2, 16), data=st.data(), rows=st.integers(1, 7), columns=st.integers(1, 9))
def test_packing(bits: int, data: st.DataObject, rows: int, columns: int) -> None:
    code = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    codes = np.array(
        data.draw(st.lists(st.lists(code, min_size=columns, max_size=columns), min_size=rows, max_size=rows))
    )
    stored = packed(codes, bits)
    size = math.ceil(columns * bits / 8)
    groups = math.ceil(columns / group(bits))
    assert group(bits) * bits % 8 == 0
    assert group(bits) * bits >= 32
    assert len(stored) == (rows - 1) * size + groups * group(bits) * bits // 8  # the last row is read in whole groups
    assert np.array_equal(unpacked(stored, bits, codes.shape), codes)
    for row, values in enumerate(codes):
        stream = int.from_bytes(stored[row * size :].tobytes(), "little")  # one long number, the first code lowest
        for j, value in enumerate(values):
            assert (stream >> (j * bits)) % 2**bits == int(value) % 2**bits
    assert not stored[rows * size :].any()


@given(bits=BITS, largest=st.floats(1e-6, 1e6))
def test_steps(bits: int, largest: float) -> None:
    plain, two = (format_for("state", bits, largest, power_of_two=power) for power in (False, True))
    assert plain.codes(np.array([largest, -largest])).tolist() == [2 ** (bits - 1) - 1, -(2 ** (bits - 1)) + 1]
    assert plain.step <= two.step < 2 * plain.step * (1 + 1e-12)
    assert math.frexp(two.step)[0] == 0.5
    assert plain.bytes == (1 if bits <= 8 else 2)


def test_widths_that_are_not_offered() -> None:
    with pytest.raises(ValueError, match="from 6 to 16, got 5"):
        STATE.checked(5, "state_bits")
    with pytest.raises(TypeError, match="got 8"):
        STATE.checked(8.0, "state_bits")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="diverges"):
        format_for("state", 8, math.inf)
