"""A quantized read-out against the plain one with the quantized weight put in."""

import copy

import pytest
import torch

import eigenloop as el
from eigenloop.quantization import quantize, quantize_


def test_is_the_plain_one_with_a_quantized_weight() -> None:
    net = el.Model(el.RNN(3, 8), 5, readout_bits=3)
    plain = el.Model(el.RNN(3, 8), 5)
    plain.load_state_dict(net.state_dict())
    with torch.no_grad():
        plain.readout.weight.copy_(quantize(net.readout.weight, 3))
    x = torch.randn(6, 2, 3)
    assert torch.equal(net(x)[0], plain(x)[0])
    for model in (net, plain):
        model(x)[0].square().sum().backward()
    assert torch.allclose(net.readout.weight.grad, plain.readout.weight.grad)  # straight through
    assert len(net.readout_weight().unique()) <= 8
    assert torch.equal(copy.deepcopy(net)(x)[0], net(x)[0])


def test_tied_vectors_are_quantized_where_they_are_looked_up() -> None:
    net = el.Model(el.RNN(6, 6), 9, embedding=9, tied=True, readout_bits=2)
    plain = copy.deepcopy(net)
    plain.readout_bits = None
    with torch.no_grad():
        plain.readout.weight.copy_(quantize(net.readout.weight, 2))
    tokens = torch.randint(9, (5, 2))
    assert torch.equal(net(tokens)[0], plain(tokens)[0])


def test_after_training() -> None:
    net = el.Model(el.RNN(3, 8), 5)
    x = torch.randn(6, 2, 3)
    before = net(x)[0]
    assert not torch.equal(quantize_(net, 8, readout_bits=2)(x)[0], before)
    assert net.readout_bits == 2
    assert torch.equal(quantize_(net, None)(x)[0], before)
    with pytest.raises(ValueError, match="without a read-out"):
        quantize_(el.RNN(3, 8), 4, readout_bits=4)
    rnn = el.RNN(3, 8)
    with pytest.raises(ValueError, match="got 1"):
        quantize_(el.Model(rnn, 2), 4, readout_bits=1)
    assert rnn.quantizer is None  # refused before anything changed
    with pytest.raises(ValueError, match="got 40"):
        el.Model(el.RNN(3, 8), 5, readout_bits=40)
