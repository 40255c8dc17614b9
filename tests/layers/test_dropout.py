"""Dropout with one mask for all steps, around the recurrent layer and between its layers."""

from functools import partial

import pytest
import torch

import eigenloop as el
from eigenloop.layers.dropout import locked_dropout


def test_a_locked_mask_is_the_same_at_all_steps() -> None:
    x = torch.rand(50, 40, 30) + 1
    dropped = locked_dropout(x, 0.3, time=0)
    factor = dropped / x
    assert torch.allclose(factor, factor[:1].expand_as(factor))
    assert not torch.equal(factor[0, 0], factor[0, 1])  # sequences differ
    kept = factor[0] > 0
    assert float(kept.float().mean()) == pytest.approx(0.7, abs=0.05)
    assert factor[0][kept].tolist() == pytest.approx([1 / 0.7] * int(kept.sum()))
    assert not locked_dropout(x, 1.0, time=0).any()


@pytest.mark.parametrize("kind", [el.RNN, el.GRU])
def test_between_layers(kind: type) -> None:
    """The second layer, made to hand on what it gets, shows the mask."""
    torch.manual_seed(0)
    net = kind(3, 40, 2, dropout=0.5, locked_dropout=True)
    seen: list[torch.Tensor] = []
    run = net._run

    def listening(cell: str, x: torch.Tensor, *rest: object) -> tuple[torch.Tensor, torch.Tensor]:
        seen.append(x)
        out: tuple[torch.Tensor, torch.Tensor] = run(cell, x, *rest)
        return out

    net._run = listening
    net(torch.randn(20, 4, 3))
    zero = seen[1] == 0
    assert (zero == zero[:1]).all()
    assert 0.3 < zero.float().mean() < 0.7
    seen.clear()
    net.eval()(torch.randn(20, 4, 3))
    assert not (seen[1] == 0).any()


def model(**dropout: float) -> el.Model:
    torch.manual_seed(1)
    return el.Model(el.RNN(6, 16), output_size=9, embedding=9, **dropout)


tokens = torch.arange(45).reshape(9, 5) % 9


def test_a_token_is_left_out_for_the_whole_batch() -> None:
    net = model(embedding_dropout=0.5)
    embedded = net.embedded(tokens).detach()
    plain = torch.nn.functional.embedding(tokens, net.embedding.weight.detach())
    factor = embedded / plain
    for token in range(9):
        values = factor[tokens == token].unique()
        assert len(values) == 1 or torch.allclose(values, values[0].expand_as(values))
        assert float(values[0]) == pytest.approx(0.0) or float(values[0]) == pytest.approx(2.0)


@pytest.mark.parametrize("name", ["embedding_dropout", "input_dropout", "output_dropout"])
def test_in_training_only(name: str) -> None:
    net, plain = model(**{name: 0.5}), model()
    net.load_state_dict(plain.state_dict())
    assert torch.equal(net.eval()(tokens)[0], plain.eval()(tokens)[0])
    net.train()
    assert not torch.equal(net(tokens)[0], net(tokens)[0])


def test_outputs_lose_the_same_features_at_all_steps() -> None:
    torch.manual_seed(0)
    net = el.Model(el.RNN(3, 16), output_size=16, output_dropout=0.5)
    with torch.no_grad():
        net.readout.weight.copy_(torch.eye(16))
        net.readout.bias.zero_()
    y, _ = net(torch.randn(30, 4, 3))
    zero = y == 0
    assert (zero == zero[:1]).all()
    assert zero.any()
    last = el.Model(el.RNN(3, 16), output_size=2, output_dropout=0.5, last=True)
    assert last(torch.randn(30, 4, 3))[0].shape == (4, 2)


@pytest.mark.parametrize("name", ["input_dropout", "output_dropout"])
@pytest.mark.parametrize(
    ("shape", "batch_first", "time"), [((30, 3), True, 0), ((30, 3), False, 0), ((4, 30, 3), True, 1)]
)
def test_features_and_not_steps_are_lost_in_every_layout(
    shape: tuple[int, ...], batch_first: bool, time: int, name: str
) -> None:
    """A single sequence has no batch dimension, also with batch_first."""
    torch.manual_seed(0)
    recurrent = partial(el.matrices.Free, init=torch.zeros(3, 3))
    rnn = el.RNN(3, 3, nonlinearity="identity", bias=False, batch_first=batch_first, recurrent=recurrent)
    net = el.Model(rnn, 3, **{name: 0.5})
    with torch.no_grad():
        for weight in (rnn.weight_ih_l0, net.readout.weight):
            weight.copy_(torch.eye(3))
        net.readout.bias.zero_()
    seen = set()
    for _ in range(10):
        y, _ = net(torch.ones(shape))
        assert torch.equal(y, y.select(time, 0).unsqueeze(time).expand_as(y))
        seen |= set(y.flatten().tolist())
    assert seen == {0.0, 2.0}


def test_mistakes() -> None:
    with pytest.raises(ValueError, match="input_dropout is a probability below 1, got 1"):
        model(input_dropout=1.0)
    with pytest.raises(ValueError, match="it needs embedding="):
        el.Model(el.RNN(3, 4), 2, embedding_dropout=0.1)
    packed = torch.nn.utils.rnn.pack_sequence([torch.randn(3, 3), torch.randn(2, 3)])
    with pytest.raises(TypeError, match="give a padded batch with lengths="):
        el.Model(el.RNN(3, 4), 2, input_dropout=0.1)(packed)
