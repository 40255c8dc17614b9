"""An activation that Python alone knows is served by the reference path."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

import eigenloop as el
from eigenloop import registry
from eigenloop.recurrence import Activation, kernel


def softsign(z: Tensor) -> Tensor:
    return z / (1 + z.abs())


@pytest.fixture(autouse=True)
def registered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry.ACTIVATIONS, "_registered", {})
    own = Activation(lambda z, bias, slope: z.div_(1 + z.abs()), lambda value, slope: (1 - value.abs()).square())
    registry.ACTIVATIONS.register("own softsign", own)


#: A step takes the layer, x and the states h (and c), and returns the states after it.
States = tuple[Tensor, ...]


def rnn_step(layer: el.RNN, x: Tensor, h: Tensor) -> States:
    bias = layer.bias_ih_l0 + layer.bias_hh_l0
    return (softsign(h @ layer.recurrent_l0().T + x @ layer.weight_ih_l0.T + bias),)


def lstm_step(layer: el.LSTM, x: Tensor, h: Tensor, c: Tensor) -> States:
    bias = layer.bias_ih_l0 + layer.bias_hh_l0
    W = torch.cat([layer.recurrent_matrix(gate=gate) for gate in layer.GATES])
    i, f, g, o = (x @ layer.weight_ih_l0.T + h @ W.T + bias).chunk(4, -1)
    c = torch.sigmoid(f) * c + torch.sigmoid(i) * softsign(g)
    return torch.sigmoid(o) * torch.tanh(c), c


def gru_step(layer: el.GRU, x: Tensor, h: Tensor) -> States:
    p_r, p_u, p_c = (x @ layer.weight_ih_l0.T + layer.bias_ih_l0).chunk(3, -1)
    q_r, q_u, q_c = (h @ layer.recurrent_l0().T + layer.bias_hh_l0).chunk(3, -1)
    u = torch.sigmoid(p_u + q_u)
    return (u * h + (1 - u) * softsign(p_c + torch.sigmoid(p_r + q_r) * q_c),)


@pytest.mark.parametrize(
    ("layer", "step"),
    [
        (lambda: el.RNN(3, 5, nonlinearity="own softsign", dtype=torch.float64), rnn_step),
        (lambda: el.GRU(3, 5, candidate="own softsign", dtype=torch.float64), gru_step),
        (lambda: el.LSTM(3, 5, cell="own softsign", constrained=("cell",), dtype=torch.float64), lstm_step),
    ],
    ids=["RNN", "GRU", "LSTM"],
)
def test_equals_its_equation(layer: Callable[[], el.RNN], step: Callable[..., States]) -> None:
    made, x = layer(), torch.randn(7, 2, 3, dtype=torch.float64)
    parameters = list(made.parameters())
    out, _ = made(x)
    ours = torch.autograd.grad(out.sin().sum(), parameters)
    carried: States = (torch.zeros(2, 5, dtype=torch.float64),) * len(made.CARRIED)
    states = []
    for t in range(len(x)):
        carried = step(made, x[t], *carried)
        states.append(carried[0])
    torch.testing.assert_close(out, torch.stack(states))
    torch.testing.assert_close(ours, torch.autograd.grad(torch.stack(states).sin().sum(), parameters))


def test_the_kernel_looks_at_the_activation() -> None:
    W = torch.eye(2)
    assert not kernel.serves(W, "own softsign")
    assert kernel.serves(W, "tanh") == (kernel.library() is not None)


@pytest.mark.parametrize(
    "layer",
    [
        lambda: el.RNN(3, 5, nonlinearity="own softsign"),
        lambda: el.GRU(3, 5, candidate="own softsign"),
        lambda: el.LSTM(3, 5, cell="own softsign"),
    ],
    ids=["RNN", "GRU", "LSTM"],
)
def test_streaming_takes_it_too(layer: Callable[[], el.RNN]) -> None:
    made, x = layer().eval(), torch.randn(6, 1, 3)
    stream = el.Stream(made)
    torch.testing.assert_close(torch.stack([stream(step) for step in x]), made(x)[0])


def test_an_lstm_has_no_slope() -> None:
    with pytest.raises(ValueError, match="cell='leaky_relu' has no slope in an LSTM"):
        el.LSTM(3, 5, cell="leaky_relu")
    with pytest.raises(ValueError, match="softsing"):
        el.LSTM(3, 5, cell="own softsing")
