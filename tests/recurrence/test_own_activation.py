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


def rnn_step(layer: el.RNN, x: Tensor, h: Tensor) -> Tensor:
    bias = layer.bias_ih_l0 + layer.bias_hh_l0
    return softsign(h @ layer.recurrent_l0().T + x @ layer.weight_ih_l0.T + bias)


def gru_step(layer: el.GRU, x: Tensor, h: Tensor) -> Tensor:
    p_r, p_u, p_c = (x @ layer.weight_ih_l0.T + layer.bias_ih_l0).chunk(3, -1)
    q_r, q_u, q_c = (h @ layer.recurrent_l0().T + layer.bias_hh_l0).chunk(3, -1)
    u = torch.sigmoid(p_u + q_u)
    return u * h + (1 - u) * softsign(p_c + torch.sigmoid(p_r + q_r) * q_c)


@pytest.mark.parametrize(
    ("layer", "step"),
    [
        (lambda: el.RNN(3, 5, nonlinearity="own softsign", dtype=torch.float64), rnn_step),
        (lambda: el.GRU(3, 5, candidate="own softsign", dtype=torch.float64), gru_step),
    ],
    ids=["RNN", "GRU"],
)
def test_equals_its_equation(layer: Callable[[], el.RNN], step: Callable[..., Tensor]) -> None:
    made, x = layer(), torch.randn(7, 2, 3, dtype=torch.float64)
    parameters = list(made.parameters())
    out, _ = made(x)
    ours = torch.autograd.grad(out.sin().sum(), parameters)
    h, states = torch.zeros(2, 5, dtype=torch.float64), []
    for t in range(len(x)):
        h = step(made, x[t], h)
        states.append(h)
    torch.testing.assert_close(out, torch.stack(states))
    torch.testing.assert_close(ours, torch.autograd.grad(torch.stack(states).sin().sum(), parameters))


def test_the_kernel_looks_at_the_activation() -> None:
    W = torch.eye(2)
    assert not kernel.serves(W, "own softsign")
    assert kernel.serves(W, "tanh") == (kernel.library() is not None)


def test_streaming_takes_it_too() -> None:
    rnn, x = el.RNN(3, 5, nonlinearity="own softsign").eval(), torch.randn(6, 1, 3)
    stream = el.Stream(rnn)
    torch.testing.assert_close(torch.stack([stream(step) for step in x]), rnn(x)[0])
