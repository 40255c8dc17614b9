"""Layers that quantize their matrices against plain ones, and QORNN's four strategies."""

import copy
import pickle
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest
import torch
from comparing import exponential, finite_difference, relative

import eigenloop as el
from eigenloop.quantization import Quantizer, quantize, quantize_

LAYERS = {
    "scornn": lambda **k: el.build("scornn", 3, 8, **k),
    "nnrnn": lambda **k: el.build("nnrnn", 3, 8, **k),
    "enrnn": lambda **k: el.build("enrnn", 3, 8, **k),
    "bjorck, relu, two layers": lambda **k: el.RNN(3, 8, 2, "relu", recurrent="bjorck", **k),
    "both directions": lambda **k: el.RNN(3, 8, bidirectional=True, **k),
    "ncgru": lambda **k: el.build("ncgru", 3, 8, constrained=("candidate", "reset"), **k),
    "gru": lambda **k: el.GRU(3, 8, **k),
    "fastgrnn": lambda **k: el.build("fastgrnn", 3, 8, **k),
}
layers = pytest.mark.parametrize("make", LAYERS.values(), ids=LAYERS.keys())


@layers
def test_without_bits_it_is_the_plain_layer(make) -> None:
    x = torch.randn(6, 2, 3)
    torch.manual_seed(0)
    plain = make()
    torch.manual_seed(0)
    none = make(bits=None)
    assert torch.equal(plain(x)[0], none(x)[0])
    quantized = quantize_(copy.deepcopy(plain), 4)
    assert not torch.equal(plain(x)[0], quantized(x)[0])
    assert torch.equal(quantize_(quantized, None)(x)[0], plain(x)[0])


@layers
@pytest.mark.parametrize("bits", [2, 5])
def test_a_quantized_layer_is_the_plain_one_with_quantized_matrices(make, bits: int) -> None:
    """The same outputs, and the gradients of W and U, as with free matrices that hold q(W) and q(U)."""
    layer = make(bits=bits, dtype=torch.float64)
    by_hand = copy.deepcopy(layer)
    by_hand.quantizer = None
    leaves = {}
    parts = 3 if isinstance(layer, el.GRU) else 1
    for _, _, cell in layer._cells():
        U = getattr(by_hand, f"weight_ih{cell}")
        with torch.no_grad():
            W = torch.cat([quantize(part, bits) for part in getattr(layer, f"recurrent{cell}")().chunk(parts)])
            U.copy_(torch.cat([quantize(part, bits) for part in U.chunk(parts)]))
        leaves[cell] = W.requires_grad_()
    by_hand._weight_hh = lambda cell: leaves[cell]
    x = torch.randn(7, 2, 3, dtype=torch.float64)
    outs = [net(x)[0] for net in (layer, by_hand)]
    assert relative(outs[0], outs[1]) < 1e-12
    for out in outs:
        (out * torch.arange(out.numel(), dtype=torch.float64).reshape(out.shape)).sum().backward()
    for _, _, cell in layer._cells():
        name = f"weight_ih{cell}"
        assert relative(getattr(layer, name).grad, getattr(by_hand, name).grad) < 1e-10


def test_straight_through_reaches_the_matrix() -> None:
    """dL/dskew of a quantized scoRNN is that of the plain map with dL/dWq put in."""
    rnn = el.RNN(3, 6, bits=3, dtype=torch.float64)
    x = torch.randn(5, 2, 3, dtype=torch.float64)
    Wq = rnn.recurrent_matrix().detach().requires_grad_()
    rnn(x)[0].sum().backward()
    free = el.RNN(3, 6, recurrent="free", dtype=torch.float64)
    with torch.no_grad():
        free.weight_ih_l0.copy_(quantize(rnn.weight_ih_l0, 3))
        free.bias_l0.copy_(rnn.bias_l0)
        free.recurrent_l0.weight.copy_(Wq)
    free(x)[0].sum().backward()
    by_hand = copy.deepcopy(rnn.recurrent_l0)
    by_hand.zero_grad()
    by_hand().backward(free.recurrent_l0.weight.grad)
    assert relative(rnn.recurrent_l0.skew.grad, by_hand.skew.grad) < 1e-10


def test_gates_have_steps_of_their_own() -> None:
    gru = el.GRU(3, 8, bits=4)
    with torch.no_grad():
        gru.weight_ih_l0[:8] *= 100
    inputs = gru._quantized_inputs(gru.weight_ih_l0, parts=3)
    assert len(inputs[8:16].unique()) > 8  # one step for all would leave them zero
    for gate in ("reset", "update", "candidate"):
        assert len(gru.recurrent_matrix(gate=gate).unique()) <= 16


def test_around_the_identity() -> None:
    rnn = el.RNN(
        3, 8, 1, "relu", recurrent=lambda n: el.matrices.Orthogonal(n, init="identity"), bits=3, around_identity=True
    )
    assert torch.equal(rnn.recurrent_matrix(), torch.eye(8))
    skew = torch.randn(8, 8)
    near = exponential(0.01 * (skew - skew.T)).float()
    rnn.recurrent_l0.assign_(near)
    expected = torch.eye(8) + quantize(near - torch.eye(8), 3)
    assert relative(rnn.recurrent_matrix(), expected) < 1e-6
    plain = quantize(near, 3)
    assert relative(plain, torch.diag(plain.diagonal())) == 0  # all else is rounded away


def test_survival() -> None:
    rnn = el.RNN(3, 8, bits=4)
    x = torch.randn(5, 2, 3)
    expected = rnn(x)[0]
    for again in (copy.deepcopy(rnn), pickle.loads(pickle.dumps(rnn))):
        assert torch.equal(again(x)[0], expected)
    other = el.RNN(3, 8)
    other.load_state_dict(rnn.state_dict())
    assert torch.equal(quantize_(other, 4)(x)[0], expected)
    assert "bits=4" in repr(rnn)
    with el.cached(rnn), torch.no_grad():
        assert torch.equal(rnn(x)[0], expected)
    stream = el.Stream(rnn, batch_size=2)
    assert relative(torch.stack([stream(step) for step in x]), expected) < 1e-5


QUANTIZED: dict[str, tuple[Callable[..., Any], Callable[..., torch.nn.Module]]] = {
    "RNN": (partial(el.RNN, 3, 8, 2, "tanh"), partial(torch.nn.RNN, 3, 8, 2)),
    "GRU": (partial(el.GRU, 3, 8), partial(torch.nn.GRU, 3, 8)),
    "LSTM": (partial(el.LSTM, 3, 8), partial(torch.nn.LSTM, 3, 8)),
}


@pytest.mark.parametrize("name", QUANTIZED)
@pytest.mark.parametrize("bits", [3, Quantizer(4, per_row=True, normalise="norm"), Quantizer(3, post_training=True)])
def test_the_torch_layer_computes_what_the_quantized_one_does(name: str, bits: int | Quantizer) -> None:
    made, torchs = QUANTIZED[name]
    ours, theirs = made(bits=bits).eval(), torchs()
    theirs.load_state_dict(ours.torch_state_dict())
    x = torch.randn(6, 2, 3)
    assert relative(theirs(x)[0], ours(x)[0]) < 1e-5
    ours.train()
    theirs.load_state_dict(ours.torch_state_dict())
    assert relative(theirs(x)[0], ours(x)[0]) < 1e-5


def test_refusals() -> None:
    with pytest.raises(ValueError, match="this one is complex"):
        el.RNN(3, 8, recurrent="unitary", bits=4)
    with pytest.raises(ValueError, match="give bits="):
        el.RNN(3, 8, around_identity=True)
    with pytest.raises(ValueError, match="no recurrent layer"):
        quantize_(torch.nn.Linear(2, 2), 4)
    with pytest.raises(ValueError, match="complex"):
        quantize_(el.RNN(3, 8, recurrent="unitary"), 4)
    with pytest.raises(ValueError, match="choose gram or spectral"):
        Quantizer(4, regulariser="l1")


# -------------------------------------------------------------------- strategies


@pytest.mark.parametrize("regulariser", ["gram", "spectral"])
def test_the_penalty_of_ste_pen(regulariser: str) -> None:
    rnn = el.build("qornn", 3, 6, bits=4, strategy="ste-pen", penalty=0.3, regulariser=regulariser, dtype=torch.float64)
    with torch.no_grad():
        rnn.recurrent_l0.weight.mul_(1.7)
    Wq = quantize(rnn.recurrent_l0.weight.detach(), 4)
    sigma = torch.linalg.svdvals(Wq)
    assert relative(rnn.recurrent_matrix(), Wq / sigma[0]) < 1e-12
    values = sigma / sigma[0]
    expected = ((values**2 - 1) ** 2).sum() if regulariser == "gram" else ((values - 1) ** 2).sum()
    assert rnn.penalty().item() == pytest.approx(0.3 * float(expected), rel=1e-9)
    rnn.penalty().backward()
    M = (Wq / sigma[0]).clone()
    numerical = finite_difference(
        lambda: (
            ((M @ M.mT - torch.eye(6, dtype=M.dtype)) ** 2).sum()
            if regulariser == "gram"
            else ((torch.linalg.svdvals(M) - 1) ** 2).sum()
        ),
        M,
    )
    assert relative(rnn.recurrent_l0.weight.grad, 0.3 * numerical / sigma[0]) < 1e-5


STRATEGIES = {
    "ste-bjorck": (el.matrices.Bjorck, "relu"),
    "ste-projunn": (el.matrices.Orthogonal, "modrelu"),
    "ptq-projunn": (el.matrices.Orthogonal, "modrelu"),
    "ste-pen": (el.matrices.Free, "relu"),
}


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_strategies(strategy: str) -> None:
    rnn = el.build("qornn", 3, 8, bits=3, strategy=strategy)
    kind, nonlinearity = STRATEGIES[strategy]
    assert isinstance(rnn.recurrent_l0, kind)
    assert rnn.nonlinearity == nonlinearity
    assert not hasattr(rnn, "bias_ih_l0")
    trained, evaluated = rnn.recurrent_matrix(), rnn.eval().recurrent_matrix()
    assert len(evaluated.unique()) <= 8
    if strategy == "ptq-projunn":
        assert torch.equal(trained, rnn.recurrent_l0())
        assert relative(evaluated, quantize(trained, 3)) == 0
    else:
        assert torch.equal(trained, evaluated)


def test_unknown_strategies() -> None:
    with pytest.raises(ValueError, match="choose one of ste-bjorck"):
        el.build("qornn", 3, 8, strategy="ste")


@pytest.mark.parametrize("bits", [2, 4])
def test_divided_by_its_radius_a_state_neither_grows_nor_fades(bits: int) -> None:
    """modReLU without a bias keeps norms, so over 784 steps they follow the spectral radius of q(W)."""

    def grown(normalise: str) -> float:
        layer = el.RNN(
            1,
            170,
            recurrent=lambda n: el.matrices.Orthogonal(n, generator=torch.Generator().manual_seed(0)),
            bits=Quantizer(bits, normalise=normalise),
            dtype=torch.float64,
        )
        W = layer.recurrent_matrix().detach()
        size = float(torch.linalg.matrix_norm(W, 2) if normalise == "norm" else torch.linalg.eigvals(W).abs().max())
        assert normalise == "none" or size == pytest.approx(1)
        h0 = torch.randn(1, 4, 170, dtype=torch.float64, generator=torch.Generator().manual_seed(1))
        with torch.no_grad():
            _, state = layer(torch.zeros(784, 4, 1, dtype=torch.float64), h0)
        return float(state.norm() / h0.norm())

    assert grown("none") > 1e5
    assert 0.01 < grown("radius") < 2
    assert grown("norm") < 1e-20


def test_normalising_what_is_not_finite_or_zero() -> None:
    for normalise in ("norm", "radius"):
        quantizer = Quantizer(4, normalise=normalise)
        assert torch.equal(quantizer.recurrent(torch.zeros(3, 3)), torch.zeros(3, 3))
        assert quantizer.recurrent(torch.full((3, 3), float("nan"))).isnan().all()
    with pytest.raises(ValueError, match="none, norm or radius"):
        Quantizer(4, normalise="size")
