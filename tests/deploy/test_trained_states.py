"""Networks that were trained with rounded states become integers with their own widths and steps."""

from typing import Any

import numpy as np
import pytest
import torch

import eigenloop as el
from eigenloop import quantization

LAYERS: dict[str, Any] = {
    "relu": lambda **o: el.RNN(3, 12, nonlinearity="relu", **o),
    "tanh, two layers": lambda **o: el.RNN(3, 8, 2, nonlinearity="tanh", **o),
    "gru": lambda **o: el.GRU(3, 12, **o),
    "ncgru": lambda **o: el.GRU(3, 12, candidate="modrelu", reset="before", update="write", bias=False, **o),
    "lstm": lambda **o: el.LSTM(3, 12, **o),
    "fastgrnn": lambda **o: el.FastGRNN(3, 12, **o),
    "fastgrnn piecewise": lambda **o: el.FastGRNN(3, 12, piecewise=True, **o),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("bits", [8, 12])
def test_every_step_is_on_the_networks_own_grid(name: str, bits: int) -> None:
    """From the layer's state before each step: nearly all new codes are its own, the others are within the error."""
    layer = LAYERS[name](bits=6, state_bits=bits, generator=torch.Generator().manual_seed(0)).eval()
    X = torch.randn(20, 30, 3, generator=torch.Generator().manual_seed(1))
    quantization.calibrate_(layer, X)
    whole = el.deploy.integer(layer)
    assert {cell.formats.bits for cell in whole.cells} == {bits}
    state, equal = whole.initial_state(30).cells, []
    hx: Any = None
    for x in X:
        with torch.no_grad():
            _, hx = layer(x[None], hx)
        q = whole.inputs.codes(x.numpy())
        torch_codes = []
        for number, (cell, carried) in enumerate(zip(whole.cells, state, strict=True)):
            new = cell.step(q, tuple(one.astype(np.int64) for one in carried))
            theirs = [part[number].double().numpy() for part in (hx if isinstance(hx, tuple) else (hx,))]
            codes = tuple(
                np.rint(one / form.step).astype(np.int64) for one, form in zip(theirs, cell.carried, strict=True)
            )
            for one, form, mine, code in zip(theirs, cell.carried, new, codes, strict=True):
                np.testing.assert_allclose(code * form.step, one, atol=1e-5 * form.range)
                assert np.abs(mine - code).max() <= cell.step_error + 1
                equal.append((mine == code).mean())
            torch_codes.append(codes)
            q = codes[0]
        state = tuple(torch_codes)
    # Products with gates are rounded alike, halves included: Note [A margin for halves] in recurrence/rounding.py.
    assert np.mean(equal) > (0.99 if name == "ncgru" else 0.9)


def test_another_width_is_calibrated() -> None:
    layer = LAYERS["relu"](bits=6, state_bits=8).eval()
    X = torch.randn(5, 4, 3)
    with pytest.raises(ValueError, match="give calibration="):
        el.deploy.integer(layer, state_bits=12)
    assert el.deploy.integer(layer, calibration=X, state_bits=12).cells[0].formats.bits == 12
