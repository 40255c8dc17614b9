"""Sums reach the bounds that are proved for them, and not one more."""

from fractions import Fraction
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

import eigenloop as el
from eigenloop.deploy.formats import Format
from eigenloop.deploy.sums import Sum
from eigenloop.quantization import Quantizer, quantize_


def adversary(one: Sum, row: int, largest: bool) -> np.ndarray:
    """The operand that drives a row to its end: the right end of the range at every code."""
    assert one.codes is not None
    up = one.codes[row] > 0 if largest else one.codes[row] < 0
    return np.where(up, one.operand.high, one.operand.low)[None]


@given(
    data=st.data(), bits=st.integers(2, 16), width=st.integers(6, 16), rows=st.integers(1, 4), positive=st.booleans()
)
def test_bounds_are_reached_and_no_partial_sum_leaves_them(
    data: st.DataObject, bits: int, width: int, rows: int, positive: bool
) -> None:
    columns = data.draw(st.integers(1, 6))
    code = st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1)
    codes = np.array([[data.draw(code) for _ in range(columns)] for _ in range(rows)], np.int64)
    bias = np.array([data.draw(st.integers(-(2**20), 2**20)) for _ in range(rows)], np.int64)
    form = Format("q", width, 1.0, 1.0, 0 if positive else -(2 ** (width - 1)), 2 ** (width - 1) - 1)
    one = Sum("W", codes, bits, form, (Fraction(1),), bias)
    low, high = one.row_bounds
    for row in range(rows):
        for largest, bound in ((True, high[row]), (False, low[row])):
            q = adversary(one, row, largest)
            assert one(q)[0, row] == bound
            partial = int(bias[row])
            for c, v in zip(codes[row].tolist(), q[0].tolist(), strict=True):
                partial += c * v
                assert low[row] <= partial <= high[row]
    for _ in range(5):
        q = np.array([[data.draw(st.integers(form.low, form.high)) for _ in range(columns)]])
        assert ((low <= one(q)[0]) & (one(q)[0] <= high)).all()


@pytest.mark.parametrize(("bias", "width"), [(7, 32), (8, 64)])
def test_the_width_changes_exactly_where_int32_ends(bias: int, width: int) -> None:
    """2^15 codes of 2 (at most) times 2^15 - 1, and a bias that makes the sum 2^31 - 1 or one more."""
    form = Format("q", 16, 1.0, 1.0, -(2**15), 2**15 - 1)
    columns = 2**16
    codes = np.ones((1, columns), np.int64)
    reach = columns * form.high
    offset = 2**31 - 1 - 7 - reach  # so that a bias of 7 more just fits
    one = Sum("W", codes, 2, form, (Fraction(1),), np.array([offset + bias]))
    assert one.row_bounds[1][0] == 2**31 - 1 + (bias - 7)
    assert one.width == (64 if one.bounds[0] < -(2**31) else width)
    positive = Format("q", 16, 1.0, 1.0, 0, 2**15 - 1)
    assert Sum("W", codes, 2, positive, (Fraction(1),), np.array([offset + bias])).width == width
    if width == 64:
        with pytest.raises(ValueError, match="beyond int32: give weights or state fewer bits"):
            Sum("W", codes, 2, positive, (Fraction(1),), np.array([offset + bias]), widen=False)


@settings(max_examples=25)
@given(
    kind=st.sampled_from(["RNN", "GRU", "LSTM"]),
    bits=st.integers(2, 16),
    state=st.integers(6, 16),
    around=st.booleans(),
    per_row=st.booleans(),
    normalise=st.sampled_from(["none", "radius"]),
    seed=st.integers(0, 99),
)
def test_no_total_leaves_64_bits(
    kind: str, bits: int, state: int, around: bool, per_row: bool, normalise: Any, seed: int
) -> None:
    """Driven to the ends of both sums at once, the total of every pre-activation stays below 2^63."""
    generator = torch.Generator().manual_seed(seed)
    layer = getattr(el, kind)(3, 5, bits=Quantizer(bits, around, per_row, normalise), generator=generator)
    X = torch.randn(6, 4, 3, generator=generator)
    whole = el.deploy.integer(layer, calibration=X, state_bits=state)
    for gate in whole.cells[0].gates.values():
        first, *identity, last = ([int(M) for M in values] for values in gate.multipliers.values)
        A, B = gate.sums
        one = 1 if gate.gate_bits is None else 2 ** (gate.gate_bits - 1)
        threshold = 0 if gate.threshold is None else int(np.abs(gate.threshold_total).max())
        total = one * A.largest * max(first) + B.largest * max(last) + threshold
        total += sum(one * A.operand.largest * max(M) for M in identity)
        assert total + 2 ** (gate.shift - 1) < 2**63
        assert all(0 <= M < 2**31 for values in (first, last, *identity) for M in values)
        for row in range(5):
            q, x = adversary(A, row, True), adversary(B, row, True)
            gate_code = None if gate.gate_bits is None else np.full((1, 5), one)
            exact = [int(A(q)[0, row]) * one * first[row % len(first)], int(B(x)[0, row]) * last[row % len(last)]]
            exact += [int(q[0, row]) * one * M[row % len(M)] for M in identity]
            assert int(gate.total(q, x, gate_code)[0, row]) == sum(exact)


def test_the_identity_is_exact() -> None:
    """I + q(W - I) with W = I on one scale: the state comes through unchanged, code by code."""
    rnn = el.RNN(1, 4, nonlinearity="identity", bias=False, bits=4, around_identity=True, recurrent="free")
    with torch.no_grad():
        rnn.recurrent_l0.weight.copy_(torch.eye(4))
        rnn.weight_ih_l0.copy_(torch.tensor([[1.0], [-0.5], [0.25], [0.75]]))
    whole = el.deploy.integer(rnn, calibration=torch.eye(3)[:, :1, None].reshape(3, 1, 1), state_bits=12)
    _, identity, _ = whole.cells[0].gates[""].multipliers.values
    assert identity.tolist() == [2 ** whole.cells[0].gates[""].shift]
    _, state = whole.step(np.array([1.0]))
    codes = state.cells[0][0]
    for _ in range(50):
        _, state = whole.step(np.array([0.0]), state)
        assert np.array_equal(state.cells[0][0], codes)


def test_widths_that_cannot_be_had() -> None:
    net = quantize_(el.Model(el.RNN(3, 16, nonlinearity="relu"), 2), 16)
    X = torch.randn(5, 3, 3)
    assert {row.width for row in el.deploy.integer(net, calibration=X, state_bits=16).report().sums} == {32, 64}
    with pytest.raises(ValueError, match="weight_ih_l0: its sums reach"):
        el.deploy.integer(net, calibration=X, state_bits=16, widen=False)
