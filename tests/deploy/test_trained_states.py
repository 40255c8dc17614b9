"""Networks that were trained with rounded states become integers with their own widths and steps."""

from typing import Any

import numpy as np
import pytest
import torch

import eigenloop as el
from eigenloop import quantization

if not hasattr(quantization, "StateQuantizer"):
    pytest.skip("layers have no state_bits= here", allow_module_level=True)

LAYERS: dict[str, Any] = {
    "relu": lambda **o: el.RNN(3, 12, nonlinearity="relu", **o),
    "tanh, two layers": lambda **o: el.RNN(3, (8, 6), nonlinearity="tanh", **o),
    "gru": lambda **o: el.GRU(3, 12, **o),
    "ncgru": lambda **o: el.GRU(3, 12, candidate="modrelu", reset="before", update="write", bias=False, **o),
    "lstm": lambda **o: el.LSTM(3, 12, **o),
}


@pytest.mark.parametrize("name", LAYERS)
@pytest.mark.parametrize("bits", [8, 12])
def test_the_grid_is_the_networks_own(name: str, bits: int) -> None:
    """Nearly all states are the same codes; the others differ by a few, where a value lies between two."""
    layer = LAYERS[name](bits=6, state_bits=bits, generator=torch.Generator().manual_seed(0)).eval()
    X = torch.randn(20, 30, 3, generator=torch.Generator().manual_seed(1))
    quantization.calibrate_(layer, X)
    whole = el.deploy.integer(layer)
    assert whole.cells[-1].formats.state.bits == bits
    with torch.no_grad():
        out = layer(X)[0].double().numpy()
    step = whole.cells[-1].formats.state.step
    codes = np.rint(out / step)
    np.testing.assert_allclose(codes * step, out, atol=1e-6)
    difference = np.abs(whole.sums(X) - codes)
    assert (difference <= 1).mean() > 0.97
    assert difference.max() <= 2 ** (bits - 1) / 20


def test_another_width_is_calibrated() -> None:
    layer = LAYERS["relu"](bits=6, state_bits=8).eval()
    X = torch.randn(5, 4, 3)
    with pytest.raises(ValueError, match="give calibration="):
        el.deploy.integer(layer, state_bits=12)
    assert el.deploy.integer(layer, calibration=X, state_bits=12).cells[0].formats.bits == 12
